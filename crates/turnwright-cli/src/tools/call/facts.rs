//! What happened to a call, as its events tell it.

use std::time::Duration;

use serde_json::Value;
use turnwright::event::{Event, EventKind};
use turnwright::schema::{Fault, Repair};

/// What is known of a call.
#[derive(Clone, Default)]
pub(super) struct Facts {
    /// What was asked for, as a digest.
    pub(super) checksum: Option<String>,
    /// All events, as they are written for machines.
    pub(super) events: Vec<Value>,
    /// The arguments that ran.
    pub(super) args: Option<Value>,
    pub(super) repairs: Vec<Repair>,
    pub(super) faults: Vec<Fault>,
    /// Why it failed or was refused, as a stable code.
    pub(super) code: Option<&'static str>,
    /// The same in words for operators.
    pub(super) message: Option<String>,
    pub(super) took: Option<Duration>,
}

impl Facts {
    pub(super) fn note(&mut self, event: &Event) {
        // Whatever an event holds can be written.
        self.events.extend(serde_json::to_value(event).ok());
        match &event.kind {
            EventKind::ToolExecutionStart {
                checksum,
                args,
                repairs,
                ..
            } => {
                self.checksum = Some(checksum.to_string());
                self.args = Some(args.clone());
                self.repairs.clone_from(repairs);
            }
            EventKind::ToolCallRefused {
                checksum,
                code,
                message,
                faults,
                ..
            } => {
                self.checksum = Some(checksum.to_string());
                self.code = Some(code);
                self.message = Some(message.clone());
                self.faults.clone_from(faults);
            }
            EventKind::ToolExecutionEnd {
                duration,
                code,
                message,
                ..
            } => {
                self.took = Some(*duration);
                self.code = *code;
                self.message.clone_from(message);
            }
            _ => {}
        }
    }
}
