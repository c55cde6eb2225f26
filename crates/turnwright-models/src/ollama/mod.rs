//! The protocol of Ollama, `/api/chat`, for local models.
//!
//! ```no_run
//! use turnwright_models::Ollama;
//!
//! # async fn run() -> Result<(), turnwright_core::Error> {
//! let model = Ollama::from_env().model("qwen3:4b").build()?;
//! let runner = turnwright_core::runner(model).build()?;
//! println!("{}", runner.run("What is the capital of France?").await.into_answer()?);
//! # Ok(()) }
//! ```
//!
//! Ollama also speaks Chat Completions. Its own protocol adds the size of the context (`num_ctx`), thinking on and off,
//! and how long a model stays loaded.

mod body;
mod codec;
mod decode;
mod messages;

#[cfg(test)]
mod tests;

pub use codec::OllamaCodec;

use serde_json::Value;

use crate::engine::Model;

/// The name of the protocol. Used for its [`Options`] in
/// [`ModelSettings::provider`](turnwright_core::ModelSettings::provider), and for its state in records.
pub const PROTOCOL: &str = "ollama";

/// An executor for a model on an Ollama server.
pub type Ollama = Model<OllamaCodec>;

/// Parameters of a request that only Ollama has.
pub type Options = crate::Options<OllamaCodec>;

/// Returns the URL of a host as Ollama writes it: the scheme and the port are optional, and the address on which a
/// server listens may be all of them.
fn host_url(host: &str) -> String {
    let (scheme, rest) = host.split_once("://").unwrap_or(("http", host));
    let (address, path) = match rest.find('/') {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let (name, port) = match address.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => (name, Some(port)),
        _ => (address, None),
    };
    let name = match name {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        name => name,
    };
    let port = match (port, scheme) {
        (Some(port), _) if !port.is_empty() => format!(":{port}"),
        // A server behind a proxy.
        (_, "https") => String::new(),
        _ => ":11434".to_owned(),
    };
    format!("{scheme}://{name}{port}{path}")
}

impl crate::Options<OllamaCodec> {
    /// Sets the size of the context window in tokens. A longer prompt is truncated by the server without an error.
    /// Default: the server's, which is often only a few thousand tokens.
    pub fn num_ctx(self, tokens: u32) -> Self {
        self.set("num_ctx", tokens)
    }

    /// Sets how long the model stays loaded after the request: a duration such as `"10m"`, or a number of seconds.
    /// `-1` keeps it loaded, `0` unloads it immediately. Default: 5 minutes.
    pub fn keep_alive(self, time: impl Into<Value>) -> Self {
        self.set("keep_alive", time)
    }

    /// Sets whether the model thinks before it answers: `true`, `false`, or for some models `"low"`, `"medium"` or
    /// `"high"`. Overrides
    /// [`ModelSettings::reasoning_effort`](turnwright_core::ModelSettings::reasoning_effort).
    pub fn think(self, think: impl Into<Value>) -> Self {
        self.set("think", think)
    }

    /// Limits sampling to this many of the most likely tokens.
    pub fn top_k(self, tokens: u32) -> Self {
        self.set("top_k", tokens)
    }
}
