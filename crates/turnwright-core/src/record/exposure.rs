//! What the author of a record had read.
//!
//! Histories are cut and memories travel, so the originals need not be in the prompt. The mark is set in one place,
//! when a record is stored. It includes what tools of the provider returned for the response and, for records that
//! handlers write, what all running calls have read: a task of a handler does not know its call, so a record may be
//! marked with what a parallel call read. Decisions about a call use the prompt from which it was proposed: results of
//! the same response do not count.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Record;
use super::stored::is_default;
use crate::trust::TrustTier;

/// What the prompt contained when a record was written: the words of a model can carry what it has read.
///
/// A runner sets it when it stores a message, a thought or a tool call of the model, or a memory. That of a memory includes what
/// the handler that stores it has read: see [`ToolContext::exposure`](crate::ToolContext::exposure). It counts for
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Exposure {
    /// The least trusted tier in the prompt, if it is a tier of third parties.
    #[serde(rename = "trustTier", skip_serializing_if = "Option::is_none")]
    pub tier: Option<TrustTier>,
    /// Whether private data were in the prompt.
    #[serde(default, skip_serializing_if = "is_default")]
    pub private: bool,
}

impl Exposure {
    /// Returns what someone has been exposed to who has read content of this tier.
    pub(crate) fn of_tier(tier: TrustTier) -> Self {
        Exposure {
            tier: (tier < TrustTier::FirstParty).then_some(tier),
            private: tier == TrustTier::ThirdPartyPrivate,
        }
    }

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

    /// Returns the record as one whose author had read this. Passages, and messages that no model wrote, have a trust tier of
    /// their own: they become private, but keep it.
    pub(crate) fn exposed_to(mut self, exposure: Exposure) -> Self {
        let changes = match &self {
            Record::Retrievable(found) => exposure.private && !found.is_private(),
            Record::Message(message) if !message.is_answer() => {
                exposure.private && !message.exposure.private
            }
            record => record.exposure().is_some_and(|own| own != exposure),
        };
        if !changes {
            return self;
        }
        match &mut self {
            Record::Message(message) if !message.is_answer() => {
                Arc::make_mut(message).exposure.private = true;
            }
            Record::Message(message) => Arc::make_mut(message).exposure = exposure,
            Record::Thought(thought) => Arc::make_mut(thought).exposure = exposure,
            Record::ToolCall(call) => Arc::make_mut(call).exposure = exposure,
            Record::Memory(memory) => Arc::make_mut(memory).exposure = exposure,
            Record::Retrievable(found) => Arc::make_mut(found).private = true,
            _ => {}
        }
        self
    }
}
