//! What happened and what is known, as it is kept: immutable, checked when it is made, with ids and times.
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
//!     "E_INVALID_INITIAL_MEMORY_VALUE: the memory is not well defined: id: is empty; text: is empty");
//! # Ok::<(), turnwright_core::Error>(())
//! ```

mod any;
mod byte_resolver;
mod call_request;
mod format;
mod gate;
mod lease;
mod ledger;
mod message;
mod owner;
mod provider_state;
mod retrievable;
mod stamp;
mod text_records;
mod tool_call;
mod tool_call_builder;
mod turn;

#[cfg(test)]
mod tests;

pub use crate::ids::new_id;
pub use any::{Record, RecordKind};
pub use byte_resolver::ByteResolver;
pub use gate::{GateRecord, GateState};
pub use lease::Lease;
pub use ledger::{CallState, LedgerEntry};
pub use message::{Author, Message, MessageBuilder};
pub use provider_state::ProviderState;
pub use retrievable::{Retrievable, RetrievableBuilder, Retrieved};
pub use text_records::{
    Memory, MemoryBuilder, StandingInstruction, StandingInstructionBuilder, Thought, ThoughtBuilder,
};
pub use tool_call::{ToolCall, ToolResults};
pub use tool_call_builder::ToolCallBuilder;
pub use turn::{TurnFailure, TurnRecord, TurnState};

pub(crate) use any::RecordType;
pub(crate) use call_request::CallRequest;
pub(crate) use format::time_text;
pub(crate) use owner::{Owner, is_gone};
pub(crate) use tool_call::Settled;
