//! The parameters of a request that only this protocol has.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};
use turnwright_core::schema::admit;
use turnwright_core::{Error, ErrorCode};

/// Parameters of a request that only Chat Completions has. A parameter that is not set is chosen by the server.
///
/// Parameters that other protocols have too, such as the temperature, are in
/// [`ModelSettings`](turnwright_core::ModelSettings). Set options on the model
/// ([`ChatCompletionsBuilder::options`](super::ChatCompletionsBuilder::options)), or in the settings of a runner or a
/// turn under the name of this [protocol](super::PROTOCOL). For each parameter, the turn takes precedence over the
/// runner, and the runner over the model.
///
/// ```
/// use serde_json::json;
/// use turnwright_core::{ModelSettings, TurnInput};
/// use turnwright_models::chat_completions::{Options, PROTOCOL};
///
/// let options = Options::new()
///     .service_tier("flex")
///     .extra("provider", json!({ "sort": "throughput" }))?;
/// let input = TurnInput::new("Hello").settings(ModelSettings::new().temperature(0.2).provider(PROTOCOL, options));
/// # Ok::<(), turnwright_core::Error>(())
/// ```
///
/// In JSON, options are an object with the protocol's parameter names. Parameters without a method here are passed on
/// unchanged. `provider_tools` is the list of tools that run at the provider.
#[derive(Clone, Default, PartialEq)]
#[must_use = "options do nothing until a model has them"]
pub struct Options(Map<String, Value>);

/// Fields that are generated from the records and tools of a turn. A second definition of a tool would not be
/// enforced.
const RESERVED: &[&str] = &["messages", "tools", "functions", "function_call"];

/// Parameters that are set by [`ModelSettings`](turnwright_core::ModelSettings), and the methods for them.
const NEUTRAL: &[(&str, &str)] = &[
    ("temperature", "temperature"),
    ("top_p", "top_p"),
    ("max_tokens", "max_output_tokens"),
    ("max_completion_tokens", "max_output_tokens"),
    ("stop", "stop_sequences"),
    ("seed", "seed"),
    ("presence_penalty", "presence_penalty"),
    ("frequency_penalty", "frequency_penalty"),
    ("reasoning_effort", "reasoning_effort"),
    ("tool_choice", "tool_choice"),
    ("parallel_tool_calls", "parallel_tool_calls"),
];

/// Parameters whose values have one type.
const TYPED: &[(&str, Type)] = &[
    ("model", Type::Text),
    ("stream", Type::Bool),
    ("n", Type::Count),
    ("logprobs", Type::Bool),
    ("top_logprobs", Type::Count),
    ("verbosity", Type::Text),
    ("service_tier", Type::Text),
    ("store", Type::Bool),
    ("user", Type::Text),
    ("safety_identifier", Type::Text),
    ("prompt_cache_key", Type::Text),
    ("prompt_cache_retention", Type::Text),
    (PROVIDER_TOOLS, Type::List),
];

/// The list of tools that run at the provider.
const PROVIDER_TOOLS: &str = "provider_tools";

const FUNCTION: &str = "a function is not a provider tool: register a `Tool` with the runner";
const NO_TYPE: &str = "a provider tool must be an object with a `type`";

#[derive(Clone, Copy)]
enum Type {
    Text,
    Bool,
    Count,
    List,
}

impl Type {
    fn fits(self, value: &Value) -> bool {
        match self {
            Type::Text => value.is_string(),
            Type::Bool => value.is_boolean(),
            Type::Count => value.is_u64(),
            Type::List => value.is_array(),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Type::Text => "a string",
            Type::Bool => "a boolean",
            Type::Count => "a non-negative number",
            Type::List => "a list",
        }
    }
}

impl Options {
    /// Creates empty options.
    pub fn new() -> Self {
        Options::default()
    }

    fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Sets the model.
    pub fn model(self, name: impl Into<String>) -> Self {
        self.set("model", name.into())
    }

    /// Sets whether the response is streamed. Default: `true`.
    pub fn stream(self, streams: bool) -> Self {
        self.set("stream", streams)
    }

    /// Sets the stream options. `null` sends none. Default: include the usage.
    pub fn stream_options(self, options: impl Into<Value>) -> Self {
        self.set("stream_options", options)
    }

    /// Sets the logit bias: the likelihood of tokens to appear, by token id.
    pub fn logit_bias(self, bias: impl Into<Value>) -> Self {
        self.set("logit_bias", bias)
    }

    /// Sets whether to return log probabilities of the output tokens.
    pub fn logprobs(self, returned: bool) -> Self {
        self.set("logprobs", returned)
    }

    /// Sets the number of most likely tokens to return at each position, with their log probabilities.
    pub fn top_logprobs(self, tokens: u32) -> Self {
        self.set("top_logprobs", tokens)
    }

    /// Sets the verbosity of the answer: `low`, `medium` or `high`.
    pub fn verbosity(self, verbosity: impl Into<String>) -> Self {
        self.set("verbosity", verbosity.into())
    }

    /// Sets the response format. Set automatically for typed answers.
    pub fn response_format(self, format: impl Into<Value>) -> Self {
        self.set("response_format", format)
    }

    /// Sets the output modalities, such as `text` and `audio`.
    pub fn modalities(self, modalities: impl Into<Value>) -> Self {
        self.set("modalities", modalities)
    }

    /// Sets the voice and format of audio output.
    pub fn audio(self, audio: impl Into<Value>) -> Self {
        self.set("audio", audio)
    }

    /// Sets the predicted output, which speeds up responses that are mostly known in advance.
    pub fn prediction(self, prediction: impl Into<Value>) -> Self {
        self.set("prediction", prediction)
    }

    /// Sets the options for web search.
    pub fn web_search_options(self, options: impl Into<Value>) -> Self {
        self.set("web_search_options", options)
    }

    /// Sets the service tier (processing type) of the request.
    pub fn service_tier(self, tier: impl Into<String>) -> Self {
        self.set("service_tier", tier.into())
    }

    /// Sets whether the provider stores the response.
    pub fn store(self, stores: bool) -> Self {
        self.set("store", stores)
    }

    /// Sets the metadata that the provider stores with the response.
    pub fn metadata(self, metadata: impl Into<Value>) -> Self {
        self.set("metadata", metadata)
    }

    /// Sets a stable, anonymous identifier of the end user.
    pub fn user(self, id: impl Into<String>) -> Self {
        self.set("user", id.into())
    }

    /// Sets a stable, anonymous identifier of the end user for the provider's abuse detection.
    pub fn safety_identifier(self, id: impl Into<String>) -> Self {
        self.set("safety_identifier", id.into())
    }

    /// Sets the prompt cache key, which groups requests with a common prefix.
    pub fn prompt_cache_key(self, key: impl Into<String>) -> Self {
        self.set("prompt_cache_key", key.into())
    }

    /// Sets how long the provider retains the prompt cache.
    pub fn prompt_cache_retention(self, retention: impl Into<String>) -> Self {
        self.set("prompt_cache_retention", retention.into())
    }

    /// Sets a parameter that has no method.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` if the parameter is generated from the records and tools of the turn, belongs to
    /// [`ModelSettings`](turnwright_core::ModelSettings), has a value of the wrong type, or its value is rejected by
    /// [`admit`].
    pub fn extra(self, name: impl Into<String>, value: impl Into<Value>) -> Result<Self, Error> {
        let name = name.into();
        let value = admitted(&name, value.into())?;
        let options = self.set(&name, value);
        options.check()?;
        Ok(options)
    }

    /// Adds a tool that runs at the provider, such as `{"type": "browser_search"}`, after the turn's tools. Functions
    /// are rejected: they run locally, as a [`Tool`](turnwright_core::Tool).
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` for a function, or a value that is not an object with a `type`.
    pub fn provider_tool(self, tool: impl Into<Value>) -> Result<Self, Error> {
        let tool = admitted(PROVIDER_TOOLS, tool.into())?;
        let mut tools = self.provider_tools().to_vec();
        tools.push(tool);
        let options = self.set(PROVIDER_TOOLS, tools);
        options.check()?;
        Ok(options)
    }

    /// Fills parameters that are not set from `lower`. A `null` in `self` removes the parameter.
    pub fn over(mut self, lower: &Options) -> Self {
        for (name, value) in &lower.0 {
            if !self.0.contains_key(name) {
                self.0.insert(name.clone(), value.clone());
            }
        }
        self
    }

    /// Reads the options in the settings of a runner or a turn.
    pub(super) fn read(fields: &Map<String, Value>) -> Result<Self, Error> {
        let options = Options(fields.clone());
        options.check()?;
        Ok(options)
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        for (name, value) in &self.0 {
            let wrong = check_field(name, value);
            if let Err(why) = wrong {
                let protocol = super::PROTOCOL;
                let message = format!("invalid `{protocol}` options: {why}");
                return Err(Error::new(ErrorCode::INVALID_MODEL_CONFIG, message));
            }
        }
        Ok(())
    }

    /// Returns the parameters of the request. `null` values are omitted.
    pub(super) fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        let fields = self.0.iter().map(|(name, value)| (name.as_str(), value));
        fields.filter(|(name, value)| !value.is_null() && *name != PROVIDER_TOOLS)
    }

    /// Returns `true` if a parameter is set, including to `null`.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(super) fn provider_tools(&self) -> &[Value] {
        let tools = self.0.get(PROVIDER_TOOLS).and_then(Value::as_array);
        tools.map_or(&[], Vec::as_slice)
    }

    pub(super) fn model_name(&self) -> Option<&str> {
        let name = self.0.get("model")?.as_str()?;
        (!name.trim().is_empty()).then_some(name)
    }

    pub(super) fn streams(&self) -> bool {
        let streams = self.0.get("stream").and_then(Value::as_bool);
        streams.unwrap_or(true)
    }
}

/// Returns why a parameter cannot be set here.
fn check_field(name: &str, value: &Value) -> Result<(), String> {
    if RESERVED.contains(&name) {
        return Err(format!(
            "`{name}` is generated from the records and tools of the turn; put provider tools into `{PROVIDER_TOOLS}`"
        ));
    }
    if let Some((_, method)) = NEUTRAL.iter().find(|(neutral, _)| *neutral == name) {
        return Err(format!(
            "`{name}` is not specific to this protocol: set it with `ModelSettings::{method}`"
        ));
    }
    let typed = TYPED.iter().find(|(typed, _)| *typed == name);
    if let Some((_, kind)) = typed.filter(|(_, kind)| !value.is_null() && !kind.fits(value)) {
        return Err(format!("`{name}` must be {}", kind.name()));
    }
    if name == PROVIDER_TOOLS {
        let mut tools = value.as_array().into_iter().flatten();
        return tools.try_for_each(check_provider_tool);
    }
    Ok(())
}

fn check_provider_tool(tool: &Value) -> Result<(), String> {
    let kind = tool.get("type").and_then(Value::as_str);
    let kind = kind.ok_or_else(|| NO_TYPE.to_owned())?;
    match kind.eq_ignore_ascii_case("function") || tool.get("function").is_some() {
        true => Err(FUNCTION.to_owned()),
        false => Ok(()),
    }
}

/// Checks that a value can be sent.
fn admitted(name: &str, value: Value) -> Result<Value, Error> {
    admit(value).map_err(|why| {
        let message = format!("{} {why}", Value::from(name));
        Error::new(ErrorCode::INVALID_MODEL_CONFIG, message)
    })
}

impl From<Options> for Value {
    fn from(options: Options) -> Value {
        Value::Object(options.0)
    }
}

impl Serialize for Options {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Options {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let options = Options(Map::deserialize(deserializer)?);
        options.check().map_err(serde::de::Error::custom)?;
        Ok(options)
    }
}

impl fmt::Debug for Options {
    /// Shows only the names: values can be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.0.keys().collect();
        f.debug_tuple("Options").field(&names).finish()
    }
}
