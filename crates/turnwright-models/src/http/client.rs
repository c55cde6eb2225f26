//! The HTTP transport.
//!
//! It follows no redirects: a request carries a key and a conversation.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use reqwest::header::{HeaderName, HeaderValue};
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt as _;
use turnwright_core::{Error, ErrorCode};

use super::{Request, Response, Transport, parse_url};

/// A [`Transport`](super::Transport) over HTTP. Cheap to clone; clones share their connections.
///
/// It does not follow redirects: a request contains a key and a conversation, which must not be sent to another
/// server.
///
/// ```
/// use std::time::Duration;
/// use turnwright_models::http::Client;
///
/// let client = Client::builder().connect_timeout(Duration::from_secs(5)).no_proxy().build()?;
/// # let _ = client;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
}

/// Builds a [`Client`].
///
/// ```
/// use std::time::Duration;
/// use turnwright_models::http::Client;
///
/// let client = Client::builder().proxy("http://127.0.0.1:3128").connect_timeout(Duration::from_secs(3)).build()?;
/// assert!(Client::builder().proxy("not an address").build().is_err());
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[must_use = "a builder does nothing until `build` is called"]
#[derive(Clone, Debug, Default)]
pub struct ClientBuilder {
    connect_timeout: Option<Duration>,
    proxy: Proxy,
}

#[derive(Clone, Default)]
enum Proxy {
    /// The proxy from the environment.
    #[default]
    Environment,
    None,
    At(String),
}

impl Client {
    /// Creates a builder.
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }
}

impl ClientBuilder {
    /// Sets the connect timeout. Default: 10 s.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.connect_timeout = Some(limit);
        self
    }

    /// Sets a proxy. Overrides the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`).
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.proxy = Proxy::At(url.into());
        self
    }

    /// Disables proxies. Overrides the environment.
    pub fn no_proxy(mut self) -> Self {
        self.proxy = Proxy::None;
        self
    }

    /// Returns the URL of the proxy that was set.
    pub(crate) fn proxy_url(&self) -> Option<&str> {
        match &self.proxy {
            Proxy::At(url) => Some(url),
            Proxy::Environment | Proxy::None => None,
        }
    }

    /// Ignores proxies from the environment.
    pub(crate) fn without_environment_proxy(self) -> Self {
        match self.proxy {
            Proxy::Environment => self.no_proxy(),
            Proxy::None | Proxy::At(_) => self,
        }
    }

    /// Builds the client.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` if the proxy is not a valid address, or if TLS cannot be set up.
    pub fn build(self) -> Result<Client, Error> {
        let message = "the HTTP client cannot be set up";
        let invalid = || Error::new(ErrorCode::INVALID_MODEL_CONFIG, message);
        let wrong = |error: reqwest::Error| invalid().with_source(error.without_url());
        let tls = tls_config().map_err(|error| invalid().with_source(error))?;
        let builder = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .tcp_nodelay(true)
            .user_agent(concat!("turnwright/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.connect_timeout.unwrap_or(Duration::from_secs(10)));
        let builder = match self.proxy {
            Proxy::Environment => builder,
            Proxy::None => builder.no_proxy(),
            Proxy::At(url) => {
                let url = parse_url("proxy", &url)?;
                builder
                    .no_proxy()
                    .proxy(reqwest::Proxy::all(url).map_err(wrong)?)
            }
        };
        let http = builder.build().map_err(wrong)?;
        Ok(Client { http })
    }
}

#[async_trait]
impl Transport for Client {
    async fn send(&self, request: Request) -> Result<Response, Error> {
        let host = match (request.url.host_str(), request.url.port_or_known_default()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (host, _) => host.unwrap_or_default().to_owned(),
        };
        let mut builder = self.http.request(request.method, request.url);
        if !request.body.is_empty() {
            builder = builder.body(request.body);
        }
        for (name, value) in request.headers {
            let (Ok(header), Ok(mut value)) =
                (HeaderName::try_from(&name), HeaderValue::try_from(value))
            else {
                let message =
                    format!("the header `{name}` cannot be sent: it contains an invalid character");
                return Err(Error::new(ErrorCode::INVALID_MODEL_CONFIG, message));
            };
            value.set_sensitive(true);
            builder = builder.header(header, value);
        }
        let response = builder.send().await;
        let response = response.map_err(|error| unreachable(&host, error))?;
        let status = response.status().as_u16();
        let headers = response.headers().iter().map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        });
        let headers = headers.collect();
        let pieces = response.bytes_stream();
        let body =
            Body::new(pieces.map(move |piece| piece.map_err(|error| unreachable(&host, error))));
        Ok(Response::new(status, headers, body))
    }
}

/// Returns the error for a request without a response. Shows only the host of the address, because the rest may
/// contain a key.
fn unreachable(host: &str, error: reqwest::Error) -> Error {
    let error = error.without_url();
    let server = format!("the model server at {host}");
    let (code, message) = if error.is_timeout() {
        (
            ErrorCode::MODEL_TIMEOUT,
            format!("{server} did not answer in time"),
        )
    } else if error.is_connect() {
        let message =
            format!("{server} cannot be reached: is the base URL right, and does it run?");
        (ErrorCode::MODEL_UNREACHABLE, message)
    } else {
        (
            ErrorCode::MODEL_UNREACHABLE,
            format!("the connection to {server} broke"),
        )
    };
    Error::new(code, message).with_source(error)
}

/// The body of a response, read piece by piece.
///
/// ```
/// use turnwright_models::http::Body;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let mut body = Body::full("data: [DONE]\n\n");
/// assert_eq!(body.next().await.unwrap()?, "data: [DONE]\n\n");
/// assert!(body.next().await.is_none());
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
pub struct Body(Pin<Box<dyn Stream<Item = Result<Bytes, Error>> + Send>>);

impl Body {
    /// Creates a body from a stream of pieces.
    pub fn new(pieces: impl Stream<Item = Result<Bytes, Error>> + Send + 'static) -> Self {
        Body(Box::pin(pieces.fuse()))
    }

    /// Creates a body from bytes that are already available.
    pub fn full(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Body::new(futures_util::stream::iter([Ok(bytes)]))
    }

    /// Returns the next piece, or `None` at the end.
    ///
    /// # Errors
    /// Fails if the connection broke.
    ///
    /// # Cancel safety
    /// This method is cancel safe: no piece is lost if the future is dropped.
    pub async fn next(&mut self) -> Option<Result<Bytes, Error>> {
        self.0.next().await
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Body")
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Client")
    }
}

impl fmt::Debug for Proxy {
    /// The address of a proxy may contain a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Proxy::Environment => "of the environment",
            Proxy::None => "none",
            Proxy::At(_) => "set",
        })
    }
}

/// Returns the TLS settings of a client: `ring`, and the certificates that the platform trusts.
///
/// Every client needs them: `reqwest` is built without a provider and panics otherwise. The default provider of the
/// process is the program's choice and is not touched.
///
/// # Errors
/// If the certificates of the platform cannot be loaded.
pub fn tls_config() -> Result<ClientConfig, rustls::Error> {
    let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
