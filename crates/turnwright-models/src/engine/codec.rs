//! What a protocol adds to the engine: how to encode a request, decode a response and classify an error.
//!
//! The engine is not generic over the protocol: `Model<C>` is a thin typed shell around an engine with a boxed codec,
//! so that five protocols do not compile five engines.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use turnwright_core::trust::TrustTier;
use turnwright_core::{Media, ModelSettings, Tool};
use url::Url;

use super::item::Item;
use super::options::OptionMap;
use super::server::{with_ending, with_path};
use super::settings::TypedAnswers;
use super::strict_schema::StrictRules;
use super::wire_message::WireMessage;
use crate::decode::{FrameReader, Framing};

/// A wire protocol. Holds the settings that only this protocol has.
///
/// Public only as a bound: this module is private.
pub trait Codec: fmt::Debug + Send + Sync + 'static {
    /// Returns the constants of the protocol.
    fn info(&self) -> &'static Info;

    /// Returns the value of the environment variable of the base URL as a base URL.
    fn base_url(&self, value: String) -> String {
        value
    }

    /// Returns the URL below a base URL that identifies the server, and to which requests are sent by default.
    fn endpoint(&self, base: &Url) -> Url {
        with_path(base, self.info().path)
    }

    /// Returns the URL of a request.
    fn url(&self, endpoint: &Url, model: &str, streams: bool) -> Url {
        let _ = (model, streams);
        endpoint.clone()
    }

    /// Returns the URL of the list of models, next to the endpoint.
    fn models_url(&self, endpoint: &Url) -> Url {
        with_ending(endpoint, self.info().path, "/models")
    }

    /// Returns a tool in the form of the protocol, with the schema that is enforced.
    fn tool(&self, tool: &Tool) -> Value;

    /// Returns why servers of this protocol reject a request with this tool, with advice.
    fn rejects_tool(&self, tool: &Tool) -> Option<String> {
        let _ = tool;
        None
    }

    /// Returns what tools have to fit, if they are sent in a strict mode.
    fn strict_rules(&self) -> Option<&'static StrictRules> {
        None
    }

    /// Writes one item of the prompt as messages.
    fn write(&self, item: Item<'_>, messages: &mut Vec<WireMessage>);

    /// Writes the body of a request.
    fn body(&self, request: &RequestParts<'_>) -> Encoded;

    /// Creates the reader of one response.
    fn reader(&self) -> Box<dyn FrameReader>;

    /// Classifies an error response.
    fn classify(&self, error: &ErrorBody<'_>) -> ErrorClass;

    /// Returns the quirks that a server with this address has from the start.
    fn quirks_of(&self, endpoint: &Url) -> Quirks {
        let _ = endpoint;
        Quirks::default()
    }
}

/// The type parameter of a model: a protocol, or one that is chosen at run time.
///
/// Public only as a bound: this module is private.
pub trait HasCodec: Send + Sync + 'static {
    /// Returns the protocol.
    fn codec(&self) -> &dyn Codec;

    /// Returns the protocol for a server.
    fn into_codec(self) -> Box<dyn Codec>;
}

impl<C: Codec> HasCodec for C {
    fn codec(&self) -> &dyn Codec {
        self
    }

    fn into_codec(self) -> Box<dyn Codec> {
        Box::new(self)
    }
}

/// The constants of a protocol.
#[derive(Debug)]
pub struct Info {
    /// The name of the protocol: for its options in settings, and for its state in records.
    pub(crate) name: &'static str,
    /// The name of the protocol in messages.
    pub(crate) title: &'static str,
    /// The path of its requests below a base URL.
    pub(crate) path: &'static str,
    /// The variables of the environment.
    pub(crate) environment: Environment,
    /// The provider's own base URL.
    pub(crate) base_url: &'static str,
    /// The name of the provider in traces, if servers of this protocol are of one product wherever they run.
    pub(crate) provider: Option<&'static str>,
    /// The header with the key, and the text before the key.
    pub(crate) key_header: (&'static str, &'static str),
    /// Headers of every request.
    pub(crate) headers: &'static [(&'static str, &'static str)],
    pub(crate) framing: Framing,
    /// Fields of a request that options cannot set, because they are generated from the records and tools of the turn.
    pub(crate) reserved: &'static [&'static str],
    /// Fields of a request that are set by [`ModelSettings`], and the methods for them.
    pub(crate) neutral: &'static [(&'static str, &'static str)],
    /// Options whose values have one type.
    pub(crate) typed: &'static [(&'static str, OptionType)],
    /// How the schema of a typed answer is sent by default.
    pub(crate) typed_answers: TypedAnswers,
    /// Whether results of calls can contain media. Otherwise it follows in a user message.
    pub(crate) media_in_results: bool,
    /// Whether a user message can carry this name of a user. Otherwise the name is part of the text.
    pub(crate) user_names: fn(&str) -> bool,
    /// Whether nothing but usage follows a finish reason, so that a stream without an end mark is complete.
    pub(crate) finish_is_last: bool,
    /// Checks a tool that runs at the provider. A function is not one.
    pub(crate) check_provider_tool: fn(&Value) -> Result<(), &'static str>,
    /// The tiers of what tools of the provider may return for a request without a trace in the response. The second argument is
    /// whether the response is complete.
    pub(crate) unseen_content: fn(&OptionMap, bool) -> Vec<TrustTier>,
    /// Context windows of models, by prefix of their names. The longest match wins.
    pub(crate) windows: &'static [(&'static str, u64)],
    /// Which media servers accept by default.
    pub(crate) accepts: fn(&Media) -> bool,
    /// The names of quirks, by bit.
    pub(crate) quirks: &'static [&'static str],
    /// The token counts that `wire decode` prints.
    pub(crate) counts: &'static [&'static str],
}

/// The environment variables of a protocol.
#[derive(Debug)]
pub(crate) struct Environment {
    /// The variables of the key, first one first. Empty if servers need no key.
    pub(crate) keys: &'static [&'static str],
    pub(crate) base_url: &'static str,
    pub(crate) model: &'static str,
}

/// The type of an option.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OptionType {
    /// A string.
    Text,
    /// A Boolean.
    Bool,
    /// A non-negative integer.
    Count,
    /// A list.
    List,
}

/// The parts of a request.
#[derive(Debug)]
pub struct RequestParts<'a> {
    pub(crate) model: &'a str,
    pub(crate) streams: bool,
    pub(crate) settings: &'a ModelSettings,
    pub(crate) options: &'a OptionMap,
    /// The tools of the turn in the form of the protocol, then those of the provider.
    pub(crate) tools: &'a [Arc<str>],
    /// How many of them are tools of the turn.
    pub(crate) functions: usize,
    /// The schema of a typed answer, if it belongs into the request.
    pub(crate) answer: Option<AnswerSchema<'a>>,
    pub(crate) messages: &'a [&'a WireMessage],
    pub(crate) quirks: Quirks,
}

impl RequestParts<'_> {
    /// Returns about how long the body is.
    pub(crate) fn length(&self) -> usize {
        let tools = self.tools.iter().map(|tool| tool.len() + 1);
        let messages = self.messages.iter().map(|message| message.json.len() + 1);
        tools.chain(messages).sum::<usize>() + 512
    }

    /// Returns the settings that the protocol has parameters for, under their names there, in the order of
    /// [`Info::neutral`].
    pub(crate) fn settings(&self, info: &Info) -> impl Iterator<Item = (&'static str, Value)> {
        let all = info.neutral.iter();
        all.filter_map(|(name, setting)| Some((*name, setting_of(self.settings, setting)?)))
    }

    /// Names the settings that the protocol has no parameter for.
    pub(crate) fn unsupported(&self, info: &Info) -> Option<String> {
        let names = [
            "stop_sequences",
            "seed",
            "presence_penalty",
            "frequency_penalty",
        ];
        let is_sent = |name: &str| info.neutral.iter().any(|(_, setting)| *setting == name);
        let unsent = names
            .iter()
            .filter(|name| !is_sent(name) && setting_of(self.settings, name).is_some());
        let unsent: Vec<String> = unsent.map(|name| format!("`{name}`")).collect();
        (!unsent.is_empty()).then(|| {
            let (title, unsent) = (info.title, unsent.join(", "));
            format!(
                "these settings are not sent, because {title} has no parameter for them: {unsent}"
            )
        })
    }
}

/// Returns the value of a setting that all protocols write alike.
fn setting_of(settings: &ModelSettings, name: &str) -> Option<Value> {
    match name {
        "temperature" => settings.temperature.map(Value::from),
        "top_p" => settings.top_p.map(Value::from),
        "max_output_tokens" => settings.max_output_tokens.map(Value::from),
        "stop_sequences" => settings.stop_sequences.clone().map(Value::from),
        "seed" => settings.seed.map(Value::from),
        "presence_penalty" => settings.presence_penalty.map(Value::from),
        "frequency_penalty" => settings.frequency_penalty.map(Value::from),
        "reasoning_effort" => Some(settings.reasoning_effort.as_ref()?.as_str().into()),
        "parallel_tool_calls" => settings.parallel_tool_calls.map(Value::from),
        _ => None,
    }
}

/// The form of a typed answer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerSchema<'a> {
    /// Letters, digits, `_` and `-` only.
    pub(crate) name: &'a str,
    /// The schema; `None` for any JSON object.
    pub(crate) schema: Option<&'a Value>,
}

/// The body of a request.
#[derive(Debug)]
pub struct Encoded {
    pub(crate) body: String,
    /// What operators should know about the request.
    pub(crate) warning: Option<String>,
}

impl From<String> for Encoded {
    fn from(body: String) -> Self {
        Encoded {
            body,
            warning: None,
        }
    }
}

/// An error response.
#[derive(Debug)]
pub struct ErrorBody<'a> {
    pub(crate) status: u16,
    /// The message for operators.
    pub(crate) message: &'a str,
    /// The codes and types that the body names, separated by blanks.
    pub(crate) names: &'a str,
}

impl ErrorBody<'_> {
    /// Returns `true` if the message or the codes contain a text.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        self.message.contains(text) || self.names.contains(text)
    }

    /// Returns `true` if the prompt does not fit the context window.
    pub(crate) fn is_overflow(&self) -> bool {
        let is_too_long = OVERFLOW.iter().any(|text| self.mentions(text));
        matches!(self.status, 400 | 413 | 422) && is_too_long
    }

    /// Returns `true` if the account has no credit left: waiting does not help.
    pub(crate) fn is_quota(&self) -> bool {
        self.status == 429 && self.mentions("insufficient_quota")
    }
}

/// How servers say that a prompt does not fit the context window.
const OVERFLOW: [&str; 12] = [
    "context_length_exceeded",
    "exceed_context_size",
    "exceeds the context window",
    "exceeds the context length",
    "exceeds the available context",
    "exceed context limit",
    "exceeds the maximum number of tokens",
    "maximum context length",
    "maximum prompt length",
    "prompt is too long",
    "request_too_large",
    "longer than the context length",
];

/// What an error response means, besides what its status says.
#[derive(Debug, Default)]
pub struct ErrorClass {
    /// The key is wrong.
    pub(crate) is_wrong_key: bool,
    /// A quirk that the error reveals.
    pub(crate) quirks: Quirks,
    /// What to do, if the protocol knows better than the status.
    pub(crate) advice: Option<String>,
}

/// A set of quirks: deviations of a server from its protocol, learned from its errors. Each protocol names its own, by bit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quirks(u8);

impl Quirks {
    /// The quirk with this bit.
    pub(crate) const fn bit(bit: u8) -> Self {
        Quirks(1 << bit)
    }

    /// Adds the quirks of another set.
    #[must_use]
    pub(crate) const fn union(self, other: Self) -> Self {
        Quirks(self.0 | other.0)
    }

    /// Adds a quirk if a condition holds.
    #[must_use]
    pub(crate) const fn with_if(self, quirk: Self, condition: bool) -> Self {
        if condition { self.union(quirk) } else { self }
    }

    /// Returns `true` if it has all of these quirks.
    pub(crate) const fn has(self, quirks: Self) -> bool {
        self.0 & quirks.0 == quirks.0
    }

    /// Returns the names of its quirks.
    pub(super) fn names(self, names: &[&str]) -> String {
        let known = (0_u8..).zip(names);
        let own = known.filter(|(bit, _)| self.has(Quirks::bit(*bit)));
        own.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
    }
}
