//! The HTTP client for metadata, registration and tokens.

use std::fmt::Display;
use std::iter::successors;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use futures_util::StreamExt as _;
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, Method, Request, StatusCode};
use parking_lot::Mutex;
use reqwest::Client;
use rmcp::transport::auth::{OAuthHttpClient, OAuthHttpClientFuture, OAuthHttpRequest};
use serde_json::Value;
use tokio::time::timeout;
use turnwright_models::fetch::{Resolver, SystemResolver};
use turnwright_models::http::{is_loopback, tls_config};
use url::{Origin, Url, form_urlencoded};

use super::addresses::{Addresses, GuardedResolver, Refused};
use super::grant::Secret;
use super::metadata::check_source;
use super::responses;

/// Maximum size of an answer.
const MAX_BYTES: usize = 256 << 10;

/// Maximum number of authorization servers that a server may name. `rmcp` sends several requests to each.
const MAX_NAMED: usize = 10;

/// Maximum time for a request and its answer.
const TOTAL: Duration = Duration::from_secs(30);

/// Maximum time to connect.
const CONNECT: Duration = Duration::from_secs(10);

/// What `rmcp` gets instead of an authorization code, which it would write to the log.
pub(super) const CODE: &str = "code-is-inserted-when-it-is-sent";

const FORM: &str = "application/x-www-form-urlencoded";

type Body = http::Response<Vec<u8>>;

/// Sends the requests of one authorisation. Follows no redirects.
pub(super) struct GuardedHttp {
    addresses: Addresses,
    resolver: Arc<dyn Resolver>,
    code: Mutex<Option<Secret>>,
    /// The only origin that gets codes, refresh tokens and client secrets.
    secrets_to: OnceLock<Origin>,
    /// Why the last request failed. `rmcp` shows it together with the URL, which may contain a key.
    failure: Mutex<Option<String>>,
    /// Why the first address was refused.
    refusal: OnceLock<String>,
}

impl GuardedHttp {
    pub(super) fn new(addresses: Addresses) -> Self {
        GuardedHttp::with_resolver(addresses, Arc::new(SystemResolver))
    }

    pub(super) fn with_resolver(addresses: Addresses, resolver: Arc<dyn Resolver>) -> Self {
        GuardedHttp {
            addresses,
            resolver,
            code: Mutex::default(),
            secrets_to: OnceLock::new(),
            failure: Mutex::default(),
            refusal: OnceLock::new(),
        }
    }

    /// Sets the authorization code that is sent instead of [`CODE`].
    pub(super) fn set_code(&self, code: Secret) {
        *self.code.lock() = Some(code);
    }

    /// Sets the token endpoint. Token requests to another origin are refused.
    pub(super) fn send_secrets_to(&self, token_endpoint: &Url) {
        self.secrets_to.get_or_init(|| token_endpoint.origin());
    }

    /// Returns why the last request failed, if it did.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().clone()
    }

    /// Returns why an address was refused, if one was.
    pub(super) fn refusal(&self) -> Option<String> {
        self.refusal.get().cloned()
    }

    /// Notes the first refusal.
    fn refused(&self, why: String) -> String {
        self.refusal.get_or_init(|| why.clone());
        why
    }

    /// Notes if the metadata of a server names an authorization server whose address is refused. `rmcp` skips some of them without a
    /// request.
    ///
    /// # Errors
    /// It names too many.
    fn check_named(&self, metadata: &Value) -> Result<(), String> {
        let named = metadata
            .get("authorization_servers")
            .and_then(Value::as_array);
        let count = named.map_or(0, Vec::len);
        if count > MAX_NAMED {
            let why =
                format!("the server names {count} authorization servers, more than {MAX_NAMED}");
            return Err(self.refused(why));
        }
        let urls = named
            .into_iter()
            .flatten()
            .filter_map(|url| Url::parse(url.as_str()?).ok());
        for why in urls.filter_map(|url| self.addresses.check(&url).err()) {
            self.refused(why);
        }
        Ok(())
    }

    /// Returns metadata as it was checked. `rmcp` must not read the text itself, because its parser accepts more. Empty if it is not
    /// JSON: `rmcp` then looks for metadata in the next place.
    ///
    /// # Errors
    /// See [`check_named`](Self::check_named) and [`check_source`].
    pub(super) fn checked_metadata(&self, body: &[u8], fetched: &Url) -> Result<Vec<u8>, String> {
        let Ok(metadata) = serde_json::from_slice::<Value>(body) else {
            return Ok(Vec::new());
        };
        self.check_named(&metadata)?;
        check_source(&metadata, fetched)?;
        Ok(metadata.to_string().into_bytes())
    }

    /// Returns why a request has no response.
    fn unanswered(&self, host: &str, error: reqwest::Error) -> String {
        let error = error.without_url();
        let first: &(dyn std::error::Error + 'static) = &error;
        let mut causes = successors(Some(first), |error| error.source());
        match causes.find_map(|cause| cause.downcast_ref::<Refused>()) {
            Some(Refused(why)) => self.refused(why.clone()),
            None => not_reached(host, &error),
        }
    }

    async fn send(&self, request: Request<Vec<u8>>) -> Result<Body, String> {
        let url = Url::parse(&request.uri().to_string())
            .map_err(|_| "a URL of the OAuth metadata is invalid".to_owned())?;
        self.addresses
            .check(&url)
            .map_err(|why| self.refused(why))?;
        let host = url.host_str().unwrap_or_default().to_owned();
        let client = self.client(&url)?;
        let (parts, body) = request.into_parts();
        let kind = Kind::of(&parts);
        let body = match kind {
            Kind::Token if self.secrets_to.get() != Some(&url.origin()) => {
                return Err(format!("{host} is not the token endpoint"));
            }
            Kind::Token => self.with_code(&body),
            Kind::Metadata | Kind::Registration => body,
        };
        let sent = client
            .request(parts.method, url.clone())
            .headers(parts.headers)
            .body(body)
            .send();
        let answer = async {
            let response = sent.await.map_err(|error| self.unanswered(&host, error))?;
            let mut answer = read(&host, response, kind).await?;
            if kind == Kind::Metadata {
                *answer.body_mut() = self.checked_metadata(answer.body(), &url)?;
            }
            Ok(answer)
        };
        let answer = timeout(TOTAL, answer).await;
        answer.map_err(|_| format!("{host} did not answer within {TOTAL:?}"))?
    }

    /// Returns the client for a request. Each has its own, so that no connection is used again without a check.
    fn client(&self, url: &Url) -> Result<Client, String> {
        let not_set_up = |error: &dyn Display| format!("the HTTP client cannot be set up: {error}");
        let tls = tls_config().map_err(|error| not_set_up(&error))?;
        let mut client = Client::builder()
            .tls_backend_preconfigured(tls)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .no_gzip()
            .connect_timeout(CONNECT)
            .user_agent(concat!("turnwright/", env!("CARGO_PKG_VERSION")));
        // The user has chosen the server itself, and the transport dials it in the same way.
        let is_own = self.addresses.is_own(url);
        if !is_own {
            client = client.dns_resolver(GuardedResolver {
                addresses: self.addresses.clone(),
                resolver: Arc::clone(&self.resolver),
                plain: url.scheme() == "http",
            });
        }
        // A proxy would resolve names itself.
        if !is_own || is_loopback(url) {
            client = client.no_proxy();
        }
        client.build().map_err(|error| not_set_up(&error))
    }

    fn with_code(&self, body: &[u8]) -> Vec<u8> {
        let code = self.code.lock();
        let fields = form_urlencoded::parse(body).map(|(name, value)| match &*code {
            Some(code) if name == "code" && value == CODE => (name, code.expose().into()),
            _ => (name, value),
        });
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.extend_pairs(fields).finish().into_bytes()
    }
}

impl OAuthHttpClient for GuardedHttp {
    fn execute(&self, request: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let answer = self.send(request.request).await;
            *self.failure.lock() = answer.as_ref().err().cloned();
            answer.map_err(|why| Refused(why).into())
        })
    }
}

/// What a request is for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Metadata,
    Registration,
    Token,
}

impl Kind {
    fn of(request: &http::request::Parts) -> Self {
        let content_type = request.headers.get(CONTENT_TYPE);
        let is_form = content_type.is_some_and(|kind| kind.as_bytes().starts_with(FORM.as_bytes()));
        match request.method {
            Method::GET => Kind::Metadata,
            _ if is_form => Kind::Token,
            _ => Kind::Registration,
        }
    }
}

async fn read(host: &str, response: reqwest::Response, kind: Kind) -> Result<Body, String> {
    let status = response.status();
    let challenge = response.headers().get(WWW_AUTHENTICATE).cloned();
    let mut body = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|error| not_reached(host, &error.without_url()))?;
        if body.len() + piece.len() > MAX_BYTES {
            return Err(format!(
                "the answer of {host} has more than {MAX_BYTES} bytes"
            ));
        }
        body.extend_from_slice(&piece);
    }
    let invalid = |why: String| format!("{host}: {why}");
    let body = match kind {
        Kind::Metadata => body,
        _ if !status.is_success() => responses::error(&body).to_string().into_bytes(),
        Kind::Registration | Kind::Token => {
            let read = if kind == Kind::Token {
                responses::tokens
            } else {
                responses::registration
            };
            read(&body).map_err(invalid)?.to_string().into_bytes()
        }
    };
    // No `Location`: `rmcp` would follow it.
    let mut response = http::Response::new(body);
    *response.status_mut() = match kind {
        Kind::Token if status.is_success() => StatusCode::OK,
        _ => status,
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if let Some(challenge) = challenge {
        headers.insert(WWW_AUTHENTICATE, challenge);
    }
    Ok(response)
}

/// Returns why a host was not reached: the deepest cause of the error.
fn not_reached(host: &str, error: &reqwest::Error) -> String {
    let first: &(dyn std::error::Error + 'static) = error;
    let root = successors(Some(first), |error| error.source()).last();
    format!("{host} cannot be reached: {}", root.unwrap_or(first))
}
