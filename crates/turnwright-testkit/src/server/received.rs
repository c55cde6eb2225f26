//! What a client sent.

use std::fmt;

use bytes::Bytes;
use serde_json::Value;

/// A request that came, whole.
#[derive(Clone)]
#[non_exhaustive]
pub struct ReceivedRequest {
    /// Its place among all requests of the server, from 0.
    pub number: usize,
    /// The method, for example `POST`.
    pub method: String,
    /// The path, with the query where there is one.
    pub path: String,
    /// Names in lower case, and their values, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl ReceivedRequest {
    /// The first header of that name, in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The body as JSON, where it is JSON.
    #[must_use]
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(&self.body).ok()
    }

    /// The path without its query.
    #[must_use]
    pub fn route(&self) -> &str {
        self.path.split('?').next().unwrap_or_default()
    }
}

impl fmt::Debug for ReceivedRequest {
    /// Headers and bodies hold keys and conversations: not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReceivedRequest")
            .field("number", &self.number)
            .field("method", &self.method)
            .field("route", &self.route())
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish_non_exhaustive()
    }
}
