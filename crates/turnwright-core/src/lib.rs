//! The core of [Turnwright](https://github.com/turnwright/turnwright): a tool is one contract.
//!
//! The schema that a model is shown is the schema that is enforced, for every tool, before its handler runs; nothing
//! else reaches a handler.
//!
//! - [`schema`]: documents and how they are enforced
//! - [`tool`]: tools, their handlers, outputs and errors
//! - [`call`]: the one path on which a tool runs
//! - [`registry`]: the tools of one turn
//! - [`dispatch`]: what an executor and its tools share
//! - [`spool`]: where results are kept, and how they are read
//! - [`artifact`]: results too large for a prompt, and the tools that read them
//! - [`media`]: images, audio, video and documents
//! - [`trust`]: tiers, fences, taint, and what a model reads of a record
//! - [`transcript`]: records as the parts of a prompt, in an order that a provider's prompt cache holds
//! - [`telemetry`]: turns, model calls and tool calls as spans
//! - [`event`], [`stash`], [`record`], [`error`]
//!
//! Most people depend on the facade `turnwright`, which adds `#[tool]` and a prelude.

pub mod approval;
pub mod artifact;
mod ascii;
pub mod call;
mod cancel;
pub mod dispatch;
mod dot_path;
pub mod error;
pub mod event;
pub mod gate;
pub mod media;
pub mod middleware;
mod panic;
pub mod pipeline;
pub mod record;
pub mod registry;
pub mod schema;
pub mod spool;
pub mod stash;
pub mod store;
pub mod telemetry;
pub mod tool;
pub mod transcript;
pub mod trust;
pub mod turn;
pub mod unknown;
mod within;

pub use approval::{Approval, ApprovalPolicy, ApprovalRequest, Approver, PendingCall, Review};
pub use artifact::{ArtifactKind, Inline, SpooledArtifact};
pub use call::{ToolContext, ToolExecutor};
pub use cancel::Cancellation;
pub use dispatch::{DispatchContext, Executor, Reporter};
pub use error::{BoxError, Error, ErrorCode, ErrorKind};
pub use event::{Event, EventKind, Usage};
pub use gate::{Gates, TurnGate};
pub use media::{Media, MediaKind};
pub use pipeline::{Middleware, Next};
pub use record::{Message, Record, RecordKind, Retrievable, ToolCall};
pub use registry::{MergePolicy, ToolRegistry};
pub use schema::{
    CheckedArgs, Fault, Field, IntoSchema, Limits, RawArgs, Rejection, Repair, RepairKind, Schema,
    SchemaOptions, SchemaProblem,
};
pub use spool::Spool;
pub use stash::Stash;
pub use store::{MemoryStore, Store, StoreExt};
pub use tool::{
    Body, ByteSender, ByteStream, Concurrency, Content, Effects, IntoToolOutput, IntoToolResult,
    Json, Meta, OnCollision, StreamClosed, Tool, ToolBuilder, ToolDescription, ToolError,
    ToolOutput, call_id, call_id_of_value,
};
pub use trust::TrustTier;
pub use turn::{
    Conversation, Ended, Limit, Turn, TurnContext, TurnEvent, TurnInput, TurnOutcome, TurnRunner,
    TypedOutcome,
};
