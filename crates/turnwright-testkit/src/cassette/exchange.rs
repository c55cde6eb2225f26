//! One exchange of a recording, for inspection.

use std::fmt;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::file::{self, Entry};

/// One request of a recording and its response: an element of the list in a [file](super).
///
/// ```
/// use turnwright_testkit::cassette::Exchange;
///
/// let exchange: Exchange = serde_json::from_str(r#"{
///     "request": { "method": "POST", "path": "/v1/chat/completions", "body": { "model": "m", "messages": [] } },
///     "response": { "status": 200, "headers": { "Content-Type": "application/json" }, "body": { "base64": "e30=" } }
/// }"#)?;
/// assert_eq!(exchange.request["model"], "m");
/// assert_eq!(exchange.header("content-type"), Some("application/json"));
/// assert_eq!(exchange.body, "{}");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Deserialize)]
#[serde(try_from = "Entry")]
#[non_exhaustive]
pub struct Exchange {
    /// The method of the request.
    pub method: String,
    /// The path of the request, including the query.
    pub path: String,
    /// The body of the request.
    pub request: Value,
    /// The status of the response.
    pub status: u16,
    /// The headers of the response: names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// The body of the response.
    pub body: Bytes,
    /// Whether the response was not read to its end.
    pub truncated: bool,
}

impl Exchange {
    /// Returns the first response header with this name. `name` must be in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl TryFrom<Entry> for Exchange {
    type Error = String;

    fn try_from(entry: Entry) -> Result<Self, String> {
        let Entry { request, response } = entry;
        let body = file::bytes(&response.body)
            .map_err(|error| format!("the body of the response is not base64: {error}"))?;
        let headers = response.headers.into_iter().map(|(name, value)| {
            let value = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            (name.to_ascii_lowercase(), value)
        });
        Ok(Exchange {
            method: request.method,
            path: request.path,
            request: request.body,
            status: response.status,
            headers: headers.collect(),
            body: body.into(),
            truncated: response.truncated,
        })
    }
}

impl fmt::Debug for Exchange {
    /// Shows no bodies: they contain conversations.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("method", &self.method)
            .field("path", &self.path)
            .field("status", &self.status)
            .field("body", &format_args!("{} bytes", self.body.len()))
            .field("truncated", &self.truncated)
            .finish_non_exhaustive()
    }
}
