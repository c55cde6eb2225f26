//! Standing instructions.

use std::time::SystemTime;

use super::builder::{Body, RecordBuilder, check_stamp, stamped};

use super::stored::{part, stored};
use crate::error::ErrorCode;
use crate::ids::new_id;
use crate::validate::Violations;

stored! {
    StoredInstruction as "StandingInstruction";
    /// An instruction of the operator that precedes all messages. Immutable.
    ///
    /// ```
    /// use turnwright_core::record::StandingInstruction;
    ///
    /// let record = StandingInstruction::new("Answer in one sentence.").build()?;
    /// assert_eq!(record.text(), "Answer in one sentence.");
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    #[derive(Clone)]
    pub struct StandingInstruction {
        id: String,
        #[serde(with = "part")]
        created_at: SystemTime,
        #[serde(with = "part")]
        updated_at: SystemTime,
        text: String,
    }
}

stamped!(StandingInstruction);

impl StandingInstruction {
    /// Starts a standing instruction with this text.
    pub fn new(text: impl Into<String>) -> RecordBuilder<Self> {
        let now = SystemTime::now();
        RecordBuilder(StandingInstruction {
            id: new_id(),
            created_at: now,
            updated_at: now,
            text: text.into(),
        })
    }

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Body for StandingInstruction {
    const NAME: &'static str = "standing instruction";
    const INVALID: ErrorCode = ErrorCode::INVALID_INITIAL_INSTRUCTION_VALUE;

    fn check(&mut self, wrong: &mut Violations) {
        check_stamp(self, wrong);
        wrong.check("text", !self.text.trim().is_empty(), "must not be empty");
    }
}

debug_fields!(StandingInstruction { id });
