//! The transport over HTTP. `rmcp` has the rules of the protocol (sessions, resumption, headers); this is its HTTP client, with
//! limits for what is read, and without redirects: a request carries credentials.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::{self, BoxStream};
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, StatusCode};
use reqwest::{Client, RequestBuilder, Response};
use rmcp::model::{ClientJsonRpcMessage, ErrorData, RequestId, ServerJsonRpcMessage};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Sse, SseStream};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};
use turnwright_core::schema::escape;
use turnwright_models::http::{is_loopback, tls_config};

use super::failure::{Ending, Failure, causes};
use super::http_response::{
    EVENT_STREAM, HttpError, HttpResult, bounded, challenge, content_type, failed, header, read,
    rejected, unexpected, wrong_content_type,
};
use super::http_settings::HttpSettings;
use super::raw_results::{RawResults, Unreadable, is_response};
use crate::limits::Limits;
use crate::oauth::{Authorizer, Secret};

pub(super) const SESSION_ID: &str = "mcp-session-id";
pub(super) const LAST_EVENT_ID: &str = "last-event-id";
const JSON: &str = "application/json";

/// How long connecting may take.
const CONNECT: Duration = Duration::from_secs(10);

/// The shortest time between two streams that are opened by `GET`.
const STREAM_INTERVAL: Duration = Duration::from_millis(100);

/// Parts of the names of headers that have secrets.
const SECRET_NAMES: &[&str] = &["auth", "cookie", "key", "secret", "token"];

const EXPIRED: &str = "the server has ended the session";

/// Maximum size of an error page that is read.
const MAX_ERROR_BODY: usize = 64 << 10;

/// What may be wrong if a server does not know the first request.
const OLD_TRANSPORT: &str = ": is this the URL of an MCP server with streamable HTTP, often `/mcp`? HTTP+SSE, the transport of protocol \
                             2024-11-05, is not supported";

/// Creates the transport. Nothing is sent.
pub(super) fn transport(
    settings: &HttpSettings,
    authorizer: Option<Arc<Authorizer>>,
    results: RawResults,
    ending: Ending,
    limits: &Limits,
) -> Result<StreamableHttpClientTransport<HttpClient>, Failure> {
    let tls = tls_config().map_err(|error| Failure::NotSent(error.to_string()))?;
    let mut client = Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT);
    if reqwest::Url::parse(settings.url()).is_ok_and(|url| is_loopback(&url)) {
        client = client.no_proxy();
    }
    let client = HttpClient {
        client: client
            .build()
            .map_err(|error| Failure::NotSent(error.to_string()))?,
        authorizer,
        secrets: secrets_of(settings),
        results,
        ending,
        last_stream: Arc::default(),
        limit: limits.message_bytes,
    };
    let mut config = StreamableHttpClientTransportConfig::with_uri(settings.url());
    config.custom_headers = settings.headers().clone();
    config.max_sse_event_size = limits.message_bytes;
    // Definitions may have changed with the session, so they must be read again.
    config.reinit_on_expired_session = false;
    Ok(StreamableHttpClientTransport::with_client(client, config))
}

/// Returns what a failure to send means.
pub(super) fn failure_of(error: &DynamicTransportError) -> Option<Failure> {
    let mut causes = causes(&*error.error);
    let error = causes.find_map(|cause| cause.downcast_ref::<StreamableHttpError<HttpError>>())?;
    if let Some(challenge) = error.auth_challenge() {
        return Some(Failure::Unauthorised(Some(challenge.to_owned())));
    }
    Some(match error {
        StreamableHttpError::Client(HttpError::Connect(why)) => Failure::NotSent(why.clone()),
        StreamableHttpError::Client(HttpError::Rejected(status, why)) => Failure::Rejected {
            code: status.as_u16().into(),
            message: why.clone(),
        },
        // Most servers have not processed the request then. But some answer 404 for what a tool did not find.
        StreamableHttpError::SessionExpired => Failure::Lost(EXPIRED.to_owned()),
        StreamableHttpError::HttpStatus(status) if status.status == 429 => {
            Failure::Busy(match &status.retry_after {
                Some(after) => format!("{error}, retry after {}", escape(after, 40)),
                None => error.to_string(),
            })
        }
        StreamableHttpError::TransportChannelClosed => Failure::Lost(error.to_string()),
        error => Failure::Failed(error.to_string()),
    })
}

/// The HTTP client of `rmcp`.
#[derive(Clone, Debug)]
pub(super) struct HttpClient {
    client: Client,
    authorizer: Option<Arc<Authorizer>>,
    /// The secrets in the headers.
    secrets: Vec<Secret>,
    results: RawResults,
    ending: Ending,
    /// When a stream was last opened by `GET`.
    last_stream: Arc<Mutex<Option<Instant>>>,
    limit: usize,
}

impl StreamableHttpClient for HttpClient {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<StreamableHttpPostResponse> {
        self.results.expect(&message);
        let request = self.client.post(&*uri).header(CONTENT_TYPE, JSON);
        let request = request.body(serde_json::to_vec(&message)?);
        let has_session = session_id.is_some();
        let sent = self.send(&uri, request, session_id, headers).await;
        if let Err(StreamableHttpError::Client(HttpError::Connect(why))) = &sent {
            self.results.not_sent(&message, why);
            self.ending.set(why.clone());
        }
        let response = sent?;
        if is_response(&message) {
            self.results.response_sent();
        }
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return self.expired();
        }
        if !status.is_success() {
            return self.rejected(response, &message, has_session).await;
        }
        let session_id = header(&response, SESSION_ID);
        let request = match &message {
            ClientJsonRpcMessage::Request(request) => Some(request.id.clone()),
            _ => None,
        };
        match content_type(&response) {
            // Nothing is expected, whatever it is.
            _ if request.is_none() => Ok(StreamableHttpPostResponse::Accepted),
            Some(kind) if kind.starts_with(EVENT_STREAM) => {
                let events = self.events(response, request);
                Ok(StreamableHttpPostResponse::Sse(events, session_id))
            }
            Some(kind) if kind.starts_with(JSON) => {
                let body = self.read(response, self.limit).await?;
                let message = self.answer(&body, request).or_else(unexpected)?;
                Ok(StreamableHttpPostResponse::Json(message, session_id))
            }
            kind => wrong_content_type(kind),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<()> {
        let request = self.client.delete(&*uri);
        // The server may not support it. The connection has ended either way.
        let _ = self.send(&uri, request, Some(session_id), headers).await?;
        Ok(())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        _: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<BoxStream<'static, Result<Sse, SseError>>> {
        self.wait_for_stream().await;
        let has_session = session_id.is_some();
        let mut request = self.client.get(&*uri);
        if let Some(id) = last_event_id {
            request = request.header(LAST_EVENT_ID, id);
        }
        let response = self.send(&uri, request, session_id, headers).await?;
        let status = response.status();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        if status == StatusCode::NOT_FOUND && has_session {
            return self.expired();
        }
        if !status.is_success() {
            return Err(HttpStatusError::new(status.as_u16(), None).into());
        }
        match content_type(&response) {
            Some(kind) if kind.starts_with(EVENT_STREAM) => Ok(self.events(response, None)),
            kind => wrong_content_type(kind),
        }
    }
}

impl HttpClient {
    /// Removes tokens and other secrets from what the server says: neither a model nor a log should read them. Only as a whole, since
    /// results may have parts in common with them: all JSON Web Tokens begin in the same way.
    fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let without_token = self.authorizer.as_ref().and_then(|it| it.redact(text));
        let mut text = without_token.map_or(Cow::Borrowed(text), Cow::Owned);
        for secret in self.secrets.iter().map(Secret::expose) {
            if text.contains(secret) {
                text = text.replace(secret, "[redacted]").into();
            }
        }
        text
    }

    /// Ends the connection: it continues in a new session, in which definitions may have changed.
    fn expired<T>(&self) -> HttpResult<T> {
        self.ending.set(EXPIRED.to_owned());
        Err(StreamableHttpError::SessionExpired)
    }

    /// Waits until a stream may be opened. `rmcp` opens one that failed again at once.
    async fn wait_for_stream(&self) {
        let mut last = self.last_stream.lock().await;
        if let Some(last) = *last {
            sleep_until(last + STREAM_INTERVAL).await;
        }
        *last = Some(Instant::now());
    }

    /// Reads the body that answers a request.
    fn answer(
        &self,
        body: &[u8],
        request: Option<RequestId>,
    ) -> Result<ServerJsonRpcMessage, String> {
        self.results.read(body).or_else(|unreadable| {
            let unreadable = Unreadable {
                answers: request,
                ..unreadable
            };
            let error = unreadable.into_error();
            error.ok_or_else(|| "the answer is unreadable".to_owned())
        })
    }

    /// Reads a response that is not a success.
    async fn rejected(
        &self,
        response: Response,
        message: &ClientJsonRpcMessage,
        has_session: bool,
    ) -> HttpResult<StreamableHttpPostResponse> {
        let status = response.status();
        let retry_after = header(&response, "retry-after");
        let body = self.read(response, MAX_ERROR_BODY).await;
        let is_auth = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let is_busy = status == StatusCode::TOO_MANY_REQUESTS;
        if let ClientJsonRpcMessage::Request(request) = message
            && !is_auth
            && !is_busy
        {
            let error = match serde_json::from_slice(&body.unwrap_or_default()) {
                Ok(ServerJsonRpcMessage::Error(error)) => Some(error.error),
                // A server of the old lifecycle does not know how to reject the first request of the new one.
                _ if status.is_client_error()
                    && !has_session
                    && request.request.method() == "server/discover" =>
                {
                    let text = format!("the server rejected `server/discover`: HTTP {status}");
                    Some(ErrorData::invalid_request(text, None))
                }
                _ => None,
            };
            if let Some(error) = error {
                let error = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
                return Ok(StreamableHttpPostResponse::Json(error, None));
            }
        }
        if is_busy || status.is_server_error() {
            return Err(HttpStatusError::new(status.as_u16(), retry_after).into());
        }
        let is_unknown = matches!(
            status,
            StatusCode::BAD_REQUEST | StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED
        );
        let hint = if is_unknown && is_initialize(message) {
            OLD_TRANSPORT
        } else {
            ""
        };
        rejected(status, format!("HTTP {status}{hint}"))
    }

    /// Reads a stream of events. Results are kept here, and `rmcp` gets stand-ins. `request`: the request that the stream answers.
    fn events(
        &self,
        response: Response,
        request: Option<RequestId>,
    ) -> BoxStream<'static, Result<Sse, SseError>> {
        let exceeded = Arc::new(AtomicBool::new(false));
        let bytes = bounded(response.bytes_stream(), self.limit, Arc::clone(&exceeded));
        let this = self.clone();
        let events = SseStream::from_bytes_stream(bytes).map(move |event| {
            let mut event = event?;
            if let Some(data) = event.data.take_if(|data| !data.trim().is_empty()) {
                let data = this.redact(&data);
                let message = match this.results.read(data.as_bytes()) {
                    Ok(message) => Some(message),
                    Err(unreadable) => unreadable.into_error(),
                };
                event.data = message.and_then(|message| serde_json::to_string(&message).ok());
            }
            if let Some(why) = this.results.flooded() {
                this.ending.set(why);
            }
            Ok(event)
        });
        let ending = self.ending.clone();
        let why = format!("an event has more than {} bytes", self.limit);
        let last = stream::once(async move {
            if !exceeded.load(Ordering::Acquire) {
                return None;
            }
            if request.is_none() {
                ending.set(why.clone());
            }
            let unreadable = Unreadable {
                why,
                answers: request,
            };
            let error = serde_json::to_string(&unreadable.into_error()?).ok()?;
            Some(Ok(Sse::default().data(error)))
        });
        events.chain(last.filter_map(ready)).boxed()
    }

    /// Reads a body up to a limit.
    async fn read(&self, response: Response, limit: usize) -> HttpResult<Bytes> {
        let body = read(response, limit).await?;
        match std::str::from_utf8(&body).map(|text| self.redact(text)) {
            Ok(Cow::Owned(text)) => Ok(text.into()),
            // It has no secrets, or is not JSON.
            _ => Ok(body),
        }
    }

    /// Sends a request, and reads what all methods have in common.
    async fn send(
        &self,
        url: &str,
        mut request: RequestBuilder,
        session_id: Option<Arc<str>>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> HttpResult<Response> {
        request = request.header(ACCEPT, format!("{JSON}, {EVENT_STREAM}"));
        if let Some(id) = session_id {
            request = request.header(SESSION_ID, &*id);
        }
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(authorizer) = &self.authorizer
            && let Some(token) = authorizer.header_for(url).await
        {
            request = request.header(AUTHORIZATION, token);
        }
        let response = request.send().await.map_err(failed)?;
        let challenge = self.redact(&challenge(&response)).into_owned();
        match response.status() {
            StatusCode::UNAUTHORIZED => Err(StreamableHttpError::AuthRequired(
                AuthRequiredError::new(challenge),
            )),
            StatusCode::FORBIDDEN if challenge.contains("insufficient_scope") => {
                let error = InsufficientScopeError::new(challenge, None);
                Err(StreamableHttpError::InsufficientScope(error))
            }
            status if status.is_redirection() => {
                rejected(status, format!("HTTP {status}: redirects are not followed"))
            }
            _ => Ok(response),
        }
    }
}

/// Returns the values of headers whose names say that they are secrets.
fn secrets_of(settings: &HttpSettings) -> Vec<Secret> {
    let is_secret =
        |name: &&HeaderName| SECRET_NAMES.iter().any(|part| name.as_str().contains(part));
    let headers = settings.headers().iter();
    let values = headers
        .filter(|(name, _)| is_secret(name))
        .filter_map(|(_, value)| value.to_str().ok());
    // The whole value, and the token alone, without `Bearer`.
    let secrets = values.flat_map(|value| [Some(value), value.rsplit(' ').next()]);
    // Shorter ones are parts of ordinary words.
    let secrets = secrets.flatten().filter(|secret| secret.len() >= 6);
    let mut secrets: Vec<Secret> = secrets.map(Secret::new).collect();
    // The longest one first, because a value may contain another one.
    secrets.sort_by_key(|secret| Reverse(secret.expose().len()));
    secrets
}

fn is_initialize(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, ClientJsonRpcMessage::Request(request) if request.request.method() == "initialize")
}
