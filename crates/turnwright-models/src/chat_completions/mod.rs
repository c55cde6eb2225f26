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
//! How a response is read is apart from the network: see [`decode`].

mod ask;
mod body;
mod builder;
pub mod decode;
mod execute;
mod failure;
mod habits;
mod live;
mod media;
mod options;
mod spelling;
mod tools;
mod window;
mod write;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use builder::Adapter;
pub use builder::{ChatCompletionsBuilder, ReturnReasoning, SystemRole, TypedAnswers};
pub use media::MediaPolicy;
pub use options::Options;
use turnwright_core::Error;

/// Under which provider state is kept in records.
const PROTOCOL: &str = "chat_completions";

/// Where a turn's stash may hold [`Options`] for that turn, which count more than all others.
pub const STASH_KEY: &str = "chat_completions";

/// An executor for a server that speaks the Chat Completions protocol. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct ChatCompletions {
    adapter: Arc<Adapter>,
    options: Arc<Options>,
}

impl ChatCompletions {
    /// A server by its base URL, which most often ends in `/v1`.
    pub fn builder(base_url: impl Into<String>) -> ChatCompletionsBuilder {
        ChatCompletionsBuilder::new(base_url.into())
    }

    /// The server that the environment names: `OPENAI_BASE_URL` (OpenAI's unless set), `OPENAI_API_KEY`, `OPENAI_MODEL`.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG`, which says what to set.
    pub fn from_env() -> Result<Self, Error> {
        ChatCompletionsBuilder::from_env(|name| std::env::var(name).ok())?.build()
    }

    /// The same server under other options: those given count over those of this one.
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

impl fmt::Debug for ChatCompletions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatCompletions")
            .field("adapter", &self.adapter)
            .field("options", &self.options)
            .finish()
    }
}
