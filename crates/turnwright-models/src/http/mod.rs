//! Requests to model servers and their responses: the seam between a protocol and the network.
//!
//! A [`Transport`] takes a request and gives a response. [`Client`] is the one that goes out; recordings and tests are
//! others:
//!
//! ```
//! use async_trait::async_trait;
//! use turnwright_core::Error;
//! use turnwright_models::ChatCompletions;
//! use turnwright_models::http::{Body, Request, Response, Transport};
//!
//! /// A server that always says the same.
//! #[derive(Debug)]
//! struct Parrot;
//!
//! #[async_trait]
//! impl Transport for Parrot {
//!     async fn send(&self, request: Request) -> Result<Response, Error> {
//!         assert_eq!(request.url.path(), "/v1/chat/completions");
//!         let body = r#"{"choices": [{"message": {"content": "Hello!"}, "finish_reason": "stop"}]}"#;
//!         Ok(Response::new(200, Vec::new(), Body::full(body)))
//!     }
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let model = ChatCompletions::builder("http://parrot/v1").model("parrot").transport(Parrot).build()?;
//! let runner = turnwright_core::runner(model).build()?;
//! assert_eq!(runner.run("Who are you?").await.into_answer()?, "Hello!");
//! # Ok::<(), Error>(()) }).unwrap();
//! ```

mod client;

#[cfg(test)]
mod tests;

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;
use turnwright_core::{Error, ErrorCode};

pub use client::{Body, Client, ClientBuilder};
/// Where a [`Request`] goes.
pub use url::Url;

/// Takes a request to a server and gives what it answers.
#[async_trait]
pub trait Transport: Send + Sync + fmt::Debug {
    /// Makes one request. An answer with an error status is an answer.
    ///
    /// # Errors
    /// `E_MODEL_UNREACHABLE` or `E_MODEL_TIMEOUT`: there is no answer.
    async fn send(&self, request: Request) -> Result<Response, Error>;
}

/// A request: always a `POST` of JSON.
#[derive(Clone)]
#[non_exhaustive]
pub struct Request {
    /// Where to.
    pub url: Url,
    /// Names in lower case, and their values. They hold keys: not shown.
    pub headers: Vec<(String, String)>,
    /// The JSON text.
    pub body: Bytes,
}

impl Request {
    /// A request without headers of its own.
    pub fn new(url: Url, body: impl Into<Bytes>) -> Self {
        Request {
            url,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// One more header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers
            .push((name.into().to_ascii_lowercase(), value.into()));
        self
    }
}

/// A response whose body comes piece by piece.
#[derive(Debug)]
#[non_exhaustive]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// Names in lower case, and their values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Body,
}

impl Response {
    /// A response.
    #[must_use]
    pub fn new(status: u16, headers: Vec<(String, String)>, body: Body) -> Self {
        Response {
            status,
            headers,
            body,
        }
    }

    /// The first header of that name, in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(item, _)| item == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for Request {
    /// Headers and bodies hold secrets, and so may the query: only where it goes is shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("host", &self.url.host_str())
            .field("path", &self.url.path())
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish_non_exhaustive()
    }
}

/// An address from the settings, as a URL that can be dialled.
///
/// # Errors
/// `E_INVALID_MODEL_CONFIG`, which says what is wrong with it.
pub(crate) fn parse_url(what: &str, text: &str) -> Result<Url, Error> {
    let wrong = |why: &dyn fmt::Display| {
        // The address itself may hold a key.
        let message =
            format!("the {what} is not an address: {why}; write it like `https://host/v1`");
        Error::new(ErrorCode::INVALID_MODEL_CONFIG, message)
    };
    let url = Url::parse(text.trim()).map_err(|error| wrong(&error))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        scheme => Err(wrong(&format_args!("its scheme is `{scheme}`"))),
    }
}

/// Whether a URL is on the loopback interface.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// A URL without its credentials, query and fragment, which can hold secrets.
#[must_use]
pub fn without_secrets(url: &Url) -> Url {
    let mut plain = url.clone();
    plain.set_query(None);
    plain.set_fragment(None);
    // These fail only for URLs without a host.
    let _ = plain.set_username("");
    let _ = plain.set_password(None);
    plain
}
