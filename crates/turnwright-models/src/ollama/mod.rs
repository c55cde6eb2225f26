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
mod options;

#[cfg(test)]
mod tests;

pub use codec::OllamaCodec;

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
    if host.is_empty() {
        return String::new();
    }
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
