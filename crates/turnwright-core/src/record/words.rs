//! Records that are words and nothing else: thoughts, memories, standing instructions.

use std::fmt;
use std::sync::Arc;

use super::provider_state::ProviderState;
use super::stamp::{Stamp, stamped};
use super::wrong::Wrong;
use crate::error::{Error, ErrorCode};

/// One table makes these records and their builders: they differ in what they mean, not in what they hold.
macro_rules! words {
    ($(
        $(#[$doc:meta])*
        $record:ident, $builder:ident, $what:literal, $code:ident;
    )+) => {$(
        $(#[$doc])*
        #[derive(Clone)]
        pub struct $record {
            stamp: Stamp,
            text: String,
            provider_state: Option<ProviderState>,
        }

        #[doc = concat!("Makes a [`", stringify!($record), "`].")]
        #[must_use = "a builder does nothing until `build` is called"]
        #[derive(Debug)]
        pub struct $builder($record);

        impl $record {
            /// Starts a record of these words.
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

            /// The words.
            #[must_use]
            pub fn text(&self) -> &str {
                &self.text
            }
        }

        stamped!($record, $builder);

        impl $builder {
            /// Makes the record.
            ///
            /// # Errors
            #[doc = concat!("The code of a ", $what, " that is not well defined; it names every wrong field.")]
            pub fn build(self) -> Result<Arc<$record>, Error> {
                let mut record = self.0;
                let mut wrong = Wrong::default();
                record.stamp.check(&mut wrong);
                let says = !record.text.trim().is_empty() || record.provider_state.is_some();
                wrong.check("text", says, "is empty");
                wrong.finish(ErrorCode::$code, $what)?;
                Ok(Arc::new(record))
            }
        }

        impl fmt::Debug for $record {
            /// The words may be secret: they are not shown.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($record))
                    .field("id", &self.stamp.id)
                    .finish_non_exhaustive()
            }
        }
    )+};
}

words! {
    /// What the model thought before it spoke or acted. May be empty where the provider keeps it to itself and leaves
    /// nothing but state that is wanted back. Immutable.
    Thought, ThoughtBuilder, "thought", InvalidThought;
    /// What is remembered from one conversation to the next. Immutable.
    Memory, MemoryBuilder, "memory", InvalidMemory;
    /// What always holds: an instruction of yours that stands before everything that is said. Immutable.
    StandingInstruction, StandingInstructionBuilder, "standing instruction", InvalidInstruction;
}

impl Thought {
    /// What the provider wants back.
    #[must_use]
    pub fn provider_state(&self) -> Option<&ProviderState> {
        self.provider_state.as_ref()
    }
}

impl ThoughtBuilder {
    /// What the provider wants back.
    pub fn provider_state(mut self, state: ProviderState) -> Self {
        self.0.provider_state = Some(state);
        self
    }
}
