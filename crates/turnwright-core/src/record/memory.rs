//! Memories.

use std::time::SystemTime;

use super::builder::{Body, RecordBuilder, check_stamp, stamped};
use super::exposure::Exposure;
use super::stored::{is_default, part, stored};
use crate::error::ErrorCode;
use crate::ids::new_id;
use crate::validate::Violations;

stored! {
    StoredMemory as "Memory";
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
        id: String,
        #[serde(with = "part")]
        created_at: SystemTime,
        #[serde(with = "part")]
        updated_at: SystemTime,
        text: String,
        #[serde(default, skip_serializing_if = "is_default")]
        pub(super) exposure: Exposure,
    }
}

stamped!(Memory);

impl Memory {
    /// Starts a memory with this text.
    pub fn new(text: impl Into<String>) -> RecordBuilder<Self> {
        let now = SystemTime::now();
        RecordBuilder(Memory {
            id: new_id(),
            created_at: now,
            updated_at: now,
            text: text.into(),
            exposure: Exposure::default(),
        })
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

impl Body for Memory {
    const NAME: &'static str = "memory";
    const INVALID: ErrorCode = ErrorCode::INVALID_INITIAL_MEMORY_VALUE;

    fn check(&mut self, wrong: &mut Violations) {
        check_stamp(self, wrong);
        wrong.check("text", !self.text.trim().is_empty(), "must not be empty");
    }
}

debug_fields!(Memory { id });
