//! The OpenAI Responses protocol: OpenAI, Azure, xAI, OpenRouter, vLLM, llama.cpp and others.
//!
//! ```no_run
//! use turnwright_models::Responses;
//!
//! # async fn run() -> Result<(), turnwright_core::Error> {
//! // Reads OPENAI_API_KEY.
//! let model = Responses::from_env().model("gpt-5").build()?;
//! let runner = turnwright_core::runner(model).build()?;
//! println!("{}", runner.run("What is the capital of France?").await.into_answer()?);
//! # Ok(()) }
//! ```
//!
//! Requests are stateless by default: they have `store: false`, ask for encrypted reasoning, and repeat the items of
//! the conversation. [`use_previous_response_id`](crate::ModelBuilder::use_previous_response_id) lets the server store the responses instead.
//!
//! Tools are sent with `strict: false`. Without it, OpenAI applies strict mode and rewrites their schemas.
//! [`strict_tools`](crate::ModelBuilder::strict_tools) enables strict mode for tools whose schemas fit it as they are.

mod body;
mod codec;
mod decode;
mod input;
mod options;
mod quirks;
mod strict_tools;

#[cfg(test)]
mod tests;

pub use codec::ResponsesCodec;
pub use options::SystemPrompt;

use crate::engine::Model;

/// The name of the protocol. Used for its [`Options`] in
/// [`ModelSettings::provider`](turnwright_core::ModelSettings::provider), and for its state in records.
pub const PROTOCOL: &str = "responses";

/// An executor for a server that speaks the Responses protocol.
pub type Responses = Model<ResponsesCodec>;

/// Parameters of a request that only the Responses protocol has.
///
/// ```no_run
/// use turnwright_models::Responses;
/// use turnwright_models::responses::Options;
///
/// let options = Options::new().verbosity("low").reasoning_summary("auto").prompt_cache_key("support");
/// let model = Responses::from_env().model("gpt-5").options(options).build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
pub type Options = crate::Options<ResponsesCodec>;
