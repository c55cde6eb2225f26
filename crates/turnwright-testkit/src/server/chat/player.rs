//! A script that is being played.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::reply::Reply;
use super::write::streams;
use crate::server::run::script_ended;
use crate::server::{Answer, ReceivedRequest};

/// Plays a script: returns the answer to a request, and its kind. [`Script::serve`](super::Script::serve) starts a
/// server with a player; use [`Script::player`](super::Script::player) for your own server.
///
/// ```
/// use turnwright_testkit::server::Server;
/// use turnwright_testkit::server::chat::{self, Script};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let player = Script::new([chat::text("Hello", 2)]).player().repeat();
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
    replies: Vec<Reply>,
    repeats: bool,
    /// The number of requested replies.
    asked: AtomicUsize,
}

/// The answer to a request, and its kind.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlayedAnswer {
    /// The answer.
    pub answer: Answer,
    /// The kind of answer.
    pub kind: AnswerKind,
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
    /// An error: this is not a request for a reply.
    Invalid,
}

impl Player {
    pub(super) fn new(replies: Vec<Reply>) -> Self {
        Player {
            replies,
            repeats: false,
            asked: AtomicUsize::new(0),
        }
    }

    /// Starts again with the first reply after the last one.
    #[must_use]
    pub fn repeat(mut self) -> Self {
        self.repeats = true;
        self
    }

    /// Returns the answer to a request. A `POST` of JSON to any path that ends in `/chat/completions` takes the next
    /// reply, streamed if requested. `GET …/models` returns a list of one model. Anything else takes no reply.
    pub fn answer(&self, request: &ReceivedRequest) -> PlayedAnswer {
        let (kind, answer) = self.choose(request);
        PlayedAnswer { answer, kind }
    }

    /// Returns the number of remaining replies; of the first pass if it repeats.
    #[must_use]
    pub fn remaining(&self) -> usize {
        let asked = self.asked.load(Ordering::Relaxed);
        self.replies.len().saturating_sub(asked)
    }

    fn choose(&self, request: &ReceivedRequest) -> (AnswerKind, Answer) {
        let route = request.route();
        if request.method == "GET" && route.ends_with("/models") {
            return (AnswerKind::Models, models());
        }
        if request.method != "POST" || !route.ends_with("/chat/completions") {
            let served = "only POST …/chat/completions and GET …/models are served";
            return invalid(404, served);
        }
        if !request.json().is_some_and(|body| body.is_object()) {
            return invalid(400, "the body is not a JSON object");
        }
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        let number = match self.repeats {
            true => asked.checked_rem(self.replies.len()).unwrap_or(0),
            false => asked,
        };
        match self.replies.get(number) {
            Some(reply) => {
                let streamed = streams(request);
                (
                    AnswerKind::Reply { number, streamed },
                    reply.answer(request),
                )
            }
            None => (AnswerKind::Ended, script_ended(self.replies.len())),
        }
    }
}

fn models() -> Answer {
    let model = json!({ "id": "scripted", "object": "model", "created": 1_700_000_000, "owned_by": "turnwright" });
    Answer::json(200, json!({ "object": "list", "data": [model] }))
}

fn invalid(status: u16, message: &str) -> (AnswerKind, Answer) {
    let answer = Answer::error(status, "invalid_request_error", message);
    (AnswerKind::Invalid, answer)
}
