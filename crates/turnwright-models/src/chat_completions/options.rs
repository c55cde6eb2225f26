//! The parameters of a request.

use std::fmt;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use turnwright_core::schema::admit;
use turnwright_core::{Error, ErrorCode};

/// Generates the fields, their setters and the merge from one table.
macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident: $type:ty, $given:ty;)+) => {
        /// The parameters of a request. The server chooses those that are not set.
        ///
        /// There are three levels: the [builder](super::ChatCompletionsBuilder::options), overridden by an
        /// [executor](super::ChatCompletions::executor), overridden by a turn's stash under
        /// [`STASH_KEY`](super::STASH_KEY). Other parameters of the protocol go through [`Options::extra`].
        ///
        /// ```
        /// use turnwright_models::chat_completions::Options;
        ///
        /// let options = Options::new()
        ///     .temperature(0.2)
        ///     .max_completion_tokens(500)
        ///     .extra("provider", serde_json::json!({ "sort": "throughput" }))?;
        /// # Ok::<(), turnwright_core::Error>(())
        /// ```
        #[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        #[must_use = "options do nothing until an executor has them"]
        pub struct Options {
            $(
                #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
                pub(super) $name: Option<$type>,
            )+
            /// Tools that run at the provider.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            pub(super) provider_tools: Vec<Value>,
            #[serde(skip_serializing_if = "Map::is_empty")]
            extra: Map<String, Value>,
        }

        impl Options {
            $(
                $(#[$doc])*
                pub fn $name(mut self, value: $given) -> Self {
                    self.$name = Some(value.into());
                    self
                }
            )+

            /// Fills parameters that are not set from `others`.
            pub fn over(mut self, others: &Options) -> Self {
                $(if self.$name.is_none() {
                    self.$name.clone_from(&others.$name);
                })+
                if self.provider_tools.is_empty() {
                    self.provider_tools.clone_from(&others.provider_tools);
                }
                for (name, value) in &others.extra {
                    if !self.extra.contains_key(name) {
                        self.extra.insert(name.clone(), value.clone());
                    }
                }
                self
            }

            /// The names of the parameters.
            const NAMES: &[&str] = &[$(stringify!($name),)+];

            /// The parameters of the request, in the order of the table, `extra` last. `null` is left out.
            pub(super) fn fields(&self) -> Vec<(&str, Value)> {
                let mut fields = Vec::new();
                $(if let Some(value) = &self.$name {
                    fields.push((stringify!($name), Value::from(value.clone())));
                })+
                fields.extend(self.extra.iter().map(|(name, value)| (name.as_str(), value.clone())));
                fields.retain(|(_, value)| !value.is_null());
                fields
            }
        }
    };
}

parameters! {
    /// Model to use.
    model: String, impl Into<String>;
    /// Whether the response is streamed. Default: `true`.
    stream: bool, bool;
    /// Options of the stream. Default: include the usage. `null` sends none.
    stream_options: Value, impl Into<Value>;
    /// Sampling temperature.
    temperature: f64, f64;
    /// Nucleus sampling: the probability mass of the tokens to sample from.
    top_p: f64, f64;
    /// Maximum number of tokens in the answer.
    max_tokens: u64, u64;
    /// Maximum number of tokens in the answer, including reasoning.
    max_completion_tokens: u64, u64;
    /// Number of answers. Only the first is used.
    n: u32, u32;
    /// Stop sequences: a string or a list of strings.
    stop: Value, impl Into<Value>;
    /// Random seed, for reproducible sampling where the server supports it.
    seed: i64, i64;
    /// Penalty for tokens that are already present.
    presence_penalty: f64, f64;
    /// Penalty for frequent tokens.
    frequency_penalty: f64, f64;
    /// Bias of tokens, by token id.
    logit_bias: Value, impl Into<Value>;
    /// Whether to return log probabilities.
    logprobs: bool, bool;
    /// Number of most likely tokens to return at each position.
    top_logprobs: u32, u32;
    /// Reasoning effort: `low`, `medium`, `high` or another value that the server knows.
    reasoning_effort: String, impl Into<String>;
    /// Verbosity of the answer: `low`, `medium`, `high`.
    verbosity: String, impl Into<String>;
    /// Which tools the model may call: `auto`, `none`, `required`, or one by name. Sent only with tools.
    tool_choice: Value, impl Into<Value>;
    /// Whether the model may make several calls at once. Sent only with tools.
    parallel_tool_calls: bool, bool;
    /// Format of the answer. Set automatically for typed answers.
    response_format: Value, impl Into<Value>;
    /// Output modalities, such as `text` and `audio`.
    modalities: Value, impl Into<Value>;
    /// Voice and format of audio output.
    audio: Value, impl Into<Value>;
    /// Predicted output.
    prediction: Value, impl Into<Value>;
    /// Options for web search.
    web_search_options: Value, impl Into<Value>;
    /// Service tier.
    service_tier: String, impl Into<String>;
    /// Whether the provider stores the response.
    store: bool, bool;
    /// Metadata to store with the response.
    metadata: Value, impl Into<Value>;
    /// Anonymous identifier of the end user.
    user: String, impl Into<String>;
    /// Anonymous identifier of the end user for the provider's safety checks.
    safety_identifier: String, impl Into<String>;
    /// Key of the prompt cache.
    prompt_cache_key: String, impl Into<String>;
    /// Retention of the prompt cache.
    prompt_cache_retention: String, impl Into<String>;
}

/// A parameter that is present. `null` is a value of parameters of any type: it sends nothing.
fn present<'de, T: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(T::deserialize(Value::Null).ok()),
        value => T::deserialize(value).map(Some).map_err(D::Error::custom),
    }
}

const FUNCTION: &str = "a function is no tool of the provider's: give the runner a `Tool`";
const NO_TYPE: &str = "a tool of the provider's is an object with a `type`";

/// Fields that the adapter writes itself. A second tool definition would not be enforced.
const RESERVED: &[&str] = &["messages", "tools", "functions", "function_call"];

impl Options {
    /// Creates empty options.
    pub fn new() -> Self {
        Options::default()
    }

    /// Sets a parameter that has no method of its own.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` if the parameter has its own method, is written by the adapter, or [`admit`] rejects its value.
    pub fn extra(
        mut self,
        name: impl Into<String>,
        value: impl Into<Value>,
    ) -> Result<Self, Error> {
        let name = name.into();
        let value = admitted(&name, value.into())?;
        self.extra.insert(name, value);
        self.check()?;
        Ok(self)
    }

    /// Adds a tool that runs at the provider, such as `{"type": "browser_search"}`, after the turn's tools. Functions are
    /// rejected: they run here, as a [`Tool`](turnwright_core::Tool).
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` for a function, or a value that is no object with a `type`.
    pub fn provider_tool(mut self, tool: impl Into<Value>) -> Result<Self, Error> {
        let tool = admitted("provider_tools", tool.into())?;
        self.provider_tools.push(tool);
        self.check()?;
        Ok(self)
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let invalid = |message: String| Err(Error::new(ErrorCode::InvalidModelConfig, message));
        for name in self.extra.keys() {
            if RESERVED.contains(&name.as_str()) {
                return invalid(format!(
                    "`{name}` cannot be passed through: the records and tools of the turn say it; a tool of the provider's own goes into `provider_tools`"
                ));
            }
            if Options::NAMES.contains(&name.as_str()) {
                return invalid(format!(
                    "`{name}` is a parameter of its own: set it beside `extra`"
                ));
            }
        }
        for tool in &self.provider_tools {
            match tool.get("type").and_then(Value::as_str) {
                Some(kind)
                    if kind.eq_ignore_ascii_case("function") || tool.get("function").is_some() =>
                {
                    return invalid(FUNCTION.to_owned());
                }
                Some(_) => {}
                None => {
                    return invalid(NO_TYPE.to_owned());
                }
            }
        }
        Ok(())
    }

    /// Reads the options of a stash.
    pub(super) fn read(value: &Value) -> Result<Self, Error> {
        let options: Options = Options::deserialize(value).map_err(|error| {
            let which = invalid_field(value).unwrap_or_default();
            // It quotes the value, which can be long and is not for logs.
            let error = error.to_string();
            let error: String = error.chars().take(MAX_QUOTED).collect();
            let message = format!(
                "the options in the stash under `{}` cannot be read: {which}{error}; what is no parameter here goes under `extra`",
                super::STASH_KEY
            );
            Error::new(ErrorCode::InvalidModelConfig, message)
        })?;
        options.check()?;
        Ok(options)
    }

    pub(super) fn model_name(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub(super) fn streams(&self) -> bool {
        self.stream.unwrap_or(true)
    }

    /// The maximum number of tokens in the answer, 0 if it is not set.
    pub(super) fn max_output(&self) -> u64 {
        self.max_completion_tokens.or(self.max_tokens).unwrap_or(0)
    }
}

/// Checks that a value can be sent.
fn admitted(name: &str, value: Value) -> Result<Value, Error> {
    admit(value).map_err(|why| {
        let message = format!("{} {why}", Value::from(name));
        Error::new(ErrorCode::InvalidModelConfig, message)
    })
}

/// The most characters of an error about options.
const MAX_QUOTED: usize = 200;

/// The first field that is invalid by itself.
fn invalid_field(options: &Value) -> Option<String> {
    let fields = options.as_object()?;
    let alone = |(name, value): &(&String, &Value)| {
        let one = Map::from_iter([(String::clone(name), Value::clone(value))]);
        Options::deserialize(Value::from(one)).is_err()
    };
    let (name, _) = fields.iter().find(alone)?;
    Some(format!("{}: ", Value::from(name.as_str())))
}

impl fmt::Debug for Options {
    /// Shows only the names: `extra` can hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.fields();
        let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        f.debug_tuple("Options").field(&names).finish()
    }
}
