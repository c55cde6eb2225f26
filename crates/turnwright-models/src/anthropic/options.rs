//! The parameters of a request and the settings that only Anthropic Messages has.

use serde_json::Value;

use super::AnthropicCodec;
use crate::ModelBuilder;
use crate::engine::Options;

/// Whether requests have marks for the prompt cache. Not a parameter of the API.
pub(super) const PROMPT_CACHING: &str = "prompt_caching";

impl Options<AnthropicCodec> {
    /// Sets the configuration of thinking, such as `{"type": "adaptive"}` or
    /// `{"type": "enabled", "budget_tokens": 4096}`. Takes precedence over
    /// [`ModelSettings::reasoning_effort`](turnwright_core::ModelSettings::reasoning_effort). `null` sends none.
    ///
    /// ```
    /// use serde_json::json;
    /// use turnwright_models::anthropic::Options;
    ///
    /// let options = Options::new().thinking(json!({ "type": "adaptive", "display": "summarized" }));
    /// ```
    pub fn thinking(self, thinking: impl Into<Value>) -> Self {
        self.set("thinking", thinking)
    }

    /// Sets the output configuration: `effort` and `format`. `format` is set automatically for typed answers with
    /// [`TypedAnswers::JsonSchema`](crate::TypedAnswers::JsonSchema), and `effort` for a reasoning effort.
    pub fn output_config(self, config: impl Into<Value>) -> Self {
        self.set("output_config", config)
    }

    /// Sets the number of most likely tokens to sample from.
    pub fn top_k(self, tokens: u32) -> Self {
        self.set("top_k", tokens)
    }

    /// Sets the metadata of the request, such as `{"user_id": "…"}`.
    pub fn metadata(self, metadata: impl Into<Value>) -> Self {
        self.set("metadata", metadata)
    }

    /// Sets the service tier: `auto` or `standard_only`.
    pub fn service_tier(self, tier: impl Into<String>) -> Self {
        self.set("service_tier", tier.into())
    }

    /// Sets the container in which tools of the provider run, or its configuration. Default: the container of the
    /// response that the request continues.
    pub fn container(self, container: impl Into<Value>) -> Self {
        self.set("container", container)
    }

    /// Sets whether requests mark stable parts of the prompt for the prompt cache. Default: `true`.
    pub fn prompt_caching(self, enabled: bool) -> Self {
        self.set(PROMPT_CACHING, enabled)
    }

    /// Sets the cache control of the request, such as `{"type": "ephemeral", "ttl": "1h"}`. The provider then chooses
    /// the end of the cached prefix. Other marks get the same value.
    pub fn cache_control(self, control: impl Into<Value>) -> Self {
        self.set("cache_control", control)
    }
}

impl ModelBuilder<AnthropicCodec> {
    /// Sets whether tools are sent with `strict: true`: the provider then guarantees that arguments match the schema.
    /// Default: `false`.
    ///
    /// Strict mode accepts only a part of JSON Schema, and a request can have 20 strict tools, with 24 optional properties
    /// and 16 schemas with alternatives in all. A tool that does not fit is rejected: with an error when the runner is
    /// built, and with a warning event if it appears later. The message has the JSON pointer of the keyword. Schemas are
    /// never rewritten.
    pub fn strict_tools(mut self, strict: bool) -> Self {
        self.codec.strict_tools = strict;
        self
    }
}
