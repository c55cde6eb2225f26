//! Replies, one after the other.

use std::io;
use std::path::Path;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::reply::Reply;
use crate::server::run::script_ended;
use crate::server::{Answer, ReceivedRequest, Server};

/// The replies of a model, one for each request in order. See the [module](super) for its form in files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Script(Vec<Reply>);

impl Script {
    /// These replies.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        Script(replies.into_iter().collect())
    }

    /// Reads a script from a file.
    ///
    /// # Errors
    /// The file cannot be read, or is not a script: it says where.
    pub fn load(path: impl AsRef<Path>) -> io::Result<Self> {
        std::fs::read_to_string(path)?.parse()
    }

    /// The replies, in order.
    pub fn replies(&self) -> &[Reply] {
        &self.0
    }

    /// Starts a server that plays it: a `POST` of JSON to any path that ends in `/chat/completions` gets the next reply.
    /// Anything else is answered with 404 or 400 and takes no reply; so is a request beyond the last one, as by
    /// [`Server::script`].
    ///
    /// # Errors
    /// No port is to be had.
    pub async fn serve(self) -> io::Result<Server> {
        let next = AtomicUsize::new(0);
        Server::start(move |request| {
            if let Some(refusal) = refuse(request) {
                return refusal;
            }
            match self.0.get(next.fetch_add(1, Ordering::Relaxed)) {
                Some(reply) => reply.answer(request),
                None => script_ended(self.0.len()),
            }
        })
        .await
    }
}

/// What is no request for a reply.
fn refuse(request: &ReceivedRequest) -> Option<Answer> {
    let error = |status, message: &str| {
        let error = json!({ "message": message, "type": "invalid_request_error" });
        Some(Answer::json(status, json!({ "error": error })))
    };
    if request.method != "POST" || !request.route().ends_with("/chat/completions") {
        return error(404, "only POST …/chat/completions is served");
    }
    match request.json() {
        Some(body) if body.is_object() => None,
        _ => error(400, "the body is not a JSON object"),
    }
}

impl FromStr for Script {
    type Err = io::Error;

    fn from_str(text: &str) -> io::Result<Self> {
        serde_json::from_str(text).map_err(|error| {
            let message = format!("not a script of replies: {error}");
            io::Error::new(io::ErrorKind::InvalidData, message)
        })
    }
}
