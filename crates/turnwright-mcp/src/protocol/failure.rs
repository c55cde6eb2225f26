//! Why requests fail, and why connections end.
//!
//! `rmcp` tells nothing of an HTTP server that refuses connections or has ended its session. The transport notes the
//! reason, and whether the request was processed, before the supervisor closes the connection: otherwise a call that
//! was not sent would count as lost.

use std::time::Duration;

use thiserror::Error;
use tokio::sync::watch;
use turnwright_core::schema::escape;

/// Why a request has no result.
#[derive(Clone, Debug, Error)]
pub(crate) enum Failure {
    /// The server answered with an error.
    #[error("the server answered with error {code}: {}", escape(message, 500))]
    Rejected { code: i32, message: String },
    /// The server did not answer in time.
    #[error("the server did not answer within {0:?}")]
    Timeout(Duration),
    /// There is no connection.
    #[error("cannot connect: {0}")]
    NotConnected(String),
    /// The request was not sent.
    #[error("the request was not sent: {0}")]
    NotSent(String),
    /// The connection ended after the request was sent, so it may have taken effect.
    #[error("the connection ended: {0}")]
    Lost(String),
    /// The server failed, and the connection continues. The request may have taken effect.
    #[error("the server failed: {0}")]
    Failed(String),
    /// The server rejects requests for now: it gets too many.
    #[error("the server has too many requests: {0}")]
    Busy(String),
    /// The answer violates the protocol.
    #[error("the server violates the protocol: {0}")]
    Malformed(String),
    /// The server asked for something that it did not get: the method of its request. It has not completed the request.
    #[error("the server asked for `{0}` and did not get it")]
    Unanswered(String),
    /// The server requires authorisation. The challenge of the server, if it sent one.
    #[error(
        "the server requires authorisation: set up OAuth, or send a valid token in the header `Authorization`"
    )]
    Unauthorised(Option<String>),
    /// The server requires authorisation, and it was not given.
    #[error("authorisation failed: {0}")]
    NotAuthorised(String),
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
