//! Model settings that are independent of the protocol.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::choice::{ReasoningEffort, ToolChoice};
use crate::error::{Error, ErrorCode};
use crate::validate::Violations;

/// Settings of a model, with the same names for every protocol.
///
/// A field that is not set leaves the choice to the next level: a turn ([`TurnInput::settings`](crate::TurnInput::settings))
/// takes precedence over the runner ([`TurnRunnerBuilder::settings`](crate::runner::TurnRunnerBuilder::settings)), the runner
/// over the model's own settings, and those over the server's defaults.
///
/// Parameters that only one protocol has go into [`provider`](Self::provider).
///
/// ```
/// use serde_json::json;
/// use turnwright_core::ModelSettings;
/// use turnwright_core::settings::ToolChoice;
///
/// let of_runner = ModelSettings::new().temperature(0.2).max_output_tokens(500);
/// let of_turn = ModelSettings::new()
///     .temperature(0.9)
///     .tool_choice(ToolChoice::Required)
///     .provider("chat_completions", json!({ "service_tier": "flex" }));
/// let merged = of_turn.over(&of_runner);
/// assert_eq!((merged.temperature, merged.max_output_tokens), (Some(0.9), Some(500)));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[must_use = "settings do nothing until a runner, a turn or a model has them"]
#[non_exhaustive]
pub struct ModelSettings {
    /// Sampling temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Nucleus sampling: the probability mass of the tokens to sample from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    /// Maximum number of tokens in one response, reasoning included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    /// Sequences at which the model stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_sequences: Option<Vec<String>>,
    /// Random seed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<i64>,
    /// Penalty for tokens that are already present.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    /// Penalty for frequent tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    /// How much the model reasons before it answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Whether the model may make several calls in one response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_tool_calls: Option<bool>,
    /// Which tools the model may call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<ToolChoice>,
    /// Options of one protocol, by its name.
    #[serde(skip_serializing_if = "Provider::is_empty")]
    provider: Provider,
}

impl ModelSettings {
    /// Creates empty settings.
    pub fn new() -> Self {
        ModelSettings::default()
    }

    /// Sets the sampling temperature, from 0 to 2. Some models accept only values up to 1.
    pub fn temperature(mut self, temperature: f64) -> Self {
        self.temperature = Some(temperature);
        self
    }

    /// Sets the probability mass of the tokens to sample from (nucleus sampling), from 0 to 1.
    pub fn top_p(mut self, probability: f64) -> Self {
        self.top_p = Some(probability);
        self
    }

    /// Sets the maximum number of tokens in one response, including reasoning. To limit the whole turn, see
    /// [`Budget::tokens`](super::Budget::tokens).
    #[doc(alias("max_tokens", "max_completion_tokens", "maxOutputTokens"))]
    pub fn max_output_tokens(mut self, tokens: u64) -> Self {
        self.max_output_tokens = Some(tokens);
        self
    }

    /// Sets the sequences at which the model stops. They replace those of lower levels.
    pub fn stop_sequences<S: Into<String>>(mut self, texts: impl IntoIterator<Item = S>) -> Self {
        self.stop_sequences = Some(texts.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the random seed, for reproducible sampling where the server supports it.
    pub fn seed(mut self, seed: i64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Sets the penalty for tokens that are already present, from -2 to 2.
    pub fn presence_penalty(mut self, penalty: f64) -> Self {
        self.presence_penalty = Some(penalty);
        self
    }

    /// Sets the penalty for frequent tokens, from -2 to 2.
    pub fn frequency_penalty(mut self, penalty: f64) -> Self {
        self.frequency_penalty = Some(penalty);
        self
    }

    /// Sets how much the model reasons before it answers.
    pub fn reasoning_effort(mut self, effort: ReasoningEffort) -> Self {
        self.reasoning_effort = Some(effort);
        self
    }

    /// Sets whether the model may make several calls in one response.
    pub fn parallel_tool_calls(mut self, allowed: bool) -> Self {
        self.parallel_tool_calls = Some(allowed);
        self
    }

    /// Sets which tools the model may call.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = Some(choice);
        self
    }

    /// Sets options that only one protocol has, as a JSON object. Only models of that protocol read them. They reject options
    /// that they set themselves, such as the messages and the tools.
    ///
    /// Levels are merged by key. `null` removes the value of a lower level.
    #[doc(alias("additional_params", "providerOptions"))]
    pub fn provider(mut self, protocol: impl Into<String>, options: impl Into<Value>) -> Self {
        let mut upper = BTreeMap::from([(protocol.into(), options.into())]);
        merge(&mut upper, &self.provider.0);
        self.provider = Provider(upper);
        self
    }

    /// Returns the options of one protocol.
    #[must_use]
    pub fn provider_options(&self, protocol: &str) -> Option<&Map<String, Value>> {
        self.provider.0.get(protocol)?.as_object()
    }

    /// Takes the fields that are not set from `lower`.
    pub fn over(self, lower: &ModelSettings) -> Self {
        let ModelSettings { mut provider, .. } = self;
        merge(&mut provider.0, &lower.provider.0);
        ModelSettings {
            temperature: self.temperature.or(lower.temperature),
            top_p: self.top_p.or(lower.top_p),
            max_output_tokens: self.max_output_tokens.or(lower.max_output_tokens),
            stop_sequences: (self.stop_sequences).or_else(|| lower.stop_sequences.clone()),
            seed: self.seed.or(lower.seed),
            presence_penalty: self.presence_penalty.or(lower.presence_penalty),
            frequency_penalty: self.frequency_penalty.or(lower.frequency_penalty),
            reasoning_effort: (self.reasoning_effort).or_else(|| lower.reasoning_effort.clone()),
            parallel_tool_calls: self.parallel_tool_calls.or(lower.parallel_tool_calls),
            tool_choice: self.tool_choice.or_else(|| lower.tool_choice.clone()),
            provider,
        }
    }

    /// Checks that the values are valid. Runners, turns and models do this themselves.
    ///
    /// # Errors
    /// Returns `E_INVALID_MODEL_CONFIG`, which lists all invalid fields.
    pub fn validate(&self) -> Result<(), Error> {
        let mut wrong = Violations::default();
        self.check(&mut wrong);
        wrong.finish(ErrorCode::INVALID_MODEL_CONFIG, "model configuration")
    }

    pub(crate) fn check(&self, wrong: &mut Violations) {
        let ranges = [
            ("temperature", self.temperature, 0.0, 2.0),
            ("top_p", self.top_p, 0.0, 1.0),
            ("presence_penalty", self.presence_penalty, -2.0, 2.0),
            ("frequency_penalty", self.frequency_penalty, -2.0, 2.0),
        ];
        for (name, value, least, most) in ranges {
            let Some(value) = value else { continue };
            let fits = (least..=most).contains(&value);
            let why = format!("must be from {least} to {most} (got {value})");
            wrong.check(&format!("settings.{name}"), fits, &why);
        }
        let room = self.max_output_tokens != Some(0);
        let why = "must be at least 1 (got 0)";
        wrong.check("settings.max_output_tokens", room, why);
        let stops = self.stop_sequences.iter().flatten();
        let why = "a stop sequence must not be empty";
        wrong.check(
            "settings.stop_sequences",
            stops.into_iter().all(|text| !text.is_empty()),
            why,
        );
        let named = !matches!(&self.tool_choice, Some(ToolChoice::Tool(name)) if name.is_empty());
        wrong.check(
            "settings.tool_choice",
            named,
            "the name of the tool must not be empty",
        );
        for (protocol, options) in &self.provider.0 {
            let why = format!("the options of {protocol:?} must be a JSON object");
            wrong.check("settings.provider", options.is_object(), &why);
        }
    }
}

/// Adds the options of `lower` that `upper` does not have.
fn merge(upper: &mut BTreeMap<String, Value>, lower: &BTreeMap<String, Value>) {
    for (protocol, below) in lower {
        match (upper.get_mut(protocol), below) {
            (Some(Value::Object(above)), Value::Object(below)) => {
                for (name, value) in below {
                    if !above.contains_key(name) {
                        above.insert(name.clone(), value.clone());
                    }
                }
            }
            (Some(_), _) => {}
            (None, below) => drop(upper.insert(protocol.clone(), below.clone())),
        }
    }
}

/// Options of providers. `Debug` shows only their names: their values can be secrets.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
struct Provider(BTreeMap<String, Value>);

impl Provider {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = |options: &Value| -> Vec<String> {
            let fields = options.as_object().into_iter().flatten();
            fields.map(|(name, _)| name.clone()).collect()
        };
        let names = self.0.iter().map(|(key, options)| (key, fields(options)));
        f.debug_map().entries(names).finish()
    }
}
