//! The settings of a server.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use turnwright_core::Media;

use crate::decode;
use crate::decode::sse;
use crate::retry::RetryPolicy;

/// The settings of a server that affect requests and prompts.
pub(crate) struct Settings {
    pub(crate) retry: RetryPolicy,
    pub(crate) request_timeout: Duration,
    pub(crate) idle_timeout: Duration,
    pub(crate) max_event: usize,
    pub(crate) max_body: usize,
    pub(crate) explains_envelopes: bool,
    pub(crate) media_policy: MediaPolicy,
    /// Default: those of the protocol.
    pub(crate) shows: Option<Shows>,
    pub(crate) media_part: Option<MediaPart>,
    pub(crate) max_media: u64,
    pub(crate) window: Option<u64>,
    /// Default: that of the protocol.
    pub(crate) typed: Option<TypedAnswers>,
    pub(crate) think_tags: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            retry: RetryPolicy::new(),
            request_timeout: Duration::from_secs(600),
            idle_timeout: Duration::from_secs(120),
            max_event: sse::MAX_EVENT,
            max_body: decode::MAX_BODY,
            explains_envelopes: true,
            media_policy: MediaPolicy::default(),
            shows: None,
            media_part: None,
            max_media: 20 * 1024 * 1024,
            window: None,
            typed: None,
            think_tags: false,
        }
    }
}

/// How the schema of a typed answer is sent. The answer is always validated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypedAnswers {
    /// In the request, in the protocol's own form.
    #[default]
    JsonSchema,
    /// In the system prompt; the request asks for any JSON object. For servers without schema support.
    JsonObject,
    /// In the system prompt only: for servers that support neither together with tools.
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
pub(crate) type Shows = Arc<dyn Fn(&Media) -> bool + Send + Sync>;

/// Writes media for a server that expects another form than most.
pub(crate) type MediaPart = Arc<dyn Fn(&Media, &str) -> Option<Value> + Send + Sync>;
