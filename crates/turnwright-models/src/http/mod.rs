//! Requests to model servers and their responses: the interface between a protocol and the network.
//!
//! A [`Transport`] sends a request and returns the response. [`Client`] sends it over HTTP. Recordings and tests
//! implement the trait too:
//!
//! ```
//! use async_trait::async_trait;
//! use turnwright_core::Error;
//! use turnwright_models::ChatCompletions;
//! use turnwright_models::http::{Body, Request, Response, Transport};
//!
//! /// A server that always gives the same answer.
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

/// The method of a [`Request`].
pub use ::http::Method;
#[doc(hidden)]
pub use client::tls_config;
pub use client::{Body, Client, ClientBuilder};
/// The URL of a [`Request`].
pub use url::Url;

/// Sends requests to a model server.
///
/// ```
/// use async_trait::async_trait;
/// use turnwright_core::Error;
/// use turnwright_models::http::{Client, Request, Response, Transport};
///
/// /// Adds a header that the gateway of the company requires.
/// #[derive(Debug)]
/// struct Gateway(Client);
///
/// #[async_trait]
/// impl Transport for Gateway {
///     async fn send(&self, request: Request) -> Result<Response, Error> {
///         self.0.send(request.header("x-team", "search")).await
///     }
/// }
/// ```
#[async_trait]
pub trait Transport: Send + Sync + fmt::Debug {
    /// Sends one request. A response with an error status is not an error here.
    ///
    /// # Errors
    /// `E_MODEL_UNREACHABLE` or `E_MODEL_TIMEOUT` if there is no response.
    async fn send(&self, request: Request) -> Result<Response, Error>;
}

/// A request: a `POST` with a JSON body, or a `GET` without one.
///
/// ```
/// use turnwright_models::http::{Method, Request, Url};
///
/// let url: Url = "http://127.0.0.1:8080/v1/models".parse()?;
/// let request = Request::get(url).header("authorization", "Bearer sk-123456");
/// assert_eq!(request.method, Method::GET);
/// assert!(!format!("{request:?}").contains("sk-123456"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The target.
    pub url: Url,
    /// Header names in lower case, with their values. They contain keys and are not shown by `Debug`.
    pub headers: Vec<(String, String)>,
    /// The JSON text; empty for a `GET`.
    pub body: Bytes,
}

impl Request {
    /// Creates a `POST` without headers.
    pub fn new(url: Url, body: impl Into<Bytes>) -> Self {
        Request {
            method: Method::POST,
            url,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    /// Creates a `GET` without headers.
    pub fn get(url: Url) -> Self {
        Request {
            method: Method::GET,
            ..Request::new(url, Bytes::new())
        }
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers
            .push((name.into().to_ascii_lowercase(), value.into()));
        self
    }
}

/// A response with a streamed body.
///
/// ```
/// use turnwright_models::http::{Body, Response};
///
/// let headers = vec![("retry-after".to_owned(), "2".to_owned())];
/// let response = Response::new(429, headers, Body::full("slow down"));
/// assert_eq!(response.header("retry-after"), Some("2"));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Response {
    /// The HTTP status.
    pub status: u16,
    /// Header names in lower case, with their values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Body,
}

impl Response {
    /// Creates a response.
    #[must_use]
    pub fn new(status: u16, headers: Vec<(String, String)>, body: Body) -> Self {
        Response {
            status,
            headers,
            body,
        }
    }

    /// Returns the first header with this name. `name` must be in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(item, _)| item == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl fmt::Debug for Request {
    /// Shows only the target: headers, body and query may contain secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("host", &self.url.host_str())
            .field("path", &self.url.path())
            .field("body", &format_args!("{} bytes", self.body.len()))
            .finish_non_exhaustive()
    }
}

/// Parses an address from the settings.
///
/// # Errors
/// `E_INVALID_MODEL_CONFIG` if it is not a valid address.
pub(crate) fn parse_url(what: &str, text: &str) -> Result<Url, Error> {
    let wrong = |why: &dyn fmt::Display| {
        // The address itself may contain a key.
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

/// Returns `true` if a URL points to the loopback interface.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        None => false,
    }
}

/// Returns a URL without its credentials, query and fragment, which may contain secrets.
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
