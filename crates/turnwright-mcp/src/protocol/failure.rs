//! Why requests fail, and why connections end.
//!
//! `rmcp` tells nothing of an HTTP server that refuses connections or has ended its session. The transport notes the
//! reason, and whether the request was processed, before the supervisor closes the connection: otherwise a call that
//! was not sent would count as lost.

use std::fmt;
use std::time::Duration;

use tokio::sync::watch;
use turnwright_core::schema::escape;

/// Why a request has no result.
#[derive(Clone, Debug)]
pub(crate) enum Failure {
    /// The server answered with an error.
    Rejected { code: i32, message: String },
    /// The server did not answer in time.
    Timeout(Duration),
    /// There is no connection.
    NotConnected(String),
    /// The request was not sent.
    NotSent(String),
    /// The connection ended after the request was sent, so it may have taken effect.
    Lost(String),
    /// The server failed, and the connection continues. The request may have taken effect.
    Failed(String),
    /// The server rejects requests for now: it gets too many.
    Busy(String),
    /// The answer violates the protocol.
    Malformed(String),
    /// The server asked for something that it did not get: the method of its request. It has not completed the request.
    Unanswered(String),
    /// The server requires authorisation. The challenge of the server, if it sent one.
    Unauthorised(Option<String>),
    /// The server requires authorisation, and it was not given.
    NotAuthorised(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Rejected { code, message } => {
                let message = escape(message, 500);
                write!(f, "the server answered with error {code}: {message}")
            }
            Failure::Timeout(limit) => write!(f, "the server did not answer within {limit:?}"),
            Failure::NotConnected(why) => write!(f, "cannot connect: {why}"),
            Failure::NotSent(why) => write!(f, "the request was not sent: {why}"),
            Failure::Lost(why) => write!(f, "the connection ended: {why}"),
            Failure::Failed(why) => write!(f, "the server failed: {why}"),
            Failure::Busy(why) => write!(f, "the server has too many requests: {why}"),
            Failure::Malformed(why) => write!(f, "the server violates the protocol: {why}"),
            Failure::Unanswered(method) => {
                write!(f, "the server asked for `{method}` and did not get it")
            }
            Failure::Unauthorised(_) => f.write_str(
                "the server requires authorisation: set up OAuth, or send a valid token in the header `Authorization`",
            ),
            Failure::NotAuthorised(why) => write!(f, "authorisation failed: {why}"),
        }
    }
}

impl Failure {
    /// Returns the failure of a request whose predecessor the server answered by asking for input. The server may have done a part of
    /// the work before it asked, so this request is not the only one that may have taken effect.
    pub(crate) fn after_input(self) -> Self {
        match self {
            Failure::NotConnected(_)
            | Failure::NotSent(_)
            | Failure::Busy(_)
            | Failure::Unauthorised(_)
            | Failure::NotAuthorised(_) => {
                Failure::Failed(format!("after it had asked for input, {self}"))
            }
            failure => failure,
        }
    }
}

impl std::error::Error for Failure {}

/// Returns an error and its causes, the deepest one last.
pub(crate) fn causes<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'e (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// Why a connection has ended, once it has. The first reason counts. A handle: clones share it.
#[derive(Clone, Debug)]
pub(super) struct Ending(watch::Sender<Option<String>>);

impl Default for Ending {
    fn default() -> Self {
        Ending(watch::Sender::new(None))
    }
}

impl Ending {
    /// Ends the connection for this reason.
    pub(super) fn set(&self, why: String) {
        self.0.send_if_modified(|reason| {
            let first = reason.is_none();
            reason.get_or_insert(why);
            first
        });
    }

    pub(super) fn is_set(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Returns the reason, or this one if none is known.
    pub(super) fn or(&self, other: &str) -> String {
        self.0.borrow().clone().unwrap_or_else(|| other.to_owned())
    }

    /// Waits until there is a reason.
    pub(super) async fn wait(&self) {
        // The sender is in `self`.
        let _ = self.0.subscribe().wait_for(Option::is_some).await;
    }
}
