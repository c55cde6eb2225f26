//! The parameters of a request and the settings that only Chat Completions has.

use serde_json::Value;

use super::ChatCompletionsCodec;
use crate::ModelBuilder;
use crate::engine::Options;

impl Options<ChatCompletionsCodec> {
    /// Sets the stream options. `null` sends none. Default: include the usage.
    pub fn stream_options(self, options: impl Into<Value>) -> Self {
        self.set("stream_options", options)
    }

    /// Sets the response format. Set automatically for typed answers.
    pub fn response_format(self, format: impl Into<Value>) -> Self {
        self.set("response_format", format)
    }

    /// Sets whether the provider stores the response.
    pub fn store(self, stores: bool) -> Self {
        self.set("store", stores)
    }
}

/// The role of the system prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SystemRole {
    /// `system`, which every server accepts.
    #[default]
    System,
    /// `developer`, for newer models of OpenAI.
    Developer,
}

/// Which reasoning is sent back to the server that produced it. Other servers never receive it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReturnReasoning {
    /// `reasoning_details` and `reasoning_content`: servers that send them expect them back, and some reject a call
    /// without its reasoning. Not `reasoning`, which some servers send but do not accept.
    #[default]
    Wanted,
    /// All of it, in the field in which it arrived.
    All,
    /// None.
    None,
}

impl ModelBuilder<ChatCompletionsCodec> {
    /// Sets the role of the system prompt (see
    /// [`TurnRunnerBuilder::instructions`](turnwright_core::runner::TurnRunnerBuilder::instructions)). Default:
    /// [`SystemRole::System`].
    pub fn system_role(mut self, role: SystemRole) -> Self {
        self.codec.role = role;
        self
    }

    /// Sets which reasoning is sent back to the server. Default: [`ReturnReasoning::Wanted`].
    pub fn return_reasoning(mut self, which: ReturnReasoning) -> Self {
        self.codec.reasoning = which;
        self
    }

    /// Sets whether an assistant message is inserted between a tool message and a user message, and between two user
    /// messages. Mistral's servers and many chat templates reject such sequences. Enabled automatically if a server
    /// rejects a request for this reason. Default: `false`.
    pub fn strict_roles(mut self, strict: bool) -> Self {
        self.codec.strict_roles = strict;
        self
    }

    /// Sets whether [`ModelSettings::max_output_tokens`](turnwright_core::ModelSettings::max_output_tokens) is sent as
    /// `max_completion_tokens` instead of `max_tokens`. Enabled automatically if a server rejects `max_tokens` for this
    /// reason. Default: `true` for the servers of OpenAI and Azure.
    pub fn max_completion_tokens(mut self, yes: bool) -> Self {
        self.codec.max_completion_tokens = Some(yes);
        self
    }
}
