//! An agent development kit. The schema that a model is shown is the schema that is enforced: arguments that break it never
//! reach a handler.
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
//! # Where to look
//!
//! | to | use |
//! | --- | --- |
//! | define tools | [`macro@tool`], [`Tool`], [`schema`], [`tools`] |
//! | talk to a model | [`ChatCompletions`], [`models`], [`ModelSettings`] |
//! | run turns | [`runner()`], [`TurnRunner`], [`Conversation`], [`TurnInput`], [`runner`](mod@runner) |
//! | follow a turn | [`Turn`], [`event`], [`telemetry`] |
//! | approve calls, wait for people | [`approval`], [`gate`] |
//! | change what a turn does | [`Middleware`], [`middleware`], [`context`] |
//! | store conversations | [`Storage`], [`store`], [`record`]; your own database: [`store::Store`], [`spool::Spool`] |
//! | recover calls of a dead process | [`reconcile`] |
//! | read large results | [`artifact`], [`artifact_tools`] |
//! | show media and text from outside | [`Media`], [`media`], [`trust`] |
//! | use tools of MCP servers | `mcp` (feature `mcp`) |
//! | connect a model of your own | [`Executor`], [`dispatch`], [`call`], [`transcript`], [`render`] |
//! | handle errors | [`Error`], [`ErrorCode`], [`ToolError`] |
//!
//! [`prelude`] has the names that nearly every file needs.
//!
//! # Features
//!
//! | feature | default | adds |
//! | --- | --- | --- |
//! | `macros` | yes | the [`macro@tool`] attribute |
//! | `models` | yes | model servers of five protocols ([`ChatCompletions`], [`Responses`], [`Anthropic`], [`Gemini`], [`Ollama`]), [`Fallback`], and media over HTTP |
//! | `artifact-formats` | yes | queries on JSON and Markdown artifacts |
//! | `mcp` | no | tools of MCP servers with pinned definitions, and an MCP server for your tools: see `turnwright::mcp` |
//! | `sqlite` | no | `SqliteStore`, which stores conversations in one file; SQLite is compiled in |
//! | `tokens` | no | exact token counts for OpenAI's vocabularies; without it counts are estimates |

#[cfg(doctest)]
mod book;
#[cfg(feature = "macros")]
mod bounds;
#[cfg(feature = "macros")]
pub mod prelude;

// The documented name is `tools`, so that the page of `tool` is that of the attribute.
#[doc(inline)]
pub use turnwright_core::tool as tools;
// For those who write `turnwright::tool::OnCollision`.
#[doc(hidden)]
pub use turnwright_core::tool;
#[doc(inline)]
pub use turnwright_core::tool::{approval, context, reconcile};
#[doc(inline)]
pub use turnwright_core::{
    BoxError, Budget, Cancellation, Conversation, DispatchContext, Effects, Error, ErrorCode,
    ErrorKind, Event, EventKind, Executor, History, Json, Media, Message, Middleware,
    ModelSettings, Next, Principal, Stash, State, Storage, Tool, ToolBuilder, ToolCall,
    ToolContext, ToolError, ToolOutput, ToolRegistry, Turn, TurnContext, TurnInput, TurnOutcome,
    TurnRunner, TurnStatus, Usage,
};
#[doc(inline)]
pub use turnwright_core::{
    artifact, artifact_tools, call, dispatch, error, event, files, gate, media, middleware, record,
    render, runner, schema, settings, spool, storage, store, telemetry, transcript, trust,
};
#[cfg(feature = "macros")]
#[doc = include_str!("docs/tool.md")]
pub use turnwright_macros::tool;
#[cfg(feature = "mcp")]
#[doc(inline)]
pub use turnwright_mcp::{self as mcp, Mcp, McpServer};
#[cfg(feature = "models")]
#[doc(inline)]
pub use turnwright_models::{
    self as models, Anthropic, ChatCompletions, Fallback, Gemini, Ollama, Responses, model,
};
#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use turnwright_sqlite::{self as sqlite, SqliteStore};
// For argument types, handlers and approvers in packages that depend on this one alone.
#[doc(no_inline)]
pub use {async_trait::async_trait, bytes, schemars, serde, serde_json};

/// What the code written by `#[tool]` names. Not for use by hand: it changes without notice.
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod __private {
    pub use crate::bounds::{enforced_format, narrow};
    pub use turnwright_core::artifact::{ArtifactKind, Inline};
    pub use turnwright_core::tool::{Concurrency, Effects, OnCollision, returned};
    pub use {schemars, serde, serde_json};

    /// Compiles for a type that can be an argument.
    pub fn argument<T: turnwright_core::schema::Typed>() {}

    /// Compiles for a type whose default can be shown to the model.
    pub fn shown_default<T: serde::Serialize>() {}
}

/// The README's examples are run like any other.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
