//! The parameters of a request that only Ollama has.

use serde_json::Value;

use super::OllamaCodec;
use crate::engine::Options;

impl Options<OllamaCodec> {
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

    /// Sets the minimum probability of a token, relative to the most likely one.
    pub fn min_p(self, probability: f64) -> Self {
        self.set("min_p", probability)
    }

    /// Sets the penalty for repetitions.
    pub fn repeat_penalty(self, penalty: f64) -> Self {
        self.set("repeat_penalty", penalty)
    }
}
