//! What happened to a call, as its events tell it.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use turnwright::{Event, EventKind, Fault, Repair};

/// Keeps what is told.
#[derive(Default)]
pub(super) struct Account(Mutex<Facts>);

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

impl Account {
    pub(super) fn note(&self, event: &Event) {
        let mut facts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Whatever an event holds can be written.
        facts.events.extend(serde_json::to_value(event).ok());
        match &event.kind {
            EventKind::ToolExecutionStart {
                checksum,
                args,
                repairs,
                ..
            } => {
                facts.checksum = Some(checksum.to_string());
                facts.args = Some(args.clone());
                facts.repairs.clone_from(repairs);
            }
            EventKind::ToolCallRefused {
                checksum,
                code,
                message,
                faults,
                ..
            } => {
                facts.checksum = Some(checksum.to_string());
                facts.code = Some(code);
                facts.message = Some(message.clone());
                facts.faults.clone_from(faults);
            }
            EventKind::ToolExecutionEnd {
                duration,
                code,
                message,
                ..
            } => {
                facts.took = Some(*duration);
                facts.code = *code;
                facts.message.clone_from(message);
            }
            _ => {}
        }
    }

    /// What is known so far.
    pub(super) fn facts(&self) -> Facts {
        let facts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        facts.clone()
    }
}
