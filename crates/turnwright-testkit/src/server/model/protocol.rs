//! The protocols, and which one a request speaks.

use std::fmt;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::server::{Answer, ReceivedRequest};

/// A protocol between clients and model servers.
///
/// ```
/// use turnwright_testkit::server::model::Protocol;
///
/// assert_eq!(Protocol::ChatCompletions.to_string(), "chat_completions");
/// assert_eq!(Protocol::ALL.len(), 5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Protocol {
    /// `OpenAI` Chat Completions: `POST …/chat/completions`.
    ChatCompletions,
    /// `OpenAI` Responses: `POST …/responses`.
    Responses,
    /// Anthropic Messages: `POST …/messages`.
    Anthropic,
    /// Gemini: `POST …/models/NAME:generateContent` and `:streamGenerateContent`.
    Gemini,
    /// Ollama: `POST /api/chat`.
    Ollama,
}

impl Protocol {
    /// All protocols.
    pub const ALL: &[Protocol] = &[
        Protocol::ChatCompletions,
        Protocol::Responses,
        Protocol::Anthropic,
        Protocol::Gemini,
        Protocol::Ollama,
    ];

    /// Returns the name: `chat_completions`, `responses`, `anthropic`, `gemini` or `ollama`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::ChatCompletions => "chat_completions",
            Protocol::Responses => "responses",
            Protocol::Anthropic => "anthropic",
            Protocol::Gemini => "gemini",
            Protocol::Ollama => "ollama",
        }
    }

    /// Returns the protocol of a request for a reply or for the list of models, by its method and path. A list of
    /// models at `…/models` is Anthropic's if the request has an `anthropic-version` header, and Gemini's if it has an
    /// `x-goog-api-key` header or the path is `/v1beta/models`.
    #[must_use]
    pub fn of(request: &ReceivedRequest) -> Option<Self> {
        let route = request.route();
        match request.method.as_str() {
            "POST" => Protocol::of_reply(route),
            "GET" if route.ends_with("/api/tags") => Some(Protocol::Ollama),
            "GET" if route.ends_with("/v1beta/models") => Some(Protocol::Gemini),
            "GET" if route.ends_with("/models") => {
                let has = |name| request.header(name).is_some();
                Some(match (has("anthropic-version"), has("x-goog-api-key")) {
                    (true, _) => Protocol::Anthropic,
                    (_, true) => Protocol::Gemini,
                    _ => Protocol::ChatCompletions,
                })
            }
            _ => None,
        }
    }

    /// Returns the protocol of a request for a reply, by its path.
    fn of_reply(route: &str) -> Option<Self> {
        let endings = [
            ("/chat/completions", Protocol::ChatCompletions),
            ("/responses", Protocol::Responses),
            ("/messages", Protocol::Anthropic),
            ("/api/chat", Protocol::Ollama),
        ];
        let ending = endings.iter().find(|(ending, _)| route.ends_with(ending));
        let gemini = || gemini_model(route).map(|_| Protocol::Gemini);
        ending.map(|(_, protocol)| *protocol).or_else(gemini)
    }

    /// Creates an error in the form of the protocol. `kind` is its type, where the protocol has one.
    pub(crate) fn error(self, status: u16, kind: &str, message: &str) -> Answer {
        Answer::json(status, self.error_body(status, kind, message))
    }

    /// Returns the body of an error in the form of the protocol.
    pub(in crate::server) fn error_body(self, status: u16, kind: &str, message: &str) -> Value {
        match self {
            Protocol::ChatCompletions | Protocol::Responses => {
                json!({ "error": { "message": message, "type": kind, "param": null, "code": null } })
            }
            Protocol::Anthropic => json!({
                "type": "error",
                "error": { "type": kind, "message": message },
                "request_id": "req_scripted",
            }),
            Protocol::Gemini => {
                json!({ "error": { "code": status, "message": message, "status": gemini_status(status) } })
            }
            Protocol::Ollama => json!({ "error": message }),
        }
    }
}

/// Returns the model and whether the reply is streamed, if this is a path of Gemini.
pub(super) fn gemini_model(route: &str) -> Option<(&str, bool)> {
    let (_, call) = route.rsplit_once("/models/")?;
    let (model, method) = call.split_once(':')?;
    match method {
        "generateContent" => Some((model, false)),
        "streamGenerateContent" => Some((model, true)),
        _ => None,
    }
}

fn gemini_status(status: u16) -> &'static str {
    match status {
        400 => "INVALID_ARGUMENT",
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        500 => "INTERNAL",
        503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        _ => "UNKNOWN",
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
