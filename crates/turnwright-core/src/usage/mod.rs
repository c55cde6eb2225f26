//! Token usage.

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::{Add, AddAssign};
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::settings::ModelSettings;

/// The token usage of one request or of a whole turn.
///
/// ```
/// use turnwright_core::Usage;
///
/// let mut usage = Usage::tokens(1_000, 50).cache_written(1_000);
/// usage += Usage::tokens(1_100, 20).cached(1_000);
/// assert_eq!(usage.total_tokens(), 2_170);
/// assert_eq!((usage.requests, usage.cached_input_tokens, usage.cache_write_tokens), (2, 1_000, 1_000));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Usage {
    /// Number of requests to the model.
    pub requests: u64,
    /// Input tokens, including cached ones.
    pub input_tokens: u64,
    /// Input tokens that were served from the provider's prompt cache.
    pub cached_input_tokens: u64,
    /// Input tokens that were written to the provider's prompt cache. Part of `input_tokens`.
    pub cache_write_tokens: u64,
    /// Output tokens, including reasoning.
    pub output_tokens: u64,
    /// Output tokens used for reasoning.
    pub reasoning_tokens: u64,
}

impl Usage {
    /// Creates the usage of one request.
    #[must_use]
    pub const fn tokens(input: u64, output: u64) -> Self {
        Usage {
            requests: 1,
            input_tokens: input,
            cached_input_tokens: 0,
            cache_write_tokens: 0,
            output_tokens: output,
            reasoning_tokens: 0,
        }
    }

    /// Sets the number of cached input tokens.
    #[must_use]
    pub const fn cached(mut self, tokens: u64) -> Self {
        self.cached_input_tokens = tokens;
        self
    }

    /// Sets the number of input tokens that were written to the prompt cache.
    #[must_use]
    pub const fn cache_written(mut self, tokens: u64) -> Self {
        self.cache_write_tokens = tokens;
        self
    }

    /// Sets the number of reasoning tokens.
    #[must_use]
    pub const fn reasoning(mut self, tokens: u64) -> Self {
        self.reasoning_tokens = tokens;
        self
    }

    /// Returns the sum of input and output tokens.
    #[must_use]
    pub const fn total_tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

impl Add for Usage {
    type Output = Usage;

    /// Saturates, because a provider may report arbitrary numbers.
    fn add(self, more: Usage) -> Usage {
        Usage {
            requests: self.requests.saturating_add(more.requests),
            input_tokens: self.input_tokens.saturating_add(more.input_tokens),
            cached_input_tokens: self
                .cached_input_tokens
                .saturating_add(more.cached_input_tokens),
            cache_write_tokens: self
                .cache_write_tokens
                .saturating_add(more.cache_write_tokens),
            output_tokens: self.output_tokens.saturating_add(more.output_tokens),
            reasoning_tokens: self.reasoning_tokens.saturating_add(more.reasoning_tokens),
        }
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, more: Usage) {
        *self = *self + more;
    }
}

/// A request to a model: what is asked, and with which settings. For traces and metrics.
///
/// Executors report it with [`Reporter::request`](crate::dispatch::Reporter::request) before they send it.
///
/// ```
/// use turnwright_core::ModelSettings;
/// use turnwright_core::dispatch::ModelRequest;
///
/// let mut request = ModelRequest::default();
/// request.model = Some("gpt-5".into());
/// request.settings = ModelSettings::new().temperature(0.2);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The provider. Default: [`Executor::name`](crate::dispatch::Executor::name).
    pub provider: Option<Arc<str>>,
    /// The model. Default: [`Executor::model`](crate::dispatch::Executor::model).
    pub model: Option<Arc<str>>,
    /// The host and the port of the server. Default: [`Executor::server`](crate::dispatch::Executor::server).
    pub server: Option<(Arc<str>, u16)>,
    /// Whether the response is streamed, if it is known.
    pub streams: Option<bool>,
    /// The settings that are sent.
    pub settings: ModelSettings,
}

/// The usage of one model response: tokens, model, finish reason and durations.
///
/// Executors report it with [`Reporter::usage`](crate::dispatch::Reporter::usage). A [`Usage`] alone converts into it.
///
/// ```
/// use std::time::Duration;
/// use turnwright_core::Usage;
/// use turnwright_core::dispatch::{FinishReason, ModelUsage};
///
/// let usage = ModelUsage::new(Usage::tokens(812, 40))
///     .model("gpt-5")
///     .finish_reason(FinishReason::Stop)
///     .time_to_first_token(Duration::from_millis(380))
///     .duration(Duration::from_millis(1_900));
/// assert_eq!(usage.tokens.output_tokens, 40);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ModelUsage {
    /// The model that answered, if it is known.
    pub model: Option<Arc<str>>,
    /// The server's id for the response, if it is known. Not part of events.
    #[serde(skip)]
    pub response_id: Option<Arc<str>>,
    /// Why the model stopped, if it is known.
    #[schemars(with = "Option<String>")]
    pub finish_reason: Option<FinishReason>,
    /// The tokens of this response.
    #[serde(rename = "usage")]
    pub tokens: Usage,
    /// The time from the request to the first piece of the response.
    #[serde(rename = "timeToFirstTokenMs", serialize_with = "as_millis")]
    #[schemars(with = "Option<f64>")]
    pub time_to_first_token: Option<Duration>,
    /// The time from the request to the end of the response.
    #[serde(rename = "durationMs", serialize_with = "as_millis")]
    #[schemars(with = "Option<f64>")]
    pub duration: Option<Duration>,
}

impl ModelUsage {
    /// Creates the usage of a response of which only the tokens are known.
    #[must_use]
    pub const fn new(tokens: Usage) -> Self {
        ModelUsage {
            model: None,
            response_id: None,
            finish_reason: None,
            tokens,
            time_to_first_token: None,
            duration: None,
        }
    }

    /// Sets the model that answered.
    #[must_use]
    pub fn model(mut self, model: impl Into<Arc<str>>) -> Self {
        self.model = Some(model.into());
        self
    }

    /// Sets why the model stopped.
    #[must_use]
    pub fn finish_reason(mut self, reason: FinishReason) -> Self {
        self.finish_reason = Some(reason);
        self
    }

    /// Sets the time from the request to the first piece of the response.
    #[must_use]
    pub const fn time_to_first_token(mut self, time: Duration) -> Self {
        self.time_to_first_token = Some(time);
        self
    }

    /// Sets the time from the request to the end of the response.
    #[must_use]
    pub const fn duration(mut self, time: Duration) -> Self {
        self.duration = Some(time);
        self
    }
}

impl From<Usage> for ModelUsage {
    fn from(tokens: Usage) -> Self {
        ModelUsage::new(tokens)
    }
}

pub(crate) fn as_millis<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64() * 1000.0).serialize(to)
}

/// Why a model stopped, independent of the protocol. Serialised as text.
///
/// ```
/// use turnwright_core::dispatch::FinishReason;
///
/// assert_eq!(FinishReason::ToolCalls.as_str(), "tool_calls");
/// assert_eq!(FinishReason::Other("eos_42".into()).as_str(), "eos_42");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FinishReason {
    /// The response is complete: a natural end or a stop sequence.
    Stop,
    /// The response is complete, and the model waits for the results of its tool calls.
    ToolCalls,
    /// The response reached the token limit or the end of the context window.
    Length,
    /// A filter of the provider stopped the response.
    ContentFilter,
    /// A reason that has no neutral name, as the provider wrote it.
    Other(Arc<str>),
}

impl FinishReason {
    /// Returns the name under which it is serialised.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            FinishReason::Stop => "stop",
            FinishReason::ToolCalls => "tool_calls",
            FinishReason::Length => "length",
            FinishReason::ContentFilter => "content_filter",
            FinishReason::Other(reason) => reason,
        }
    }
}

impl fmt::Display for FinishReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for FinishReason {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}
