//! The Anthropic Messages protocol: Claude, and other servers with `/v1/messages`.
//!
//! ```no_run
//! use turnwright_models::Anthropic;
//!
//! # async fn run() -> Result<(), turnwright_core::Error> {
//! // The key comes from ANTHROPIC_API_KEY.
//! let model = Anthropic::from_env().model("claude-sonnet-4-5").build()?;
//! let runner = turnwright_core::runner(model).build()?;
//! println!("{}", runner.run("What is the capital of France?").await.into_answer()?);
//! # Ok(()) }
//! ```
//!
//! # Thinking
//! [`ModelSettings::reasoning_effort`](turnwright_core::ModelSettings::reasoning_effort) turns thinking on: adaptive
//! thinking with this effort where the model supports it, otherwise a token budget. [`Options::thinking`] sets the
//! API's own parameter. Thinking is sent back to the server with its signature, unchanged.
//!
//! With thinking, the API accepts neither a forced tool choice nor a temperature. They are left out, with a warning
//! event. If the calls that the model waits for came from another server, the request is sent without thinking.
//!
//! # Prompt caching
//! Requests mark the end of the tools, of the system prompt, of the last message and of the previous request for the
//! prompt cache. Disable it with [`Options::prompt_caching`].

mod body;
mod caching;
mod codec;
mod decode;
mod messages;
mod models;
mod options;
mod quirks;
mod strict_tools;
mod thinking;

#[cfg(test)]
mod tests;

pub use codec::AnthropicCodec;

use crate::engine::Model;

/// The name of the protocol. Used for its [`Options`] in
/// [`ModelSettings::provider`](turnwright_core::ModelSettings::provider), and for its state in records.
pub const PROTOCOL: &str = "anthropic";

/// An executor for a server that speaks the Anthropic Messages protocol.
pub type Anthropic = Model<AnthropicCodec>;

/// Parameters of a request that only Anthropic Messages has.
pub type Options = crate::Options<AnthropicCodec>;
