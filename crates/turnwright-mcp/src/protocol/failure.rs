//! Failures of requests.

use std::fmt;
use std::time::Duration;

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
            Failure::Rejected { .. }
            | Failure::Timeout(_)
            | Failure::Lost(_)
            | Failure::Failed(_)
            | Failure::Malformed(_)
            | Failure::Unanswered(_) => self,
            Failure::NotConnected(_)
            | Failure::NotSent(_)
            | Failure::Busy(_)
            | Failure::Unauthorised(_)
            | Failure::NotAuthorised(_) => {
                Failure::Failed(format!("after it had asked for input, {self}"))
            }
        }
    }
}

impl std::error::Error for Failure {}
