//! The usage of one model response.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::{FinishReason, Usage};

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

fn as_millis<S: Serializer>(time: &Option<Duration>, to: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.as_secs_f64() * 1000.0).serialize(to)
}
