//! Executors of [Turnwright](https://github.com/turnwright/turnwright) for model servers: one module per wire
//! protocol, and the modules that they share.
//!
//! - [`chat_completions`]: OpenAI Chat Completions, which most servers support
//! - [`responses`]: OpenAI Responses
//! - [`anthropic`]: Anthropic Messages
//! - [`gemini`]: the Gemini API
//! - [`ollama`]: the protocol of Ollama
//! - [`decode`]: responses of all of them, without a network
//! - [`fetch`]: media over HTTP, with an address guard
//! - [`http`]: requests and responses, with timeouts and proxies
//! - [`retry`]: retry policy
//!
//! ```no_run
//! use turnwright_models::ChatCompletions;
//!
//! # async fn run() -> Result<(), turnwright_core::Error> {
//! let model = ChatCompletions::from_env().build()?;
//! let runner = turnwright_core::runner(model).build()?;
//! println!("{}", runner.run("What is the capital of France?").await.into_answer()?);
//! # Ok(()) }
//! ```

pub mod anthropic;
mod any_model;
pub mod chat_completions;
pub mod decode;
mod describe;
mod engine;
mod fallback;
pub mod fetch;
pub mod gemini;
pub mod http;
pub mod ollama;
mod protocol;
#[doc(hidden)]
pub mod redact;
pub mod responses;
pub mod retry;

pub use anthropic::Anthropic;
pub use any_model::{AnyCodec, AnyModel, model};
pub use chat_completions::ChatCompletions;
pub use engine::{MediaPolicy, Model, ModelBuilder, Options, TypedAnswers};
pub use fallback::Fallback;
pub use gemini::Gemini;
pub use ollama::Ollama;
pub use protocol::Protocol;
pub use responses::Responses;
