//! Serves clients over streamable HTTP.

use std::fmt;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use rmcp::ErrorData;
use rmcp::model::ProtocolVersion;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;
use tokio::net::TcpListener;
use turnwright_core::{Error, Principal};

use super::authentication::{Authenticator, authenticate};
use super::connections;
use super::handler::Handler;
use super::request_body::{Bodies, read_body};
use super::server::Server;
use super::session_limit::LimitedSessions;
use super::stdio::error_line;

/// An HTTP endpoint of a server. Created by [`McpService::http`](super::McpService::http).
///
/// By default it serves local clients: requests with another `Host` than a loopback name, and requests of web pages of other origins,
/// also local ones, get status 403. There are no CORS headers: a browser reaches the endpoint only through its own origin. There is no
/// authentication unless you set [`authenticate`](Self::authenticate).
///
/// Requests are limited in size, in time and in number: see [`ServeLimits`](super::ServeLimits). In an application of your own, its
/// server accepts the connections, so [`connections`](super::ServeLimits::connections) and the time for the head of a request are up to it.
///
/// ```no_run
/// use turnwright_core::ToolRegistry;
/// use turnwright_mcp::McpService;
///
/// # async fn serve() -> std::io::Result<()> {
/// let service = McpService::new(ToolRegistry::default());
/// // http://127.0.0.1:8765/mcp
/// service.http().serve_loopback(8765).await
/// # }
/// ```
///
/// As part of an application:
///
/// ```
/// use axum::Router;
/// use turnwright_core::ToolRegistry;
/// use turnwright_mcp::McpService;
///
/// let mcp = McpService::new(ToolRegistry::default())
///     .http()
///     .path("/tools")
///     .allowed_hosts(["tools.example.com"])
///     .allowed_origins(["https://app.example.com:443"]);
/// let app: Router = Router::new().merge(mcp.into_router()?);
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[must_use = "an endpoint does nothing until it is served"]
pub struct McpHttp {
    server: Arc<Server>,
    path: String,
    hosts: Vec<String>,
    /// `None`: the endpoint's own.
    origins: Option<Vec<String>>,
    authenticator: Option<Authenticator>,
}

impl McpHttp {
    pub(super) fn new(server: Arc<Server>) -> Self {
        McpHttp {
            server,
            path: "/mcp".to_owned(),
            hosts: ["localhost", "127.0.0.1", "::1"].map(str::to_owned).into(),
            origins: None,
            authenticator: None,
        }
    }

    /// Sets the path of the endpoint.
    ///
    /// Default: `/mcp`.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Sets the host names, or `name:port`, under which clients reach the server.
    ///
    /// Default: the loopback names.
    pub fn allowed_hosts<S: Into<String>>(mut self, hosts: impl IntoIterator<Item = S>) -> Self {
        self.hosts = hosts.into_iter().map(Into::into).collect();
        self
    }

    /// Sets the origins of web pages that may send requests, as `scheme://host:port` with `*` for any port. Requests without an
    /// `Origin`, which programs send, are always accepted.
    ///
    /// Default: the endpoint's own origin, `http://` with the `Host` of the request.
    pub fn allowed_origins<S: Into<String>>(
        mut self,
        origins: impl IntoIterator<Item = S>,
    ) -> Self {
        self.origins = Some(origins.into_iter().map(Into::into).collect());
        self
    }

    /// Sets who sends a request, by its head. Calls act for this principal: handlers and policies read it with
    /// [`ToolContext::principal`](turnwright_core::ToolContext::principal). If it is `None`, the request gets status 401. A session can be
    /// used only by the principal that opened it.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use std::sync::Arc;
    ///
    /// use axum::http::request::Parts;
    /// use turnwright_core::{Principal, ToolRegistry};
    /// use turnwright_mcp::McpService;
    ///
    /// fn user(request: &Parts, tokens: &HashMap<String, Principal>) -> Option<Principal> {
    ///     let header = request.headers.get("authorization")?.to_str().ok()?;
    ///     tokens.get(header.strip_prefix("Bearer ")?).cloned()
    /// }
    ///
    /// let tokens = Arc::new(HashMap::from([("k7d0".to_owned(), Principal::new("ada"))]));
    /// let http = McpService::new(ToolRegistry::default()).http().authenticate(move |request| {
    ///     let tokens = Arc::clone(&tokens);
    ///     async move { user(&request, &tokens) }
    /// });
    /// ```
    ///
    /// If a layer of your application authenticates requests, return the principal that it has put into `request.extensions`.
    ///
    /// Default: requests are not authenticated, and calls act for [`McpService::principal`](super::McpService::principal).
    pub fn authenticate<F, Fut>(mut self, authenticate: F) -> Self
    where
        F: Fn(Parts) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Option<Principal>> + Send + 'static,
    {
        self.authenticator = Some(Arc::new(move |request| Box::pin(authenticate(request))));
        self
    }

    /// Returns a router with the endpoint. If no host is allowed, it refuses all requests.
    ///
    /// # Errors
    /// Returns `E_MISSING_STATE` if a tool needs [`state`](super::McpService::state) that is missing, and `E_INVALID_TURN_CONTEXT` if the
    /// principal is invalid.
    pub fn into_router(self) -> Result<Router, Error> {
        self.router(StreamableHttpServerConfig::default())
    }

    fn router(self, config: StreamableHttpServerConfig) -> Result<Router, Error> {
        self.server.service.check()?;
        let limits = &self.server.service.limits;
        let sessions = Arc::new(LimitedSessions::new(limits));
        let bodies = Bodies::new(limits);
        // An empty list would allow every host.
        let hosts = if self.hosts.is_empty() {
            vec!["invalid.".to_owned()]
        } else {
            self.hosts
        };
        let is_default = self.origins.is_none();
        let config = config
            .with_max_request_body_bytes(limits.request_bytes)
            .with_allowed_hosts(hosts)
            .with_allowed_origins(self.origins.unwrap_or_default())
            .enforce_origin_validation();
        let server = self.server;
        let handler = move || Ok(Handler::new(Arc::clone(&server)));
        let service = StreamableHttpService::new(handler, Arc::clone(&sessions), config);
        let mut router = Router::new()
            .route_service(&self.path, service)
            .layer(from_fn_with_state(bodies, read_body));
        if let Some(authenticator) = self.authenticator {
            let state = (authenticator, Arc::clone(&sessions));
            router = router.layer(from_fn_with_state(state, authenticate));
        }
        router = router
            .layer(from_fn_with_state(sessions, explain_full))
            .layer(from_fn(explain_malformed));
        Ok(if is_default {
            router.layer(from_fn(accept_own_origin))
        } else {
            router
        })
    }

    /// Serves local clients on a port of 127.0.0.1, until the future is dropped, which cancels all calls. See
    /// [`serve_on`](Self::serve_on) for another listener.
    ///
    /// # Errors
    /// Returns an error if the port cannot be used, or see [`into_router`](Self::into_router).
    pub async fn serve_loopback(self, port: u16) -> io::Result<()> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
        self.serve_on(listener).await
    }

    /// Serves the clients of a listener, until the future is dropped, which cancels all calls. If connections cannot be accepted, for
    /// lack of file descriptors for example, it tries again.
    ///
    /// # Errors
    /// See [`into_router`](Self::into_router).
    pub async fn serve_on(self, listener: TcpListener) -> io::Result<()> {
        let config = StreamableHttpServerConfig::default();
        let stop = config.cancellation_token.clone();
        let connections = stop.clone().drop_guard();
        let calls = StopOnDrop(Arc::clone(&self.server));
        let limits = self.server.service.limits.clone();
        let stopped = || stop.clone().cancelled_owned();
        let router = self.router(config).map_err(io::Error::other)?;
        connections::serve(listener, router, &limits, stopped).await;
        drop((connections, calls));
        Ok(())
    }
}

/// Cancels the calls of a server.
struct StopOnDrop(Arc<Server>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Removes the `Origin` of a page that the endpoint itself has sent. `rmcp` refuses the others, and checks the `Host`.
async fn accept_own_origin(mut request: Request, next: Next) -> Response {
    let headers = request.headers_mut();
    if let (Some(host), Some(origin)) = (headers.get(HOST), headers.get(ORIGIN))
        && origin.as_bytes().strip_prefix(b"http://") == Some(host.as_bytes())
    {
        headers.remove(ORIGIN);
    }
    next.run(request).await
}

/// Answers with status 503 if too many sessions are open. `rmcp` answers with 500 if it cannot open one.
async fn explain_full(
    State(sessions): State<Arc<LimitedSessions>>,
    request: Request,
    next: Next,
) -> Response {
    let opens_session = opens_session(&request);
    let response = next.run(request).await;
    let failed = response.status() == StatusCode::INTERNAL_SERVER_ERROR;
    if !(opens_session && failed && sessions.are_full()) {
        return response;
    }
    let message = "Too many sessions are open. Try again later.";
    (StatusCode::SERVICE_UNAVAILABLE, message).into_response()
}

/// Answers a body that is not a message with status 400 and an error of JSON-RPC. `rmcp` answers with 415, as for another content
/// type, for which that status stays.
async fn explain_malformed(request: Request, next: Next) -> Response {
    // `rmcp` reads the body then.
    let content_type = request.headers().get(CONTENT_TYPE);
    let is_json = content_type.is_some_and(|it| it.as_bytes().starts_with(b"application/json"));
    let response = next.run(request).await;
    if !is_json || response.status() != StatusCode::UNSUPPORTED_MEDIA_TYPE {
        return response;
    }
    let error = ErrorData::parse_error("The body is not a JSON-RPC message of the protocol.", None);
    let json = [(CONTENT_TYPE, "application/json")];
    let body = error_line(&Value::Null, &error);
    (StatusCode::BAD_REQUEST, json, body).into_response()
}

fn opens_session(request: &Request) -> bool {
    let headers = request.headers();
    let version = headers.get("mcp-protocol-version");
    let version = version.and_then(|version| version.to_str().ok());
    // Versions are dates.
    let is_modern = version.is_some_and(|it| it >= ProtocolVersion::V_2026_07_28.as_str());
    request.method() == Method::POST && !headers.contains_key("mcp-session-id") && !is_modern
}

impl fmt::Debug for McpHttp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("McpHttp")
            .field("path", &self.path)
            .field("hosts", &self.hosts)
            .field("origins", &self.origins)
            .finish_non_exhaustive()
    }
}
