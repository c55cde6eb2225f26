//! The parameters of one request: the settings of the turn in the words of this protocol, and its options.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};
use turnwright_core::settings::ToolChoice;
use turnwright_core::{DispatchContext, Error, ErrorCode, ModelSettings};

use super::options::Options;
use super::{ChatCompletions, PROTOCOL};

/// The parameters of one request.
pub(super) struct Parameters {
    pub(super) settings: ModelSettings,
    pub(super) options: Arc<Options>,
}

impl ChatCompletions {
    /// The parameters of the next request of a turn: its settings over those of this model.
    pub(super) fn parameters(&self, ctx: &DispatchContext) -> Result<Parameters, Error> {
        let settings = ctx.settings_over(&self.settings);
        let options = match settings.provider_options(PROTOCOL) {
            Some(fields) => Arc::new(Options::read(fields)?.over(&self.options)),
            None => Arc::clone(&self.options),
        };
        match options.model_name() {
            Some(_) => Ok(Parameters { settings, options }),
            None => Err(no_model()),
        }
    }
}

/// The error for a request without a model.
pub(super) fn no_model() -> Error {
    let message = "no model configured: set OPENAI_MODEL for `from_env`, or call `.model(\"…\")`";
    Error::new(ErrorCode::INVALID_MODEL_CONFIG, message)
}

impl Parameters {
    /// The fields of the request: the options, then the settings, always in the same order.
    pub(super) fn fields(&self, max_completion_tokens: bool) -> Vec<(&str, Cow<'_, Value>)> {
        let options = self.options.fields();
        let mut fields: Vec<_> = options
            .map(|(name, value)| (name, Cow::Borrowed(value)))
            .collect();
        let max_tokens = match max_completion_tokens {
            true => "max_completion_tokens",
            false => "max_tokens",
        };
        let settings = &self.settings;
        let effort = settings.reasoning_effort.as_ref();
        let words = [
            ("temperature", settings.temperature.map(Value::from)),
            ("top_p", settings.top_p.map(Value::from)),
            (max_tokens, settings.max_output_tokens.map(Value::from)),
            ("stop", settings.stop_sequences.clone().map(Value::from)),
            ("seed", settings.seed.map(Value::from)),
            (
                "presence_penalty",
                settings.presence_penalty.map(Value::from),
            ),
            (
                "frequency_penalty",
                settings.frequency_penalty.map(Value::from),
            ),
            (
                "reasoning_effort",
                effort.map(|effort| effort.as_str().into()),
            ),
            (
                "tool_choice",
                settings.tool_choice.as_ref().map(tool_choice),
            ),
            (
                "parallel_tool_calls",
                settings.parallel_tool_calls.map(Value::from),
            ),
        ];
        let set = words
            .into_iter()
            .filter_map(|(name, value)| Some((name, Cow::Owned(value?))));
        fields.extend(set);
        fields
    }

    pub(super) fn model_name(&self) -> &str {
        self.options.model_name().unwrap_or_default()
    }

    /// The maximum number of tokens in the response, 0 if it is not set.
    pub(super) fn max_output(&self) -> u64 {
        self.settings.max_output_tokens.unwrap_or(0)
    }
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Tool(name) => json!({ "type": "function", "function": { "name": name } }),
        ToolChoice::Required => "required".into(),
        ToolChoice::None => "none".into(),
        _ => "auto".into(),
    }
}
