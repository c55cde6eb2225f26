//! The OpenAI Chat Completions protocol, which most model servers speak: OpenAI, Azure, OpenRouter, Mistral, DeepSeek, Groq,
//! vLLM, llama.cpp, Ollama, LM Studio and others.
//!
//! ```no_run
//! use turnwright_core::TurnRunner;
//! use turnwright_models::ChatCompletions;
//!
//! # async fn run() -> Result<(), turnwright_core::Error> {
//! let model = ChatCompletions::builder("http://127.0.0.1:8080/v1").model("qwen3").build()?;
//! let runner = TurnRunner::builder(model).build()?;
//! println!("{}", runner.run("What is the capital of France?").await.into_answer()?);
//! # Ok(()) }
//! ```
//!
//! Responses are decoded independently of the network: see [`decode`].

mod adapter;
mod attempt;
mod body;
mod builder;
mod context_window;
pub mod decode;
mod execute;
mod failure;
mod live_output;
mod media;
mod messages;
mod options;
mod quirks;
mod sanitise;
mod settings;
mod tools;
mod wire_message;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use adapter::Adapter;
pub use builder::ChatCompletionsBuilder;
pub use options::Options;
pub use settings::{MediaPolicy, ReturnReasoning, SystemRole, TypedAnswers};
use turnwright_core::Error;

/// The key of the provider state in records.
const PROTOCOL: &str = "chat_completions";

/// The key of [`Options`] in a turn's stash. They override all others for that turn.
pub const STASH_KEY: &str = "chat_completions";

/// An executor for a server that speaks the Chat Completions protocol. Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub struct ChatCompletions {
    adapter: Arc<Adapter>,
    options: Arc<Options>,
}

impl ChatCompletions {
    /// Creates a builder for the server at a base URL, which usually ends in `/v1`.
    pub fn builder(base_url: impl Into<String>) -> ChatCompletionsBuilder {
        ChatCompletionsBuilder::new(base_url.into())
    }

    /// Configures the server from the environment: `OPENAI_BASE_URL` (default: OpenAI's), `OPENAI_API_KEY`, `OPENAI_MODEL`.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG`, with the variable to set.
    pub fn from_env() -> Result<Self, Error> {
        ChatCompletionsBuilder::from_env(|name| std::env::var(name).ok())?.build()
    }

    /// Returns an executor for the same server whose options override those of this one.
    ///
    /// ```
    /// use turnwright_models::ChatCompletions;
    /// use turnwright_models::chat_completions::Options;
    ///
    /// let model = ChatCompletions::builder("http://127.0.0.1:8080/v1").model("qwen3").build()?;
    /// let exact = model.executor(Options::new().temperature(0.0));
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    #[must_use]
    pub fn executor(&self, options: Options) -> ChatCompletions {
        ChatCompletions {
            adapter: Arc::clone(&self.adapter),
            options: Arc::new(options.over(&self.options)),
        }
    }
}
