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

#[cfg(test)]
mod tests;

pub use codec::ChatCompletionsCodec;
pub use options::{ReturnReasoning, SystemRole};

use crate::engine::Model;

/// The name of the protocol. Used for its [`Options`] in
/// [`ModelSettings::provider`](turnwright_core::ModelSettings::provider), and for its state in records.
pub const PROTOCOL: &str = "chat_completions";

/// An executor for a server that speaks the Chat Completions protocol.
pub type ChatCompletions = Model<ChatCompletionsCodec>;

/// Parameters of a request that only Chat Completions has.
pub type Options = crate::Options<ChatCompletionsCodec>;
