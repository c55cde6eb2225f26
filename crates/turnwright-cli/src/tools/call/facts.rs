//! What happened to a call, from its events.

use std::time::Duration;

use serde_json::Value;
use turnwright::event::{Event, EventKind};
use turnwright::schema::{Fault, Repair};

/// What is known about a call.
#[derive(Clone, Default)]
pub(super) struct Facts {
    /// The checksum of the call.
    pub(super) checksum: Option<String>,
    /// All events as JSON.
    pub(super) events: Vec<Value>,
    /// The arguments that ran.
    pub(super) args: Option<Value>,
    pub(super) repairs: Vec<Repair>,
    pub(super) faults: Vec<Fault>,
    /// The error code if it failed or did not run.
    pub(super) code: Option<&'static str>,
    /// The error message for operators.
    pub(super) message: Option<String>,
    pub(super) took: Option<Duration>,
}

impl Facts {
    pub(super) fn note(&mut self, event: &Event) {
        // Every event can be serialized.
        self.events.extend(serde_json::to_value(event).ok());
        match &event.kind {
            EventKind::ToolExecutionStart {
                checksum,
                args,
                repairs,
                ..
            } => {
                self.checksum = Some(checksum.to_string());
                self.args = Some((**args).clone());
                self.repairs = repairs.to_vec();
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
