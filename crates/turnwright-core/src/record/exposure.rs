//! What the model had read when it wrote a record.

use std::sync::Arc;

use super::Record;
use crate::trust::TrustTier;

/// What the prompt contained when a record was written: the words of a model can carry what it has read.
///
/// A runner sets it when it stores a message, a thought or a tool call of the model, or a memory. It counts for
/// [`taint`](crate::DispatchContext::taint) as long as the record is in the prompt, even if the records that the model had read are
/// not: a history may omit them, and a memory is used in other conversations.
///
/// ```
/// use turnwright_core::record::Message;
///
/// let message = Message::assistant("Hello!").build()?;
/// assert!(message.exposure().is_empty());
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exposure {
    /// The least trusted tier in the prompt, if it is a tier of third parties.
    pub tier: Option<TrustTier>,
    /// Whether private data were in the prompt.
    pub private: bool,
}

impl Exposure {
    /// Returns what both contain.
    pub(crate) fn and(self, other: Self) -> Self {
        Exposure {
            tier: match (self.tier, other.tier) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            },
            private: self.private || other.private,
        }
    }

    /// Returns whether the prompt had neither text of third parties nor private data.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self == Exposure::default()
    }
}

impl Record {
    /// Returns what its author had read, if it can carry that: it is a record of the model or a memory.
    pub(crate) fn exposure(&self) -> Option<Exposure> {
        match self {
            Record::Message(message) => message.is_answer().then_some(message.exposure),
            Record::Thought(thought) => Some(thought.exposure),
            Record::ToolCall(call) => Some(call.exposure),
            Record::Memory(memory) => Some(memory.exposure),
            _ => None,
        }
    }

    /// Returns the record as one whose author had read this.
    pub(crate) fn exposed_to(self, exposure: Exposure) -> Self {
        if self.exposure().is_none_or(|own| own == exposure) {
            return self;
        }
        match self {
            Record::Message(mut message) => {
                Arc::make_mut(&mut message).exposure = exposure;
                Record::Message(message)
            }
            Record::Thought(mut thought) => {
                Arc::make_mut(&mut thought).exposure = exposure;
                Record::Thought(thought)
            }
            Record::ToolCall(mut call) => {
                Arc::make_mut(&mut call).exposure = exposure;
                Record::ToolCall(call)
            }
            Record::Memory(mut memory) => {
                Arc::make_mut(&mut memory).exposure = exposure;
                Record::Memory(memory)
            }
            record => record,
        }
    }
}
