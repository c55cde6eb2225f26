//! Connections to servers. `rmcp` speaks the protocol; the rest of the crate sees only [`Session`].
//!
//! `rmcp` decodes messages into types: a definition with a field that it does not know loses the field, and one bad tool loses the
//! list. So the transports here keep each result as the server sent it ([`raw_results`]) and give `rmcp` a stand-in.

mod announcements;
mod connect;
mod depth;
mod failure;
mod handler;
mod http;
mod http_response;
mod http_settings;
pub(crate) mod line_reader;
mod raw_results;
mod request;
mod stdio;

#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::watch;
use turnwright_core::TurnContext;

pub(crate) use announcements::{MAX_DELAY, delays};
pub(crate) use connect::{connect_http, connect_stdio};
pub(crate) use depth::LEFT_OUT;
pub(crate) use failure::Failure;
pub(crate) use handler::MAX_QUESTIONS;
pub(crate) use http_settings::HttpSettings;

/// A connection to a server on which requests can be sent.
#[async_trait]
pub(crate) trait Session: Send + Sync {
    /// What the server says about itself.
    fn about(&self) -> &About;

    /// Sends a request. Dropping the future cancels it.
    async fn request(&self, request: Request) -> Result<Response, Failure>;

    /// Changes whenever the server announces that its list of tools has changed, or when that is assumed.
    fn tool_changes(&self) -> watch::Receiver<u64>;

    /// Returns whether the server announces each change of its tools on this connection.
    fn announces_changes(&self) -> bool;

    /// Assumes that the list of tools has changed.
    fn assume_change(&self);

    /// Returns whether the connection has ended.
    fn has_ended(&self) -> bool;

    /// Waits until the connection has ended, and returns why.
    async fn ended(&self) -> String;

    /// Ends the connection.
    async fn close(&self);
}

/// What a server says about itself. All of it is third-party text.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) protocol_version: String,
    pub(crate) instructions: Option<String>,
    pub(crate) has_tools: bool,
    pub(crate) has_resources: bool,
    pub(crate) has_prompts: bool,
}

/// A request to a server.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) params: Value,
    /// Maximum time without a response or progress.
    pub(crate) idle: Duration,
    /// Maximum time in total.
    pub(crate) total: Duration,
    /// Gets what the server sends about this request before its result.
    pub(crate) listener: Option<Arc<dyn Listener>>,
}

/// The response to a request.
#[derive(Debug)]
pub(crate) struct Response {
    /// The result as the server sent it.
    pub(crate) result: Value,
    /// For a list of tools: the names of those that the transport cannot call.
    pub(crate) unusable_tools: Vec<String>,
}

/// Tells turns apart. Their ids do not: they are unique only within a conversation.
#[derive(Clone)]
pub(crate) struct TurnIdentity(Arc<Mark>);

/// One per turn.
#[derive(Default)]
struct Mark;

impl TurnIdentity {
    pub(crate) fn of(turn: &TurnContext) -> Self {
        TurnIdentity(turn.per_turn())
    }
}

impl PartialEq for TurnIdentity {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Gets what a server sends about a request before its result.
#[async_trait]
pub(crate) trait Listener: Send + Sync {
    /// Returns the turn to which the request belongs.
    fn turn(&self) -> TurnIdentity;

    /// The server reports progress.
    fn progress(&self, message: String);

    /// A question of the server was declined without being asked.
    fn declined(&self, reason: &str);

    /// The server asks for input by this request. Returns the response, or `None` if there is none.
    async fn input(&self, method: &'static str, params: Value) -> Option<Value>;
}

/// How a connection is made, and what the server may ask for on it besides questions to the user.
#[derive(Clone, Debug)]
pub(crate) struct ConnectOptions {
    /// Whether to use only the lifecycle with sessions.
    pub(crate) sessions: bool,
    pub(crate) sampling: bool,
    /// The URIs of the roots, if the server may know them.
    pub(crate) roots: Option<Vec<String>>,
}

/// Returns the result of `roots/list`.
pub(crate) fn roots_result(uris: &[String]) -> Value {
    let roots = uris.iter().map(|uri| json!({ "uri": uri }));
    json!({ "roots": roots.collect::<Vec<_>>() })
}
