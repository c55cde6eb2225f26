//! The parameters of a request that only Gemini has.

use serde_json::Value;

use super::GeminiCodec;
use crate::engine::Options;

impl Options<GeminiCodec> {
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
