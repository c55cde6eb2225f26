//! The settings of a server.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use turnwright_core::Media;

use super::decode;
use super::media::is_commonly_accepted;
use crate::retry::RetryPolicy;
use crate::sse;

/// The settings of a server that affect requests and prompts.
pub(super) struct Settings {
    pub(super) retry: RetryPolicy,
    pub(super) request_timeout: Duration,
    pub(super) idle_timeout: Duration,
    pub(super) max_event: usize,
    pub(super) max_body: usize,
    pub(super) role: SystemRole,
    pub(super) explains_envelopes: bool,
    pub(super) media_policy: MediaPolicy,
    pub(super) shows: Shows,
    pub(super) media_part: Option<MediaPart>,
    pub(super) max_media: u64,
    pub(super) window: Option<u64>,
    pub(super) reasoning: ReturnReasoning,
    pub(super) typed: TypedAnswers,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            retry: RetryPolicy::new(),
            request_timeout: Duration::from_secs(600),
            idle_timeout: Duration::from_secs(120),
            max_event: sse::MAX_EVENT,
            max_body: decode::MAX_BODY,
            role: SystemRole::default(),
            explains_envelopes: true,
            media_policy: MediaPolicy::default(),
            shows: Arc::new(is_commonly_accepted),
            media_part: None,
            max_media: 20 * 1024 * 1024,
            window: None,
            reasoning: ReturnReasoning::default(),
            typed: TypedAnswers::default(),
        }
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

/// How the schema of a typed answer is sent. The answer is always validated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypedAnswers {
    /// `response_format` of type `json_schema`.
    #[default]
    JsonSchema,
    /// `response_format` of type `json_object`, with the schema in the system prompt: for servers without schema support.
    JsonObject,
    /// The schema in the system prompt only: for servers that support neither together with tools.
    Prompt,
}

/// How media is handled that the server does not accept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum MediaPolicy {
    /// The turn fails with `E_UNSUPPORTED_MEDIA`.
    Error,
    /// The model receives a description, and any text derived from the media.
    #[default]
    Describe,
    /// The media is omitted.
    Drop,
}

/// Decides which media a server accepts.
pub(super) type Shows = Arc<dyn Fn(&Media) -> bool + Send + Sync>;

/// Writes media for a server that expects another form than most.
pub(super) type MediaPart = Arc<dyn Fn(&Media, &str) -> Option<Value> + Send + Sync>;
