//! The parameters of a request that only the Responses protocol has.

use serde_json::Value;

use super::ResponsesCodec;
use crate::engine::Options;

/// The part of `reasoning` that has a method of its own.
pub(super) const REASONING_SUMMARY: &str = "reasoning_summary";
/// The part of `text` that has a method of its own.
pub(super) const VERBOSITY: &str = "verbosity";

impl Options<ResponsesCodec> {
    /// Sets the reasoning settings other than the effort, which is
    /// [`ModelSettings::reasoning_effort`](turnwright_core::ModelSettings::reasoning_effort).
    pub fn reasoning(self, settings: impl Into<Value>) -> Self {
        self.set("reasoning", settings)
    }

    /// Sets the summary of the reasoning (`reasoning.summary`): `auto`, `concise` or `detailed`. Without it, OpenAI
    /// returns none.
    pub fn reasoning_summary(self, summary: impl Into<String>) -> Self {
        self.set(REASONING_SUMMARY, summary.into())
    }

    /// Sets the verbosity of the answer (`text.verbosity`): `low`, `medium` or `high`.
    pub fn verbosity(self, verbosity: impl Into<String>) -> Self {
        self.set(VERBOSITY, verbosity.into())
    }

    /// Sets the configuration of the text output. Its `format` is set automatically for typed answers.
    pub fn text(self, configuration: impl Into<Value>) -> Self {
        self.set("text", configuration)
    }

    /// Sets additional output data to include, such as `web_search_call.action.sources`.
    /// `reasoning.encrypted_content` is always included, unless this is `null`.
    pub fn include(self, fields: impl Into<Value>) -> Self {
        self.set("include", fields)
    }

    /// Sets whether the provider stores the response. Default: `false`, or `true` with
    /// [`use_previous_response_id`](crate::ModelBuilder::use_previous_response_id).
    pub fn store(self, stores: bool) -> Self {
        self.set("store", stores)
    }

    /// Sets the maximum number of calls to tools that run at the provider.
    pub fn max_tool_calls(self, calls: u32) -> Self {
        self.set("max_tool_calls", calls)
    }

    /// Sets the number of most likely tokens to return at each position, with their log probabilities.
    pub fn top_logprobs(self, tokens: u32) -> Self {
        self.set("top_logprobs", tokens)
    }

    /// Sets the truncation strategy: `auto` drops items from the beginning of a conversation that is too long,
    /// `disabled` fails.
    pub fn truncation(self, strategy: impl Into<String>) -> Self {
        self.set("truncation", strategy.into())
    }

    /// Sets the service tier (processing type) of the request.
    pub fn service_tier(self, tier: impl Into<String>) -> Self {
        self.set("service_tier", tier.into())
    }

    /// Sets the metadata that the provider stores with the response.
    pub fn metadata(self, metadata: impl Into<Value>) -> Self {
        self.set("metadata", metadata)
    }

    /// Sets a reference to a prompt template of the provider, and its variables.
    pub fn prompt(self, prompt: impl Into<Value>) -> Self {
        self.set("prompt", prompt)
    }

    /// Sets a stable, anonymous identifier of the end user.
    pub fn user(self, id: impl Into<String>) -> Self {
        self.set("user", id.into())
    }

    /// Sets a stable, anonymous identifier of the end user for the provider's abuse detection.
    pub fn safety_identifier(self, id: impl Into<String>) -> Self {
        self.set("safety_identifier", id.into())
    }

    /// Sets the prompt cache key, which groups requests with a common prefix.
    pub fn prompt_cache_key(self, key: impl Into<String>) -> Self {
        self.set("prompt_cache_key", key.into())
    }

    /// Sets how long the provider retains the prompt cache.
    pub fn prompt_cache_retention(self, retention: impl Into<String>) -> Self {
        self.set("prompt_cache_retention", retention.into())
    }

    /// Sets the stream options, such as `{"include_obfuscation": false}`.
    pub fn stream_options(self, options: impl Into<Value>) -> Self {
        self.set("stream_options", options)
    }
}
