//! What a protocol adds to the engine: how to encode a request, decode a response and classify an error.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use turnwright_core::trust::TrustTier;
use turnwright_core::{Media, ModelSettings, Tool};
use url::Url;

use super::item::Item;
use super::options::OptionMap;
use super::quirks::Quirks;
use super::settings::TypedAnswers;
use super::strict_schema::StrictRules;
use super::wire_message::WireMessage;
use crate::decode::{FrameReader, Framing, Reply};

/// A wire protocol. Holds the settings that only this protocol has.
///
/// Public only as a bound: this module is private.
pub trait Codec: fmt::Debug + Send + Sync + 'static {
    /// Returns the constants of the protocol.
    fn info(&self) -> &'static Info;

    /// Returns the value of an environment variable in the form that the builder takes.
    fn read_variable(&self, name: &str, value: String) -> String {
        let _ = name;
        value
    }

    /// Returns the URL below a base URL that identifies the server, and to which requests are sent by default.
    fn endpoint(&self, base: &Url) -> Url;

    /// Returns the URL of a request.
    fn url(&self, endpoint: &Url, model: &str, streams: bool) -> Url {
        let _ = (model, streams);
        endpoint.clone()
    }

    /// Returns the URL of the list of models, next to the endpoint.
    fn models_url(&self, endpoint: &Url) -> Url;

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

    /// Returns the tiers of what tools of the provider may return for a request without a trace in the response. Every
    /// protocol must decide this: with a default, what a wrapper forgot would count as trusted.
    fn unseen_content(&self, options: &OptionMap) -> Vec<TrustTier>;

    /// Writes one item of the prompt as messages.
    fn write(&self, item: Item<'_>, messages: &mut Vec<WireMessage>);

    /// Writes the body of a request.
    fn body(&self, request: &RequestParts<'_>) -> Encoded;

    /// Creates the reader of one response.
    fn reader(&self) -> Box<dyn FrameReader>;

    /// Returns `true` for an error that means a wrong key, if its status is neither 401 nor 403.
    fn is_wrong_key(&self, error: &ErrorBody<'_>) -> bool {
        let _ = error;
        false
    }

    /// Classifies an error response.
    fn classify(&self, error: &ErrorBody<'_>) -> ErrorClass;

    /// Returns the parts of a reply that `wire decode` prints besides those that all protocols have.
    fn describe(&self, reply: &Reply) -> Map<String, Value>;

    /// Returns the parts of an error body that `wire decode` prints besides the status.
    fn describe_error(&self, body: &Value) -> Map<String, Value> {
        let _ = body;
        Map::new()
    }

    /// Returns the quirks that a server with this address has from the start.
    fn quirks_of(&self, endpoint: &Url) -> Quirks {
        let _ = endpoint;
        Quirks::default()
    }
}

/// The constants of a protocol.
#[derive(Debug)]
pub struct Info {
    /// The name of the protocol: for its options in settings, and for its state in records.
    pub(crate) name: &'static str,
    /// The name of the protocol in messages.
    pub(crate) title: &'static str,
    /// How the paths of its requests end.
    pub(crate) paths: &'static [&'static str],
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
    /// Context windows of models, by prefix of their names. The longest match wins.
    pub(crate) windows: &'static [(&'static str, u64)],
    /// Which media servers accept by default.
    pub(crate) accepts: fn(&Media) -> bool,
    /// The names of quirks, by bit.
    pub(crate) quirks: &'static [&'static str],
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

    /// Returns `true` if the status is that of a request that is too long, and the error mentions one of these texts.
    pub(crate) fn is_overflow(&self, texts: &[&str]) -> bool {
        matches!(self.status, 400 | 413 | 422) && texts.iter().any(|text| self.mentions(text))
    }
}

/// What an error response means.
#[derive(Debug, Default)]
pub struct ErrorClass {
    /// The prompt does not fit the context window.
    pub(crate) is_overflow: bool,
    /// The account has no credit left: waiting does not help.
    pub(crate) is_quota: bool,
    /// A quirk that the error reveals.
    pub(crate) quirks: Quirks,
    /// What to do, if the protocol knows better than the status.
    pub(crate) advice: Option<String>,
}
