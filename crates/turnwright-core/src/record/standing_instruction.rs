//! Standing instructions.

use std::time::SystemTime;

use super::builder::{Build, RecordBuilder};

use super::stamp::Stamp;
use crate::error::ErrorCode;
use crate::validate::Violations;

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
    pub(super) stamp: Stamp,
    text: String,
}

impl StandingInstruction {
    /// Starts a standing instruction with this text.
    pub fn new(text: impl Into<String>) -> RecordBuilder<Self> {
        StandingInstruction::stamped(text.into(), Stamp::new())
    }

    /// Starts a record with an existing id and times.
    pub(super) fn stamped(text: String, stamp: Stamp) -> RecordBuilder<Self> {
        RecordBuilder(StandingInstruction { stamp, text })
    }

    /// Returns the id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.stamp.id
    }

    /// Returns when it was created.
    #[must_use]
    pub fn created_at(&self) -> SystemTime {
        self.stamp.created_at
    }

    /// Returns when it was last changed.
    #[must_use]
    pub fn updated_at(&self) -> SystemTime {
        self.stamp.updated_at
    }

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

impl Build for StandingInstruction {
    const NAME: &'static str = "standing instruction";
    const INVALID: ErrorCode = ErrorCode::INVALID_INITIAL_INSTRUCTION_VALUE;

    fn stamp_mut(&mut self) -> &mut Stamp {
        &mut self.stamp
    }

    fn check(&self, wrong: &mut Violations) {
        wrong.check("text", !self.text.trim().is_empty(), "must not be empty");
    }
}

debug_fields!(StandingInstruction { stamp.id });
