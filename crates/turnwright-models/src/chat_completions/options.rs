//! What a request asks for, besides its prompt.

use std::fmt;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use turnwright_core::schema::admit;
use turnwright_core::{Error, ErrorCode};

/// One table makes the parameters, how each is set, and how two sets of them become one.
macro_rules! parameters {
    ($($(#[$doc:meta])* $name:ident: $type:ty, $given:ty;)+) => {
        /// The parameters of a request, each of which may be left out: then the server decides.
        ///
        /// They stand at three levels: those of the [adapter](super::ChatCompletionsBuilder::options), over which count those of
        /// an [executor](super::ChatCompletions::executor), over which count those in a turn's stash under
        /// [`STASH_KEY`](super::STASH_KEY). Whatever the protocol has that is not here goes through [`Options::extra`].
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
        #[must_use = "options do nothing until a battery has them"]
        pub struct Options {
            $(
                #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "said")]
                $name: Option<$type>,
            )+
            /// Tools that run at the provider.
            #[serde(skip_serializing_if = "Vec::is_empty")]
            provider_tools: Vec<Value>,
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

            /// These over others: what these leave out, the others say.
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

            /// The parameters as they stand in a request, in the order of the table, those that were passed through last. What is
            /// `null` is left out.
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
    /// Which model.
    model: String, impl Into<String>;
    /// Whether the response comes piece by piece. Yes unless told.
    stream: bool, bool;
    /// What a stream brings besides. It is told to bring the usage unless something else is said here; `null` sends nothing.
    stream_options: Value, impl Into<Value>;
    /// How much is left to chance.
    temperature: f64, f64;
    /// The share of the likeliest tokens that are chosen from.
    top_p: f64, f64;
    /// The most tokens that the model may write.
    max_tokens: u64, u64;
    /// The most tokens that the model may write, its thoughts included.
    max_completion_tokens: u64, u64;
    /// How many answers. The first is taken.
    n: u32, u32;
    /// Texts at which the model stops: a string or a list of them.
    stop: Value, impl Into<Value>;
    /// The same seed gives the same answer, as far as the server can.
    seed: i64, i64;
    /// How far tokens that came before are avoided.
    presence_penalty: f64, f64;
    /// How far tokens that came often are avoided.
    frequency_penalty: f64, f64;
    /// Tokens that are more or less likely, by their number.
    logit_bias: Value, impl Into<Value>;
    /// Whether the likelihood of each token is told.
    logprobs: bool, bool;
    /// For how many tokens at each place.
    top_logprobs: u32, u32;
    /// How much the model is to think: `low`, `medium`, `high` and what else the server knows.
    reasoning_effort: String, impl Into<String>;
    /// How wordy the model is to be: `low`, `medium`, `high`.
    verbosity: String, impl Into<String>;
    /// Whether and which tools are called: `auto`, `none`, `required`, or one by its name. Sent only with tools.
    tool_choice: Value, impl Into<Value>;
    /// Whether several tools may be called at once. Sent only with tools.
    parallel_tool_calls: bool, bool;
    /// The form of the answer. Where a turn asks for an answer of a type it is set by itself.
    response_format: Value, impl Into<Value>;
    /// What the answer may consist of, such as `text` and `audio`.
    modalities: Value, impl Into<Value>;
    /// The voice and format of an answer in audio.
    audio: Value, impl Into<Value>;
    /// What most of the answer is known to be.
    prediction: Value, impl Into<Value>;
    /// What the search on the web is told.
    web_search_options: Value, impl Into<Value>;
    /// Which class of service.
    service_tier: String, impl Into<String>;
    /// Whether the provider keeps the response.
    store: bool, bool;
    /// Your own notes, kept with the response.
    metadata: Value, impl Into<Value>;
    /// Who asks, in a form that says nothing about them.
    user: String, impl Into<String>;
    /// Who asks, in a form that says nothing about them, for the provider's safety checks.
    safety_identifier: String, impl Into<String>;
    /// What finds the same prompt cache again.
    prompt_cache_key: String, impl Into<String>;
    /// How long the prompt cache is kept.
    prompt_cache_retention: String, impl Into<String>;
}

/// A parameter that is there. `null` is one where any JSON may stand: it says that nothing is to be sent.
fn said<'de, T: DeserializeOwned, D: Deserializer<'de>>(from: D) -> Result<Option<T>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(T::deserialize(Value::Null).ok()),
        value => T::deserialize(value).map(Some).map_err(D::Error::custom),
    }
}

/// What the battery writes itself: a second definition would be none that is enforced.
const OURS: &[&str] = &["messages", "tools", "functions", "function_call"];

impl Options {
    /// Nothing said.
    pub fn new() -> Self {
        Options::default()
    }

    /// A parameter that is not known here, passed through as it is.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` for one that is known, that the battery writes itself, or whose value [`admit`] refuses.
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

    /// A tool that runs at the provider, such as `{"type": "browser_search"}`: sent after the turn's tools. Functions are
    /// refused, because they run here, under the contract of a [`Tool`](turnwright_core::Tool).
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` for a function, or what is no object with a `type`.
    pub fn provider_tool(mut self, tool: impl Into<Value>) -> Result<Self, Error> {
        let tool = admitted("provider_tools", tool.into())?;
        self.provider_tools.push(tool);
        self.check()?;
        Ok(self)
    }

    pub(super) fn check(&self) -> Result<(), Error> {
        let wrong = |message: String| Err(Error::new(ErrorCode::InvalidModelConfig, message));
        for name in self.extra.keys() {
            if OURS.contains(&name.as_str()) {
                return wrong(format!(
                    "`{name}` cannot be passed through: the records and tools of the turn say it; a tool of the provider's own goes into `provider_tools`"
                ));
            }
            if Options::NAMES.contains(&name.as_str()) {
                return wrong(format!(
                    "`{name}` is a parameter of its own: set it beside `extra`"
                ));
            }
        }
        for tool in &self.provider_tools {
            match tool.get("type").and_then(Value::as_str) {
                Some(kind)
                    if kind.eq_ignore_ascii_case("function") || tool.get("function").is_some() =>
                {
                    return wrong(
                        "a function is no tool of the provider's: give the runner a `Tool`"
                            .to_owned(),
                    );
                }
                Some(_) => {}
                None => {
                    return wrong("a tool of the provider's is an object with a `type`".to_owned());
                }
            }
        }
        Ok(())
    }

    /// What a stash says.
    pub(super) fn read(value: &Value) -> Result<Self, Error> {
        let options: Options = Options::deserialize(value).map_err(|error| {
            let which = wrong_field(value).unwrap_or_default();
            // It quotes what stands there, which may be long, and is not for logs.
            let error = error.to_string();
            let error: String = error.chars().take(MOST_QUOTED).collect();
            let message = format!(
                "the options in the stash under `{}` cannot be read: {which}{error}; what is no parameter here goes under `extra`",
                super::STASH_KEY
            );
            Error::new(ErrorCode::InvalidModelConfig, message)
        })?;
        options.check()?;
        Ok(options)
    }

    pub(super) fn provider_tools(&self) -> &[Value] {
        &self.provider_tools
    }

    pub(super) fn model_name(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub(super) fn streams(&self) -> bool {
        self.stream.unwrap_or(true)
    }

    pub(super) fn says_stream_options(&self) -> bool {
        self.stream_options.is_some()
    }

    pub(super) fn says_response_format(&self) -> bool {
        self.response_format.is_some()
    }

    /// The most tokens that may be written, if that was said.
    pub(super) fn most_written(&self) -> u64 {
        let told = self.max_completion_tokens.or(self.max_tokens);
        told.unwrap_or(0)
    }
}

/// A value that can be sent.
fn admitted(name: &str, value: Value) -> Result<Value, Error> {
    admit(value).map_err(|why| {
        let message = format!("{} {why}", Value::from(name));
        Error::new(ErrorCode::InvalidModelConfig, message)
    })
}

/// The most of a complaint about options that is shown.
const MOST_QUOTED: usize = 200;

/// The first field that cannot be read by itself.
fn wrong_field(options: &Value) -> Option<String> {
    let fields = options.as_object()?;
    let alone = |(name, value): &(&String, &Value)| {
        let one = Map::from_iter([(String::clone(name), Value::clone(value))]);
        Options::deserialize(Value::from(one)).is_err()
    };
    let (name, _) = fields.iter().find(alone)?;
    Some(format!("{}: ", Value::from(name.as_str())))
}

impl fmt::Debug for Options {
    /// What is passed through may hold secrets: only the names are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.fields();
        let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
        f.debug_tuple("Options").field(&names).finish()
    }
}
