//! The core of [Turnwright](https://github.com/turnwright/turnwright), an agent framework. Applications depend on the
//! facade crate `turnwright`, which adds `#[tool]`, model servers, storage and a prelude.
//!
//! Each tool has one JSON Schema: the model sees it, and it is enforced before the handler runs.
//!
//! Everything that is `async` here requires a Tokio runtime with time enabled, and panics without one as Tokio does.
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
//! | to | use |
//! | --- | --- |
//! | define tools | [`Tool`], [`tool`], [`schema`] |
//! | run turns | [`runner()`], [`TurnRunner`], [`runner`](mod@runner), [`settings`] |
//! | follow a turn | [`event`], [`telemetry`] |
//! | approve calls and wait for people | [`tool::approval`], [`gate`] |
//! | change what a turn does | [`Middleware`], [`middleware`] |
//! | store conversations | [`Storage`], [`storage`], [`store`], [`spool`], [`record`] |
//! | read large results | [`artifact`], [`artifact_tools`] |
//! | connect a model | [`Executor`], [`dispatch`], [`call`], [`transcript`], [`render`] |
//! | handle content from outside | [`trust`], [`media`] |

#[macro_use(debug_fields)]
extern crate turnwright_schema as _;

#[macro_use]
mod text;

mod answer;
pub mod artifact_tools;
pub mod call;
mod cancel;
mod deadline;
pub mod dispatch;
mod dot_path;
mod effects;
pub mod event;
pub mod gate;
mod ids;
mod lease;
pub mod media;
pub mod middleware;
mod outcome;
mod pipeline;
mod principal;
pub mod record;
mod record_log;
pub mod render;
pub mod runner;
pub mod settings;
mod stash;
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

pub use turnwright_artifact::{artifact, error, spool};
pub use turnwright_schema as schema;

#[doc(hidden)]
pub use turnwright_artifact::files;
use turnwright_artifact::{ascii, checksum};

pub use cancel::Cancellation;
pub use dispatch::Executor;
pub use effects::Effects;
pub use error::{BoxError, Error, ErrorCode, ErrorKind, ToolError};
pub use event::{Event, EventKind};
pub use media::Media;
pub use outcome::{TurnOutcome, TurnStatus};
pub use pipeline::{Middleware, Next};
pub use principal::Principal;
pub use record::{Message, ToolCall};
pub use runner::{Conversation, History, Turn, TurnInput, TurnRunner, runner};
pub use settings::{Budget, ModelSettings};
pub use stash::Stash;
pub use state::State;
pub use storage::Storage;
pub use tool::context::{DispatchContext, ToolContext, TurnContext};
pub use tool::registry::ToolRegistry;
pub use tool::{Json, Tool, ToolBuilder, ToolOutput};
pub use usage::Usage;
