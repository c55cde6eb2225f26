//! How somebody outside of a turn answers.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::table::{GateTable, Settling};
use crate::approval::Approval;
use crate::error::Error;

/// The gates of a turn, for whoever answers. While one of these is held, somebody could answer; clones share it.
pub struct Gates(Arc<GateTable>);

/// A gate where a turn waits.
#[derive(Clone)]
#[non_exhaustive]
pub struct OpenGate {
    /// Which gate: what an answer names.
    pub id: Arc<str>,
    /// What sort of question.
    pub name: Arc<str>,
    /// Which call waits, where one does.
    pub tool_call: Option<Arc<str>>,
    /// What is asked.
    pub question: Value,
    /// The JSON Schema of an answer, where there is one.
    pub schema: Option<Value>,
}

impl Gates {
    pub(crate) fn new(table: Arc<GateTable>) -> Self {
        table.answerer_came();
        Gates(table)
    }

    /// The gates that are open now.
    #[must_use]
    pub fn open(&self) -> Vec<OpenGate> {
        self.0.view(|id, waiting| OpenGate {
            id: Arc::clone(id),
            name: Arc::clone(&waiting.gate.name),
            tool_call: waiting.tool_call.clone(),
            question: waiting.gate.question.clone(),
            schema: waiting.gate.schema.as_ref().map(|it| it.document().clone()),
        })
    }

    /// Waits for gates to be open, and gives them. `None` once the turn has ended.
    pub async fn wait(&self) -> Option<Vec<OpenGate>> {
        loop {
            let changed = self.0.changed.notified();
            let mut changed = std::pin::pin!(changed);
            // Listening begins before looking, so that nothing is missed in between.
            changed.as_mut().enable();
            let open = self.open();
            if !open.is_empty() {
                return Some(open);
            }
            if self.0.has_ended() {
                return None;
            }
            changed.await;
        }
    }

    /// Answers. The first answer that the gate takes counts; `false` if it is not open, or no longer.
    ///
    /// # Errors
    /// `E_INVALID_TURN_GATE_RESOLUTION` if the gate does not take this answer: it stays open.
    pub fn resolve(&self, id: &str, answer: impl Into<Value>) -> Result<bool, Error> {
        self.0.settle(id, Settling::Resolved(answer.into()))
    }

    /// Declines to answer. `false` if the gate is not open, or no longer.
    pub fn reject(&self, id: &str, reason: impl Into<String>) -> bool {
        let settled = self.0.settle(id, Settling::Rejected(reason.into()));
        settled.unwrap_or(false)
    }

    /// Approves a call that waits at this gate, with the arguments that it asked for.
    ///
    /// # Errors
    /// As [`Gates::resolve`]: the gate is none of an approval.
    pub fn approve(&self, id: &str) -> Result<bool, Error> {
        self.resolve(id, Approval::Granted.into_answer())
    }

    /// Declines a call that waits at this gate; the model is told why.
    ///
    /// # Errors
    /// As [`Gates::approve`].
    pub fn refuse(&self, id: &str, reason: impl Into<String>) -> Result<bool, Error> {
        let reason = reason.into();
        self.resolve(id, Approval::Refused { reason }.into_answer())
    }

    /// Approves a call that waits at this gate, with other arguments, which are checked in full.
    ///
    /// # Errors
    /// As [`Gates::approve`].
    pub fn approve_edited(&self, id: &str, args: impl Into<Value>) -> Result<bool, Error> {
        self.resolve(id, Approval::Edited(args.into()).into_answer())
    }
}

impl Clone for Gates {
    fn clone(&self) -> Self {
        Gates::new(Arc::clone(&self.0))
    }
}

impl Drop for Gates {
    fn drop(&mut self) {
        self.0.answerer_went();
    }
}

impl fmt::Debug for Gates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.open().iter().map(|gate| gate.id.clone()))
            .finish()
    }
}

impl fmt::Debug for OpenGate {
    /// What is asked may be secret: it is not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenGate")
            .field("id", &self.id)
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
