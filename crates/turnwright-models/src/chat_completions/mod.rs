//! The OpenAI Chat Completions protocol, which most model servers support: OpenAI, Azure, OpenRouter, Mistral,
//! DeepSeek, Groq, vLLM, llama.cpp, Ollama, LM Studio and others.
//!
//! ```no_run
//!
//! use turnwright_models::ChatCompletions;
//!
//! # async fn run() -> Result<(), turnwright_core::Error> {
//! let model = ChatCompletions::builder("http://127.0.0.1:8080/v1").model("qwen3").build()?;
//! let runner = turnwright_core::runner(model).build()?;
//! println!("{}", runner.run("What is the capital of France?").await.into_answer()?);
//! # Ok(()) }
//! ```

mod body;
mod codec;
mod decode;
mod messages;
mod options;
mod quirks;
mod settings;

#[cfg(test)]
mod tests;

pub use codec::ChatCompletionsCodec;
pub use settings::{ReturnReasoning, SystemRole};

use crate::engine::{Model, ModelBuilder};

/// The name of the protocol. Used for its [`Options`] in
/// [`ModelSettings::provider`](turnwright_core::ModelSettings::provider), and for its state in records.
pub const PROTOCOL: &str = "chat_completions";

/// An executor for a server that speaks the Chat Completions protocol.
pub type ChatCompletions = Model<ChatCompletionsCodec>;

/// Parameters of a request that only Chat Completions has.
pub type Options = crate::Options<ChatCompletionsCodec>;

impl ChatCompletions {
    /// Creates a builder for the server at a base URL, which usually ends in `/v1`.
    pub fn builder(base_url: impl Into<String>) -> ModelBuilder<ChatCompletionsCodec> {
        ModelBuilder::new(base_url.into())
    }

    /// Creates a builder from the environment: `OPENAI_API_KEY`, `OPENAI_BASE_URL` (default: OpenAI's) and
    /// `OPENAI_MODEL`. Values set on the builder take precedence. [`build`](ModelBuilder::build) reports what is
    /// missing.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use turnwright_models::ChatCompletions;
    ///
    /// let model = ChatCompletions::from_env().build()?;
    /// let patient = ChatCompletions::from_env()
    ///     .model("gpt-4.1-mini")
    ///     .request_timeout(Duration::from_secs(900))
    ///     .build()?;
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn from_env() -> ModelBuilder<ChatCompletionsCodec> {
        ModelBuilder::from_env()
    }
}
