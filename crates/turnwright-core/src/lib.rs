//! The core of [Turnwright](https://github.com/turnwright/turnwright), an agent framework.
//!
//! Each tool has one JSON Schema: the model sees it, and it is enforced before the handler runs.
//!
//! ```
//! use serde_json::{Value, json};
//! use turnwright_core::{DispatchContext, Tool, ToolContext};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let schema = json!({ "type": "object", "properties": { "days": { "type": "integer", "maximum": 14 } } });
//! let forecast = Tool::dynamic("forecast", schema)
//!     .description("Returns the weather forecast.")
//!     .handler(|args: Value, _: ToolContext| async move { format!("{} sunny days", args["days"]) })
//!     .build()?;
//!
//! let ctx = DispatchContext::standalone();
//! assert_eq!(forecast.call(&ctx, json!({ "days": 3 })).await?.as_text(), Some("3 sunny days"));
//! assert!(forecast.call(&ctx, json!({ "days": 99 })).await.is_err());
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```
//!
//! - [`schema`]: JSON Schemas and their enforcement
//! - [`tool`]: tools, their handlers, outputs and errors
//! - [`call`]: the path on which a tool runs
//! - [`registry`]: the tools of one turn
//! - [`dispatch`]: what an executor and its tools share
//! - [`spool`]: storage for the bytes of results
//! - [`artifact`]: results that are too large for a prompt, and the tools that read them
//! - [`media`]: images, audio, video and documents
//! - [`trust`]: trust tiers, envelopes and taint
//! - [`transcript`]: an append-only prompt that keeps a provider's prompt cache valid
//! - [`telemetry`]: spans for turns, model requests and tool calls
//! - [`event`], [`stash`], [`record`], [`error`]
//!
//! Most users depend on the facade `turnwright`, which adds `#[tool]` and a prelude.

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
