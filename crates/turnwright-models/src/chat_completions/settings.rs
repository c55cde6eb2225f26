//! Settings of a server that are one of a few alternatives, or a function.

use std::sync::Arc;

use serde_json::Value;
use turnwright_core::Media;

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

/// Which reasoning goes back to the server that produced it. Other servers never receive it.
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

/// How the schema of a typed answer is sent. The answer is validated in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypedAnswers {
    /// `response_format` of type `json_schema`.
    #[default]
    JsonSchema,
    /// `response_format` of type `json_object`, with the schema in the system prompt: for servers without schema support.
    JsonObject,
    /// The schema in the system prompt alone: for servers that support neither together with tools.
    Prompt,
}

/// What happens to media that the server does not accept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MediaPolicy {
    /// The turn fails with `E_UNSUPPORTED_MEDIA`.
    Error,
    /// The model gets a description, and what was derived from the media.
    #[default]
    Describe,
    /// The media is left out.
    Drop,
}

/// Decides which media a server accepts.
pub(super) type Shows = Arc<dyn Fn(&Media) -> bool + Send + Sync>;

/// Writes a media for a server that expects another form than most.
pub(super) type MediaPart = Arc<dyn Fn(&Media, &str) -> Option<Value> + Send + Sync>;
