//! A script that is being played.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::asked::Asked;
use super::check::{Known, check_as};
use super::lists::models;
use super::protocol::Protocol;
use super::reply::Reply;
use super::state;
use crate::server::run::script_ended;
use crate::server::{Answer, ReceivedRequest, Server};

/// Plays a script: returns the answer to a request, and its kind. [`Script::serve`](super::Script::serve) starts a
/// server with a player; use [`Script::player`](super::Script::player) for other settings or your own server.
///
/// ```
/// use turnwright_testkit::server::Server;
/// use turnwright_testkit::server::model::{self, Protocol, Script};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// // Only one protocol, and every request is checked.
/// let player = Script::new([model::text("Hello", 2)]).player();
/// let server = player.protocol(Protocol::Anthropic).strict().serve().await?;
///
/// let player = Script::new([model::text("Hello", 2)]).player().repeat();
/// let server = Server::builder()
///     .keep_requests(10)
///     .start(move |request| {
///         let played = player.answer(request);
///         eprintln!("{} {}: {:?}", request.method, request.route(), played.kind);
///         played.answer
///     })
///     .await?;
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct Player {
    replies: Mutex<Vec<Reply>>,
    repeats: bool,
    /// `None`: all protocols.
    only: Option<Protocol>,
    /// `None`: all protocols but Chat Completions.
    strict: Option<bool>,
    /// `None`: the port of each request's `host`.
    name: Option<String>,
    /// The number of requested replies.
    asked: AtomicUsize,
    /// The last texts that were sent with a signature of their own, which must come back.
    signed: Mutex<VecDeque<String>>,
}

/// The most texts that are remembered.
const SIGNED: usize = 1_000;

/// The answer to a request, and its kind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlayedAnswer {
    /// The answer.
    pub answer: Answer,
    /// The kind of answer.
    pub kind: AnswerKind,
    /// The protocol of the request, if its path has one.
    pub protocol: Option<Protocol>,
    /// What is wrong with the request, if it is [invalid](AnswerKind::Invalid).
    pub problem: Option<String>,
}

/// The kind of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerKind {
    /// A reply of the script.
    #[non_exhaustive]
    Reply {
        /// The index of the reply, from 0.
        number: usize,
        /// Whether it is streamed.
        streamed: bool,
    },
    /// The list of models: one, `scripted`.
    Models,
    /// An error: the script has ended.
    Ended,
    /// An error: this is not a request for a reply, or it breaks a rule of its protocol.
    Invalid,
}

impl Player {
    pub(super) fn new(replies: Vec<Reply>) -> Self {
        Player {
            replies: Mutex::new(replies),
            repeats: false,
            only: None,
            strict: None,
            name: None,
            asked: AtomicUsize::new(0),
            signed: Mutex::default(),
        }
    }

    /// Starts again with the first reply after the last one.
    #[must_use]
    pub fn repeat(mut self) -> Self {
        self.repeats = true;
        self
    }

    /// Serves only this protocol. Default: all.
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.only = Some(protocol);
        self
    }

    /// [Checks](super::check()) requests of all protocols. Default: of all but Chat Completions.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.strict = Some(true);
        self
    }

    /// Checks no requests: any JSON object gets the next reply.
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.strict = Some(false);
        self
    }

    /// Sets the name of the server, which is part of its opaque state. Only letters and digits of ASCII count.
    /// Default: the port of the request's `host`, so that two servers on one machine differ.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.name = Some(state::plain(name));
        self
    }

    /// Adds a reply at the end, also while the script is played: for a reply that depends on what happened before.
    pub fn push(&self, reply: Reply) {
        self.replies.lock().push(reply);
    }

    /// Starts a server that plays the script.
    ///
    /// # Errors
    /// Fails if no port is available.
    pub async fn serve(self) -> io::Result<Server> {
        Server::start(move |request| self.answer(request).answer).await
    }

    /// Returns the answer to a request. A valid `POST` to a path of one of the [protocols](Protocol) takes the next
    /// reply, streamed if requested. A `GET` of `…/models` or `/api/tags` returns a list of one model. Anything else
    /// takes no reply.
    pub fn answer(&self, request: &ReceivedRequest) -> PlayedAnswer {
        let protocol = Protocol::of(request);
        let (what, answer) = match self.choose(request, protocol) {
            Ok(chosen) => chosen,
            Err((status, problem)) => {
                let form = protocol.or(self.only);
                let kind = match status {
                    401 => "authentication_error",
                    404 => "not_found_error",
                    _ => "invalid_request_error",
                };
                let kind = match form {
                    Some(Protocol::Anthropic) => kind,
                    _ => "invalid_request_error",
                };
                let form = form.unwrap_or(Protocol::ChatCompletions);
                return PlayedAnswer {
                    answer: form.error(status, kind, &problem),
                    kind: AnswerKind::Invalid,
                    protocol,
                    problem: Some(problem),
                };
            }
        };
        PlayedAnswer {
            answer,
            kind: what,
            protocol,
            problem: None,
        }
    }

    #[cfg(test)]
    pub(super) fn reply(&self, number: usize) -> Reply {
        let replies = self.replies.lock();
        replies.get(number).cloned().expect("a reply of the script")
    }

    /// Returns the number of remaining replies; of the first pass if it repeats.
    #[must_use]
    pub fn remaining(&self) -> usize {
        let asked = self.asked.load(Ordering::Relaxed);
        self.replies.lock().len().saturating_sub(asked)
    }

    fn choose(
        &self,
        request: &ReceivedRequest,
        protocol: Option<Protocol>,
    ) -> Result<(AnswerKind, Answer), (u16, String)> {
        let Some(protocol) = protocol else {
            return Err((404, served(self.only)));
        };
        if request.method == "GET" {
            return self.list(protocol);
        }
        if self.only.is_some_and(|only| only != protocol) {
            return Err((404, served(self.only)));
        }
        let mut asked = Asked::of(request);
        if let Some(name) = &self.name {
            asked.server.clone_from(name);
        }
        if !request.json().is_some_and(|body| body.is_object()) {
            return Err((400, "the body is not a JSON object".to_owned()));
        }
        if self.strict.unwrap_or(protocol != Protocol::ChatCompletions) {
            let known = Known {
                server: &asked.server,
                signed: &|text| self.signed.lock().iter().any(|sent| sent == text),
            };
            check_as(protocol, request, &known)?;
        }
        let (number, reply, all) = self.next();
        Ok(match reply {
            Some(reply) => {
                let streamed = asked.streamed;
                self.note(protocol, &reply);
                (
                    AnswerKind::Reply { number, streamed },
                    reply.answer_to(&asked),
                )
            }
            None => (AnswerKind::Ended, script_ended(protocol, all)),
        })
    }

    /// Remembers the text of a reply that Gemini signs.
    fn note(&self, protocol: Protocol, reply: &Reply) {
        if let (Protocol::Gemini, Some(text), true) =
            (protocol, &reply.text, reply.calls.is_empty())
        {
            let mut signed = self.signed.lock();
            signed.push_back(text.clone());
            if signed.len() > SIGNED {
                signed.pop_front();
            }
        }
    }

    /// Returns the list of models. The lists of both protocols of `OpenAI` are the same request.
    fn list(&self, protocol: Protocol) -> Result<(AnswerKind, Answer), (u16, String)> {
        let openai =
            protocol == Protocol::ChatCompletions && self.only == Some(Protocol::Responses);
        if openai || self.only.is_none_or(|only| only == protocol) {
            Ok((AnswerKind::Models, models(protocol)))
        } else {
            Err((404, served(self.only)))
        }
    }

    /// Returns the index of the next reply, the reply if there is one, and the number of all replies.
    fn next(&self) -> (usize, Option<Reply>, usize) {
        let replies = self.replies.lock();
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        let number = if self.repeats {
            asked.checked_rem(replies.len()).unwrap_or(0)
        } else {
            asked
        };
        (number, replies.get(number).cloned(), replies.len())
    }
}

/// Returns the message for a path that is not served.
fn served(only: Option<Protocol>) -> String {
    let paths = match only {
        Some(Protocol::ChatCompletions) => "POST …/chat/completions and GET …/models",
        Some(Protocol::Responses) => "POST …/responses and GET …/models",
        Some(Protocol::Anthropic) => "POST …/messages and GET …/models",
        Some(Protocol::Gemini) => {
            "POST …/models/NAME:generateContent, POST …/models/NAME:streamGenerateContent and GET /v1beta/models"
        }
        Some(Protocol::Ollama) => "POST /api/chat and GET /api/tags",
        None => {
            "POST …/chat/completions, …/responses, …/messages, …/models/NAME:generateContent, \
             …/models/NAME:streamGenerateContent and /api/chat, and GET …/models and /api/tags"
        }
    };
    format!("only {paths} are served")
}
