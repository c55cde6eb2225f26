//! The Gemini API: `generateContent` and `streamGenerateContent`.
//!
//! ```no_run
//! use turnwright_models::Gemini;
//!
//! # async fn run() -> Result<(), turnwright_core::Error> {
//! // The key is in `GEMINI_API_KEY`.
//! let model = Gemini::from_env().model("gemini-2.5-flash").build()?;
//! let runner = turnwright_core::runner(model).build()?;
//! println!("{}", runner.run("What is the capital of France?").await.into_answer()?);
//! # Ok(()) }
//! ```

mod body;
mod codec;
mod contents;
mod decode;

#[cfg(test)]
mod tests;

pub use codec::GeminiCodec;

use serde_json::Value;

use crate::engine::Model;

/// The name of the protocol. Used for its [`Options`] in
/// [`ModelSettings::provider`](turnwright_core::ModelSettings::provider), and for its state in records.
pub const PROTOCOL: &str = "gemini";

/// An executor for a Gemini model.
pub type Gemini = Model<GeminiCodec>;

/// Parameters of a request that only Gemini has.
pub type Options = crate::Options<GeminiCodec>;

/// The field with the signature of a part.
const SIGNATURE: &str = "thoughtSignature";

impl crate::Options<GeminiCodec> {
    /// Limits sampling to this many of the most likely tokens.
    pub fn top_k(self, tokens: u32) -> Self {
        self.set("topK", tokens)
    }

    /// Sets the thinking configuration: `thinkingLevel` (Gemini 3) or `thinkingBudget` (Gemini 2.5), and whether
    /// thoughts are returned (`includeThoughts`). Overrides
    /// [`ModelSettings::reasoning_effort`](turnwright_core::ModelSettings::reasoning_effort).
    pub fn thinking_config(self, config: impl Into<Value>) -> Self {
        self.set("thinkingConfig", config)
    }

    /// Sets the safety settings: a list of objects with a `category` and a `threshold`.
    pub fn safety_settings(self, settings: impl Into<Value>) -> Self {
        self.set("safetySettings", settings)
    }

    /// Sets the name of cached content that precedes the prompt, such as `cachedContents/123`.
    pub fn cached_content(self, name: impl Into<String>) -> Self {
        self.set("cachedContent", name.into())
    }

    /// Sets the resolution of media.
    pub fn media_resolution(self, resolution: impl Into<String>) -> Self {
        self.set("mediaResolution", resolution.into())
    }
}
