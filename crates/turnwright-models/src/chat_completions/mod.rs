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
mod parameters;
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
use turnwright_core::{Error, ModelSettings};

/// The name of the protocol. Used for its [`Options`] in [`ModelSettings::provider`], and for its state in records.
pub const PROTOCOL: &str = "chat_completions";

/// An executor for a server that speaks the Chat Completions protocol. Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub struct ChatCompletions {
    adapter: Arc<Adapter>,
    options: Arc<Options>,
    /// Defaults for settings that neither the turn nor the runner sets.
    settings: Arc<ModelSettings>,
}

impl ChatCompletions {
    /// Creates a builder for the server at a base URL, which usually ends in `/v1`.
    pub fn builder(base_url: impl Into<String>) -> ChatCompletionsBuilder {
        ChatCompletionsBuilder::new(base_url.into())
    }

    /// Creates a builder from the environment: `OPENAI_API_KEY`, `OPENAI_BASE_URL` (default: OpenAI's) and
    /// `OPENAI_MODEL`. Values set on the builder take precedence. [`build`](ChatCompletionsBuilder::build) reports
    /// what is missing.
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
    pub fn from_env() -> ChatCompletionsBuilder {
        ChatCompletionsBuilder::from_lookup(|name| std::env::var(name).ok())
    }

    /// Returns this model with another model name, at the same server.
    #[must_use]
    pub fn with_model(&self, name: impl Into<String>) -> ChatCompletions {
        self.with_options(Options::new().model(name))
    }

    /// Returns this model with other settings, at the same server. `settings` take precedence over the current ones.
    ///
    /// ```
    /// use turnwright_core::ModelSettings;
    /// use turnwright_models::ChatCompletions;
    ///
    /// let model = ChatCompletions::builder("http://127.0.0.1:8080/v1").model("qwen3").build()?;
    /// let exact = model.with_settings(ModelSettings::new().temperature(0.0))?;
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` if a setting is invalid.
    pub fn with_settings(&self, settings: ModelSettings) -> Result<ChatCompletions, Error> {
        check(&settings)?;
        let mut model = self.clone();
        model.settings = Arc::new(settings.over(&self.settings));
        Ok(model)
    }

    /// Returns this model with other options, at the same server. `options` take precedence over the current ones.
    #[must_use]
    pub fn with_options(&self, options: Options) -> ChatCompletions {
        let mut model = self.clone();
        model.options = Arc::new(options.over(&self.options));
        model
    }
}

/// Checks settings and the options of this protocol in them.
fn check(settings: &ModelSettings) -> Result<(), Error> {
    settings.validate()?;
    match settings.provider_options(PROTOCOL) {
        Some(fields) => Options::read(fields).map(drop),
        None => Ok(()),
    }
}
