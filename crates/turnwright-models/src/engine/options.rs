//! The parameters of a request that only one protocol has.

use std::fmt;
use std::marker::PhantomData;

use serde_json::{Map, Value};
use turnwright_core::{Error, ErrorCode};

use super::codec::{Codec, Info, OptionType};

/// The list of tools that run at the provider.
pub(crate) const PROVIDER_TOOLS: &str = "provider_tools";

/// The error for a function among the tools that run at the provider.
pub(crate) const FUNCTION: &str =
    "a function is not a provider tool: register a `Tool` with the runner";

/// Returns the type of a tool that runs at the provider.
pub(crate) fn provider_tool_type(tool: &Value) -> Result<&str, &'static str> {
    let kind = tool.get("type").and_then(Value::as_str);
    kind.ok_or("a provider tool must be an object with a `type`")
}

/// Parameters of a request that only one protocol has. A parameter that is not set is chosen by the server.
///
/// Parameters that other protocols have too, such as the temperature, are in
/// [`ModelSettings`](turnwright_core::ModelSettings). Set options on the model
/// ([`ModelBuilder::options`](crate::ModelBuilder::options)), or in the settings of a runner or a turn under the name
/// of the protocol. For each parameter, the turn takes precedence over the runner, and the runner over the model.
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
#[must_use = "options do nothing until a model has them"]
pub struct Options<C> {
    fields: OptionMap,
    codec: PhantomData<fn() -> C>,
}

/// The options of a protocol, by name.
#[derive(Clone, Default, PartialEq)]
pub(crate) struct OptionMap(Map<String, Value>);

impl OptionType {
    /// Returns whether a value has the type, and the name of the type.
    fn check(self, value: &Value) -> (bool, &'static str) {
        match self {
            OptionType::Text => (value.is_string(), "a string"),
            OptionType::Bool => (value.is_boolean(), "a boolean"),
            OptionType::Count => (value.is_u64(), "a non-negative number"),
            OptionType::List => (value.is_array(), "a list"),
        }
    }
}

impl<C> Options<C> {
    /// Creates empty options.
    pub fn new() -> Self {
        Options::default()
    }

    /// Sets a parameter.
    pub(crate) fn set(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.fields.0.insert(name.to_owned(), value.into());
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

    /// Fills parameters that are not set from `lower`. A `null` in `self` removes the parameter.
    pub fn over(mut self, lower: &Options<C>) -> Self {
        self.fields = self.fields.over(&lower.fields);
        self
    }

    pub(super) fn into_map(self) -> OptionMap {
        self.fields
    }
}

impl<C: Codec + Default> Options<C> {
    /// Sets a parameter that has no method.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` if the parameter is generated from the records and tools of the turn, belongs to
    /// [`ModelSettings`](turnwright_core::ModelSettings), or has a value of the wrong type.
    pub fn extra(self, name: impl Into<String>, value: impl Into<Value>) -> Result<Self, Error> {
        let name = name.into();
        let options = self.set(&name, value.into());
        options.fields.check(C::default().info())?;
        Ok(options)
    }

    /// Adds a tool that runs at the provider, such as `{"type": "web_search"}`, after the turn's tools. Functions
    /// are rejected: they run locally, as a [`Tool`](turnwright_core::Tool).
    ///
    /// No policy is asked before it runs. What it returns counts for
    /// [taint](turnwright_core::DispatchContext::taint): search and pages of the web as third-party-public, anything else as
    /// third-party-private.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` for a function, or a value that is not an object.
    pub fn provider_tool(self, tool: impl Into<Value>) -> Result<Self, Error> {
        let tool = tool.into();
        let mut tools = self.fields.provider_tools().to_vec();
        tools.push(tool);
        let options = self.set(PROVIDER_TOOLS, tools);
        options.fields.check(C::default().info())?;
        Ok(options)
    }
}

impl OptionMap {
    /// Reads the options in the settings of a runner or a turn.
    pub(crate) fn read(fields: &Map<String, Value>, info: &Info) -> Result<Self, Error> {
        let options = OptionMap(fields.clone());
        options.check(info)?;
        Ok(options)
    }

    pub(super) fn over(mut self, lower: &OptionMap) -> Self {
        for (name, value) in &lower.0 {
            if !self.0.contains_key(name) {
                self.0.insert(name.clone(), value.clone());
            }
        }
        self
    }

    pub(super) fn check(&self, info: &Info) -> Result<(), Error> {
        for (name, value) in &self.0 {
            if let Err(why) = check_field(name, value, info) {
                let message = format!("invalid `{}` options: {why}", info.name);
                return Err(Error::new(ErrorCode::INVALID_MODEL_CONFIG, message));
            }
        }
        Ok(())
    }

    /// Returns the parameters of the request. `null` values are omitted.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        let fields = self.0.iter().map(|(name, value)| (name.as_str(), value));
        fields.filter(|(name, value)| !value.is_null() && *name != PROVIDER_TOOLS)
    }

    /// Returns a parameter, if it is set and not `null`.
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    /// Returns `true` if a parameter is set, including to `null`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn provider_tools(&self) -> &[Value] {
        let tools = self.0.get(PROVIDER_TOOLS).and_then(Value::as_array);
        tools.map_or(&[], Vec::as_slice)
    }

    pub(crate) fn model_name(&self) -> Option<&str> {
        let name = self.0.get("model")?.as_str()?;
        (!name.trim().is_empty()).then_some(name)
    }

    pub(super) fn streams(&self) -> bool {
        let streams = self.0.get("stream").and_then(Value::as_bool);
        streams.unwrap_or(true)
    }
}

/// Returns why a parameter cannot be set here.
fn check_field(name: &str, value: &Value, info: &Info) -> Result<(), String> {
    if info.reserved.contains(&name) {
        return Err(format!(
            "`{name}` is generated from the records and tools of the turn; put provider tools into `{PROVIDER_TOOLS}`"
        ));
    }
    if let Some((_, method)) = info.neutral.iter().find(|(neutral, _)| *neutral == name) {
        return Err(format!(
            "`{name}` is not specific to this protocol: set it with `ModelSettings::{method}`"
        ));
    }
    let shared = [
        ("model", OptionType::Text),
        ("stream", OptionType::Bool),
        (PROVIDER_TOOLS, OptionType::List),
    ];
    let mut typed = shared.iter().chain(info.typed);
    let typed = typed.find(|(typed, _)| *typed == name && !value.is_null());
    if let Some((false, expected)) = typed.map(|(_, kind)| kind.check(value)) {
        return Err(format!("`{name}` must be {expected}"));
    }
    if name == PROVIDER_TOOLS {
        let mut tools = value.as_array().into_iter().flatten();
        return tools.try_for_each(|tool| Ok((info.check_provider_tool)(tool)?));
    }
    Ok(())
}

impl<C> Clone for Options<C> {
    fn clone(&self) -> Self {
        Options {
            fields: self.fields.clone(),
            codec: PhantomData,
        }
    }
}

impl<C> Default for Options<C> {
    fn default() -> Self {
        Options {
            fields: OptionMap::default(),
            codec: PhantomData,
        }
    }
}

impl<C> PartialEq for Options<C> {
    fn eq(&self, other: &Self) -> bool {
        self.fields == other.fields
    }
}

impl<C> From<Options<C>> for Value {
    fn from(options: Options<C>) -> Value {
        Value::Object(options.fields.0)
    }
}

impl<C> fmt::Debug for Options<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fields.fmt(f)
    }
}

impl fmt::Debug for OptionMap {
    /// Shows only the names: values can be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.0.keys().collect();
        f.debug_tuple("Options").field(&names).finish()
    }
}
