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

#[macro_use]
mod debug;
#[macro_use]
mod variant_names;

pub mod answer;
pub mod artifact;
pub mod artifact_tools;
mod ascii;
pub mod call;
mod cancel;
pub mod checksum;
mod deadline;
pub mod dispatch;
mod dot_path;
mod effects;
pub mod error;
pub mod event;
pub mod gate;
mod ids;
mod lease;
pub mod media;
pub mod middleware;
pub mod outcome;
mod panic;
pub mod pipeline;
pub mod record;
mod record_log;
pub mod render;
pub mod runner;
pub mod settings;
pub mod spool;
pub mod stash;
mod state;
pub mod storage;
pub mod store;
mod task;
pub mod telemetry;
pub mod tool;
pub mod transcript;
pub mod trust;
mod turn;
mod usage;
mod validate;

pub use turnwright_schema as schema;

pub use artifact::{ArtifactKind, Inline, SpooledArtifact};
pub use cancel::Cancellation;
pub use checksum::{checksum, checksum_of_value};
pub use dispatch::{Executor, Reporter};
pub use effects::{Concurrency, Effects, OnCollision};
pub use error::{BoxError, Error, ErrorCode, ErrorKind, ToolError};
pub use event::{Event, EventKind, TurnEvent, TurnEventKind};
pub use gate::{Approval, GateAnswer, GateKind, Gates, TurnGate};
pub use media::{Media, MediaKind};
pub use outcome::{Limit, TurnOutcome, TurnStatus};
pub use pipeline::{Middleware, Next};
pub use record::{Message, Record, RecordKind, Retrievable, ToolCall};
pub use runner::{
    Conversation, History, Turn, TurnInput, TurnRunner, TypedEvent, TypedOutcome, TypedTurn, runner,
};
pub use schema::{
    CheckedArgs, Fault, Field, IntoSchema, InvalidArguments, Limits, RawArgs, Rejection, Repair,
    RepairKind, Schema, SchemaError, SchemaOptions, SchemaProblem,
};
pub use settings::{Budget, ModelSettings, ReasoningEffort, ToolChoice};
pub use spool::{Body, ByteSender, ByteStream, Spool, StreamClosed};
pub use stash::Stash;
pub use state::State;
pub use storage::Storage;
pub use store::{MemoryStore, Store, StoreExt};
pub use tool::approval::{ApprovalPolicy, ApprovalRequest, Approver, PendingCall, Review};
pub use tool::context::{DispatchContext, ToolContext, TurnContext};
pub use tool::registry::{MergePolicy, ToolRegistry};
pub use tool::{
    Content, IntoToolResult, Json, Meta, ResultHook, Tool, ToolBuilder, ToolDescription, ToolOutput,
};
pub use tool::{approval, context, reconcile, registry};
pub use trust::TrustTier;
pub use usage::{FinishReason, ModelUsage, Usage};
