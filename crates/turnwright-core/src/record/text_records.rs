//! Records that hold text and nothing else: thoughts, memories, standing instructions.

use std::sync::Arc;

use super::provider_state::ProviderState;
use super::stamp::{Stamp, stamped};
use crate::error::{Error, ErrorCode};
use crate::validate::Violations;

/// Declares these records and their builders: they differ in their meaning, not in their fields.
macro_rules! text_records {
    ($(
        $(#[$doc:meta])*
        $record:ident, $builder:ident, $what:literal, $code:ident;
    )+) => {$(
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $record {
            pub(super) stamp: Stamp,
            text: String,
            pub(super) provider_state: Option<ProviderState>,
        }

        #[doc = concat!("Builds a [`", stringify!($record), "`].")]
        #[must_use = "a builder does nothing until `build` is called"]
        #[derive(Debug)]
        pub struct $builder($record);

        impl $record {
            /// Starts a record of this text.
            #[expect(clippy::new_ret_no_self, reason = "nothing is made before it is checked")]
            pub fn new(text: impl Into<String>) -> $builder {
                $record::stamped(text.into(), Stamp::new())
            }

            /// Starts a record that has its id and times.
            pub(super) fn stamped(text: String, stamp: Stamp) -> $builder {
                $builder($record {
                    stamp,
                    text,
                    provider_state: None,
                })
            }

            /// Its text.
            #[must_use]
            pub fn text(&self) -> &str {
                &self.text
            }
        }

        stamped!($record, $builder);

        impl $builder {
            /// Builds the record.
            ///
            /// # Errors
            #[doc = concat!("The code of a ", $what, " that is not well defined; it names every wrong field.")]
            pub fn build(self) -> Result<Arc<$record>, Error> {
                let mut record = self.0;
                let mut wrong = Violations::default();
                record.stamp.check(&mut wrong);
                let says = !record.text.trim().is_empty() || record.provider_state.is_some();
                wrong.check("text", says, "is empty");
                wrong.finish(ErrorCode::$code, $what)?;
                Ok(Arc::new(record))
            }
        }

        debug_fields!($record { stamp.id });
    )+};
}

text_records! {
    /// What the model thought before it answered or called a tool. May be empty where the provider returns nothing but opaque
    /// state. Immutable.
    Thought, ThoughtBuilder, "thought", InvalidThought;
    /// Something to remember from one conversation to the next. Immutable.
    Memory, MemoryBuilder, "memory", InvalidMemory;
    /// A standing instruction of yours, which precedes all messages. Immutable.
    StandingInstruction, StandingInstructionBuilder, "standing instruction", InvalidInstruction;
}

impl Thought {
    /// State that the provider expects back.
    #[must_use]
    pub fn provider_state(&self) -> Option<&ProviderState> {
        self.provider_state.as_ref()
    }
}

impl ThoughtBuilder {
    /// State that the provider expects back.
    pub fn provider_state(mut self, state: ProviderState) -> Self {
        self.0.provider_state = Some(state);
        self
    }
}
