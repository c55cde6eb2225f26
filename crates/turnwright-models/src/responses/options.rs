//! The parameters of a request and the settings that only the Responses protocol has.

use serde_json::Value;

use super::ResponsesCodec;
use crate::ModelBuilder;
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

    /// Sets the stream options, such as `{"include_obfuscation": false}`.
    pub fn stream_options(self, options: impl Into<Value>) -> Self {
        self.set("stream_options", options)
    }
}

/// How the system prompt is sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SystemPrompt {
    /// As the first input item, with the role `system`. Every server accepts it.
    #[default]
    System,
    /// As the first input item, with the role `developer`.
    Developer,
    /// In the `instructions` parameter. Some servers, such as xAI's, reject it.
    Instructions,
}

impl ModelBuilder<ResponsesCodec> {
    /// Sets how the system prompt is sent (see
    /// [`TurnRunnerBuilder::instructions`](turnwright_core::runner::TurnRunnerBuilder::instructions)). A request with
    /// `previous_response_id` always uses `instructions`, because they apply to one request only and replace earlier
    /// ones. Default: [`SystemPrompt::System`].
    pub fn system_prompt(mut self, how: SystemPrompt) -> Self {
        self.codec.system = how;
        self
    }

    /// Sets whether the server stores responses (`store: true`), and requests refer to the last one with
    /// `previous_response_id` instead of repeating the conversation. If the server no longer has the response, the
    /// conversation is repeated. Default: `false`.
    ///
    /// ```no_run
    /// use turnwright_models::Responses;
    ///
    /// let model = Responses::from_env().model("gpt-5").use_previous_response_id(true).build()?;
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn use_previous_response_id(mut self, uses: bool) -> Self {
        self.codec.chains = uses;
        self
    }

    /// Sets whether tools are sent with `strict: true`, so that the provider guarantees arguments that match the
    /// schema. The schema is sent as it is. A tool whose schema does not fit strict mode is rejected, with the place
    /// of the keyword and advice. Default: `false`.
    pub fn strict_tools(mut self, strict: bool) -> Self {
        self.codec.strict = strict;
        self
    }
}
