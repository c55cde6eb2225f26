//! Records: messages, tool calls, memories and more. They are immutable and validated when built, with ids and times.
//!
//! ```
//! use turnwright_core::record::{Memory, Message};
//!
//! let message = Message::user("Hello!").build()?;
//! let memory = Memory::new("The user likes short answers.").id("likes-short").build()?;
//! assert_eq!(memory.id(), "likes-short");
//!
//! let error = Memory::new(" ").id("").build().unwrap_err();
//! assert_eq!(error.to_string(),
//!     "E_INVALID_INITIAL_MEMORY_VALUE: invalid memory: id: must not be empty; text: must not be empty");
//! # Ok::<(), turnwright_core::Error>(())
//! ```

mod any;
mod builder;
mod byte_resolver;
mod conversation_info;
mod coverage;
mod exposure;
mod gate;
mod gate_answer;
mod gate_kind;
mod json;
mod lease;
mod ledger;
mod limit;
mod memory;
mod message;
mod owner;
mod provider_state;
mod public;
mod response_ref;
mod retrievable;
mod standing_instruction;
mod stored;
mod taint_source;
mod thought;
mod tool_call;
mod tool_results;
mod turn;

#[cfg(test)]
mod tests;

pub use crate::ids::new_id;
pub use any::{Record, RecordKind, RecordType, TimelineRecord};
pub(crate) use builder::OfResponse;
pub use builder::RecordBuilder;
pub use byte_resolver::ByteResolver;
pub use conversation_info::ConversationInfo;
pub use coverage::{Coverage, RecordRef};
pub use exposure::Exposure;
pub use gate::{GateRecord, GateState};
pub use gate_answer::{GateAnswer, GateDecision};
pub use gate_kind::GateKind;
pub use lease::Lease;
pub use ledger::{CallState, LedgerEntry};
pub use limit::Limit;
pub use memory::Memory;
pub use message::{Author, Message};
pub use provider_state::ProviderState;
pub use response_ref::ResponseRef;
pub use retrievable::{Retrievable, Retrieved};
pub use standing_instruction::StandingInstruction;
pub use taint_source::{Denial, TaintSource};
pub use thought::Thought;
pub use tool_call::ToolCall;
pub use tool_results::ToolResults;
pub use turn::{EndReason, TurnFailure, TurnRecord, TurnState};

pub(crate) use owner::{Owner, is_gone};
pub(crate) use stored::{rfc3339, time_text};
pub(crate) use tool_results::Settled;
