//! Memories.

use std::time::SystemTime;

use super::builder::{Build, RecordBuilder};
use super::exposure::Exposure;
use super::stamp::Stamp;
use crate::error::ErrorCode;
use crate::validate::Violations;

/// A memory that is kept across turns. Immutable.
///
/// ```
/// use turnwright_core::record::Memory;
///
/// let record = Memory::new("The user lives in Oslo.").build()?;
/// assert_eq!(record.text(), "The user lives in Oslo.");
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Memory {
    pub(super) stamp: Stamp,
    text: String,
    pub(super) exposure: Exposure,
}

impl Memory {
    /// Starts a memory with this text.
    pub fn new(text: impl Into<String>) -> RecordBuilder<Self> {
        Memory::stamped(text.into(), Stamp::new())
    }

    /// Starts a record with an existing id and times.
    pub(super) fn stamped(text: String, stamp: Stamp) -> RecordBuilder<Self> {
        RecordBuilder(Memory {
            stamp,
            text,
            exposure: Exposure::default(),
        })
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

    /// Returns what was in the prompt of the turn that stored the memory, and what the handler that stored it had read.
    #[must_use]
    pub fn exposure(&self) -> Exposure {
        self.exposure
    }
}

impl RecordBuilder<Memory> {
    /// Sets what its author had read. A turn does this when it stores a memory of its own conversation. Set it for a memory
    /// that a handler writes into another conversation of the store, with
    /// [`ToolContext::exposure`](crate::ToolContext::exposure).
    pub fn exposure(mut self, exposure: Exposure) -> Self {
        self.0.exposure = exposure;
        self
    }
}

impl Build for Memory {
    const NAME: &'static str = "memory";
    const INVALID: ErrorCode = ErrorCode::INVALID_INITIAL_MEMORY_VALUE;

    fn stamp_mut(&mut self) -> &mut Stamp {
        &mut self.stamp
    }

    fn check(&self, wrong: &mut Violations) {
        wrong.check("text", !self.text.trim().is_empty(), "must not be empty");
    }
}

debug_fields!(Memory { stamp.id });
