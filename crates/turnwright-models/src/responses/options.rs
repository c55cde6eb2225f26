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

    /// Sets the truncation strategy: `auto` drops items from the beginning of a conversation that is too long,
    /// `disabled` fails.
    pub fn truncation(self, strategy: impl Into<String>) -> Self {
        self.set("truncation", strategy.into())
    }

    /// Sets a reference to a prompt template of the provider, and its variables.
    pub fn prompt(self, prompt: impl Into<Value>) -> Self {
        self.set("prompt", prompt)
    }

    /// Sets the stream options, such as `{"include_obfuscation": false}`.
    pub fn stream_options(self, options: impl Into<Value>) -> Self {
        self.set("stream_options", options)
    }
}
