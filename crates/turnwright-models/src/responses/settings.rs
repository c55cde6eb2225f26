//! Settings that only this protocol has.

use super::ResponsesCodec;
use crate::ModelBuilder;

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
