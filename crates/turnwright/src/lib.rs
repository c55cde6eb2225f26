//! An agent development kit in which a tool is one contract: the schema that the model is shown is the schema that is
//! enforced, and nothing else reaches a handler.
//!
//! ```
//! use turnwright::prelude::*;
//! use turnwright::Error;
//!
//! /// Current weather for a city.
//! #[tool(effects = "read_only", timeout_secs = 30)]
//! async fn get_weather(
//!     /// City to look up.
//!     #[arg(min_length = 1, example = "Paris")]
//!     city: &str,
//!     /// Days ahead.
//!     #[arg(default = 3, min = 1, max = 14)]
//!     days: u8,
//! ) -> Result<String, ToolError> {
//!     Ok(format!("{city}: sunny for {days} days"))
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Error> {
//! let tool = get_weather()?;
//! let context = DispatchContext::standalone();
//!
//! // Arguments are checked, repaired where that is safe, and completed.
//! let output = tool.call(&context, r#"{"city": "Paris", "days": "5"}"#).await?;
//! assert_eq!(output.as_text(), Some("Paris: sunny for 5 days"));
//!
//! // What breaks the contract stops before the handler, with every fault at its place.
//! let error = tool.call(&context, r#"{"city": "", "days": 99}"#).await.unwrap_err();
//! let places: Vec<&str> = error.faults().iter().map(|fault| fault.pointer.as_str()).collect();
//! assert_eq!(places, ["/city", "/days"]);
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! - `macros` (on by default): the [`macro@tool`] attribute.
//! - `artifact-json` (on by default): JSON, JSON lines and JSON5 artifacts, asked by JSONPath.
//! - `artifact-markdown` and `frontmatter` (on by default): Markdown artifacts and the metadata before them.
//! - `chat-completions` (on by default): [`ChatCompletions`], for every model server that speaks that protocol, and media over
//!   HTTP; see [`models`].
//! - `sniff` (on by default): a media's type from its first bytes.
//! - `tracing` (on by default): turns, model calls and tool calls as spans: see [`telemetry`].
//! - `sqlite`: `SqliteStore`, which keeps conversations in one file; SQLite itself is compiled in.
//! - `tokens`: exact token counts for the vocabularies of OpenAI's models, which are large; without it counts are estimates.

#[cfg(doctest)]
mod book;
#[cfg(feature = "macros")]
mod narrow;
pub mod prelude;

// By name, and not all: the module `tool` would stand beside the attribute of that name.
pub use turnwright_core::gate::{GateAnswer, GateKind};
pub use turnwright_core::{
    Approval, ApprovalPolicy, ApprovalRequest, Approver, ArtifactKind, Body, BoxError, Budget,
    ByteSender, ByteStream, Cancellation, CheckedArgs, Concurrency, Content, Conversation,
    DispatchContext, Effects, Error, ErrorCode, ErrorKind, Event, EventKind, Executor, Fault,
    Field, FinishReason, Gates, History, Inline, IntoSchema, IntoToolResult, InvalidArguments,
    Json, Limit, Limits, Media, MediaKind, MemoryStore, MergePolicy, Message, Meta, Middleware,
    ModelSettings, ModelUsage, Next, OnCollision, PendingCall, RawArgs, ReasoningEffort, Record,
    RecordKind, Rejection, Repair, RepairKind, Reporter, ResultHook, Retrievable, Review, Schema,
    SchemaError, SchemaOptions, SchemaProblem, Spool, SpooledArtifact, Stash, State, Storage,
    Store, StoreExt, StreamClosed, Tool, ToolBuilder, ToolCall, ToolChoice, ToolContext,
    ToolDescription, ToolError, ToolOutput, ToolRegistry, TrustTier, Turn, TurnContext, TurnEvent,
    TurnEventKind, TurnGate, TurnInput, TurnOutcome, TurnRunner, TurnStatus, TypedEvent,
    TypedOutcome, TypedTurn, Usage, checksum, checksum_of_value,
};
pub use turnwright_core::{
    answer, approval, artifact, artifact_tools, call, context, dispatch, error, event, gate, media,
    middleware, outcome, pipeline, reconcile, record, registry, render, runner, schema, settings,
    spool, stash, storage, store, telemetry, transcript, trust,
};
#[cfg(feature = "macros")]
#[doc = include_str!("docs/tool.md")]
pub use turnwright_macros::tool;
#[cfg(feature = "chat-completions")]
pub use turnwright_models::{self as models, ChatCompletions};
#[cfg(feature = "sqlite")]
pub use turnwright_store::sqlite::{self, SqliteStore};
// For argument types, handlers and approvers in packages that depend on this one alone.
pub use {async_trait::async_trait, bytes, schemars, serde, serde_json};

/// What the code written by `#[tool]` names. Not for use by hand: it changes without notice.
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod __private {
    pub use crate::narrow::{enforced_format, narrow};
    pub use turnwright_core::tool::returned;
    pub use {schemars, serde, serde_json};

    /// Compiles for a type whose default can be shown to the model.
    pub fn shown_default<T: serde::Serialize>() {}
}

/// The README's examples are run like any other.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
