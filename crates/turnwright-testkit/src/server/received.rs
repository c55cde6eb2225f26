//! Requests received from a client.

use std::fmt;

use bytes::Bytes;
use serde_json::Value;

/// A request that was received completely.
#[derive(Clone)]
#[non_exhaustive]
pub struct ReceivedRequest {
    /// The index among all requests of the server, from 0.
    pub number: usize,
    /// The method, for example `POST`.
    pub method: String,
    /// The path, including the query.
    pub path: String,
    /// Header names in lower case, with their values, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl ReceivedRequest {
    /// Returns the first header with this name. `name` must be in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON, if it is JSON.
    #[must_use]
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// Returns the path without the query.
    #[must_use]
    pub fn route(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }
}

impl fmt::Debug for ReceivedRequest {
    /// Shows neither headers nor body: they contain keys and conversations.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedRequest")
            .field("number", &self.number)
            .field("method", &self.method)
            .field("route", &self.route())
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish_non_exhaustive()
    }
}
