//! How a server is described.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use turnwright_core::{Error, ErrorCode, Media};
use url::Url;

use super::habits::Habits;
use super::media::{self, MediaPolicy};
use super::options::Options;
use super::tools::WrittenTools;
use super::{ChatCompletions, decode};
use crate::http::{Client, ClientBuilder, Transport, parse_url};
use crate::redact::{Redactor, credentials};
use crate::retry::RetryPolicy;
use crate::sse;

/// The server that is meant where none is named.
const OPENAI: &str = "https://api.openai.com/v1";

/// Who the text before everything else is said by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SystemRole {
    /// `system`, which every server knows.
    #[default]
    System,
    /// `developer`, as OpenAI's newer models call it.
    Developer,
}

/// Which thoughts go back to the server that they came from. Other servers never get them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReturnReasoning {
    /// `reasoning_details` and `reasoning_content`: servers that write them want them back, and some refuse a call whose
    /// thoughts are missing. Not `reasoning`, which some that write it refuse to read.
    #[default]
    Wanted,
    /// Whatever came, in the field in which it came.
    All,
    /// None.
    None,
}

/// How the server is told of the form that an answer must have. The answer is checked in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum TypedAnswers {
    /// By `response_format` of the type `json_schema`, which holds the schema.
    #[default]
    JsonSchema,
    /// By `response_format` of the type `json_object`, and by words that hold the schema: for servers that know no schemas.
    JsonObject,
    /// By words alone: for servers that cannot do either beside tools.
    Words,
}

/// Which media a server can be shown.
type Shows = Arc<dyn Fn(&Media) -> bool + Send + Sync>;

/// How a media is written for a server that wants it otherwise than most.
type MediaPart = Arc<dyn Fn(&Media, &str) -> Option<Value> + Send + Sync>;

/// What is known of a server.
pub(super) struct Adapter {
    pub(super) endpoint: Url,
    /// The endpoint without what may be secret: where provider state came from.
    pub(super) from: String,
    pub(super) headers: Vec<(String, String)>,
    /// What must never be seen, wherever a server puts it.
    pub(super) redactor: Redactor,
    pub(super) transport: Arc<dyn Transport>,
    pub(super) retry: RetryPolicy,
    pub(super) request_timeout: Duration,
    pub(super) idle_timeout: Duration,
    pub(super) max_frame: usize,
    pub(super) max_body: usize,
    pub(super) system: String,
    pub(super) role: SystemRole,
    pub(super) explains_fences: bool,
    pub(super) media_policy: MediaPolicy,
    pub(super) shows: Shows,
    pub(super) media_part: Option<MediaPart>,
    pub(super) max_media: u64,
    pub(super) window: Option<u64>,
    pub(super) reasoning: ReturnReasoning,
    pub(super) typed: TypedAnswers,
    pub(super) name: String,
    pub(super) tools: WrittenTools,
    pub(super) habits: Habits,
}

/// Describes a server: see [`ChatCompletions::builder`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct ChatCompletionsBuilder {
    base_url: String,
    api_key: Option<String>,
    headers: Vec<(String, String)>,
    query: Vec<(String, String)>,
    client: ClientBuilder,
    transport: Option<Arc<dyn Transport>>,
    retry: RetryPolicy,
    request_timeout: Duration,
    idle_timeout: Duration,
    max_frame: usize,
    max_body: usize,
    system: String,
    role: SystemRole,
    explains_fences: bool,
    media_policy: MediaPolicy,
    shows: Option<Shows>,
    media_part: Option<MediaPart>,
    max_media: u64,
    window: Option<u64>,
    reasoning: ReturnReasoning,
    typed: TypedAnswers,
    strict_roles: bool,
    name: Option<String>,
    options: Options,
}

impl ChatCompletionsBuilder {
    pub(super) fn new(base_url: String) -> Self {
        ChatCompletionsBuilder {
            base_url,
            api_key: None,
            headers: Vec::new(),
            query: Vec::new(),
            client: Client::builder(),
            transport: None,
            retry: RetryPolicy::new(),
            request_timeout: Duration::from_secs(600),
            idle_timeout: Duration::from_secs(120),
            max_frame: sse::MAX_FRAME,
            max_body: decode::MAX_BODY,
            system: String::new(),
            role: SystemRole::default(),
            explains_fences: true,
            media_policy: MediaPolicy::default(),
            shows: None,
            media_part: None,
            max_media: 20 * 1024 * 1024,
            window: None,
            reasoning: ReturnReasoning::default(),
            typed: TypedAnswers::default(),
            strict_roles: false,
            name: None,
            options: Options::default(),
        }
    }

    pub(super) fn from_env(env: impl Fn(&str) -> Option<String>) -> Result<Self, Error> {
        let said = |name: &str| env(name).filter(|value| !value.trim().is_empty());
        let wrong = |message: &str| Error::new(ErrorCode::InvalidModelConfig, message);
        let (base_url, key) = (said("OPENAI_BASE_URL"), said("OPENAI_API_KEY"));
        if base_url.is_none() && key.is_none() {
            return Err(wrong(
                "no model server is named: set OPENAI_API_KEY, or OPENAI_BASE_URL for another server than OpenAI's",
            ));
        }
        let model = said("OPENAI_MODEL").ok_or_else(|| {
            wrong("no model is named: set OPENAI_MODEL, for example to `gpt-4.1-mini`")
        })?;
        let builder = ChatCompletionsBuilder::new(base_url.unwrap_or_else(|| OPENAI.to_owned()));
        let builder = builder.model(model.trim());
        Ok(match key {
            Some(key) => builder.api_key(key.trim()),
            None => builder,
        })
    }

    /// The key, sent as `Authorization: Bearer …`.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// One more header, such as `api-key` for Azure. Its value is held to be secret.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = name.into().to_ascii_lowercase();
        self.headers.push((name, value.into()));
        self
    }

    /// A part of the query, such as `api-version` for Azure.
    pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.query.push((name.into(), value.into()));
        self
    }

    /// Which model.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.options = self.options.model(model);
        self
    }

    /// The parameters of every request, over those that were given before.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options.over(&self.options);
        self
    }

    /// The system prompt, which stands before everything else.
    pub fn system_prompt(mut self, text: impl Into<String>) -> Self {
        self.system = text.into();
        self
    }

    /// Who the system prompt is said by.
    pub fn system_role(mut self, role: SystemRole) -> Self {
        self.role = role;
        self
    }

    /// Whether the model is told what the fences around foreign text mean. It is unless told: a fence that nobody explains
    /// stops little.
    pub fn explain_fences(mut self, explains: bool) -> Self {
        self.explains_fences = explains;
        self
    }

    /// How long it may take to connect. 10 seconds unless told.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.client = self.client.connect_timeout(limit);
        self
    }

    /// How long one request may take from its beginning to the end of its response. 10 minutes unless told.
    pub fn request_timeout(mut self, limit: Duration) -> Self {
        self.request_timeout = limit;
        self
    }

    /// How long a response that has begun may stay silent. 2 minutes unless told.
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.idle_timeout = limit;
        self
    }

    /// Through this proxy, whatever the environment says.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.client = self.client.proxy(url);
        self
    }

    /// Through no proxy, whatever the environment says.
    pub fn no_proxy(mut self) -> Self {
        self.client = self.client.no_proxy();
        self
    }

    /// By another way than HTTP: a recording, say.
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// When a request is made again.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// The most bytes that one event of a stream may have. 8 MiB unless told.
    pub fn max_event_bytes(mut self, bytes: usize) -> Self {
        self.max_frame = bytes;
        self
    }

    /// The most bytes that a response may have. 64 MiB unless told.
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.max_body = bytes;
        self
    }

    /// What happens to media that the server cannot be shown. They are described unless told.
    pub fn unsupported_media(mut self, policy: MediaPolicy) -> Self {
        self.media_policy = policy;
        self
    }

    /// Which media the server can be shown. Unless told: PNG, JPEG, GIF and WebP images, WAV and MP3 audio, PDF documents.
    pub fn shows(mut self, shows: impl Fn(&Media) -> bool + Send + Sync + 'static) -> Self {
        self.shows = Some(Arc::new(shows));
        self
    }

    /// How a media that is shown is written, where the server wants it otherwise than most: a part of a message, made of the
    /// media and its bytes in base64. `None` is the usual way.
    ///
    /// ```
    /// use serde_json::json;
    /// use turnwright_core::{Media, MediaKind};
    /// use turnwright_models::ChatCompletions;
    ///
    /// // Documents as Mistral takes them.
    /// let model = ChatCompletions::builder("https://api.mistral.ai/v1")
    ///     .model("mistral-small-latest")
    ///     .media_part(|media: &Media, data: &str| {
    ///         let url = format!("data:{};base64,{data}", media.mime_type());
    ///         (media.kind() == MediaKind::Document).then(|| json!({ "type": "document_url", "document_url": url }))
    ///     });
    /// # let _ = model;
    /// ```
    pub fn media_part(
        mut self,
        write: impl Fn(&Media, &str) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        self.media_part = Some(Arc::new(write));
        self
    }

    /// Sets the most bytes that one media may have. A larger one is described to the model, with a warning event; with
    /// [`MediaPolicy::Throw`] the turn fails. Default: 20 MiB.
    pub fn max_media_bytes(mut self, bytes: u64) -> Self {
        self.max_media = bytes;
        self
    }

    /// How many tokens the model takes, prompt and answer together. A prompt that does not fit is not sent. Known for some
    /// models by their names; unknown for others unless told here.
    pub fn context_window(mut self, tokens: u64) -> Self {
        self.window = Some(tokens);
        self
    }

    /// Which thoughts go back to the server.
    pub fn return_reasoning(mut self, which: ReturnReasoning) -> Self {
        self.reasoning = which;
        self
    }

    /// How the server is told of the form that an answer must have.
    pub fn typed_answers(mut self, how: TypedAnswers) -> Self {
        self.typed = how;
        self
    }

    /// For a server that takes a user's message neither after that of a tool nor after another user's, as Mistral's and many
    /// chat templates do: a word of the assistant's is put in between. A server that refuses a request for it is asked again
    /// in this way by itself, from then on always.
    pub fn strict_roles(mut self, strict: bool) -> Self {
        self.strict_roles = strict;
        self
    }

    /// What the server is called in traces. The host of its address unless told.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Makes the executor.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG`, which says what is wrong.
    pub fn build(self) -> Result<ChatCompletions, Error> {
        self.options.check()?;
        let endpoint = endpoint(&self.base_url, &self.query)?;
        let from = origin_and_path(&endpoint);
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        if let Some(key) = self.api_key {
            let key = key.trim();
            headers.push(("authorization".to_owned(), format!("Bearer {key}")));
        }
        headers.extend(self.headers);
        let redactor = redactor(&headers, &endpoint, self.client.proxy_url());
        let transport = match self.transport {
            Some(transport) => transport,
            // A proxy of the environment is not for what runs on this machine.
            None if is_here(&endpoint) => Arc::new(self.client.no_proxy_unless_told().build()?),
            None => Arc::new(self.client.build()?),
        };
        let host = endpoint.host_str().unwrap_or_default().to_owned();
        let adapter = Adapter {
            from,
            headers,
            redactor,
            transport,
            retry: self.retry,
            request_timeout: self.request_timeout,
            idle_timeout: self.idle_timeout,
            max_frame: self.max_frame,
            max_body: self.max_body,
            system: self.system,
            role: self.role,
            explains_fences: self.explains_fences,
            media_policy: self.media_policy,
            shows: self.shows.unwrap_or_else(|| Arc::new(media::usually_shown)),
            media_part: self.media_part,
            max_media: self.max_media,
            window: self.window,
            reasoning: self.reasoning,
            typed: self.typed,
            name: self.name.unwrap_or(host),
            tools: WrittenTools::default(),
            habits: Habits::new(self.strict_roles),
            endpoint,
        };
        Ok(ChatCompletions {
            adapter: Arc::new(adapter),
            options: Arc::new(self.options),
        })
    }
}

/// What must not be seen of a request and of the proxies that it may go through.
fn redactor(headers: &[(String, String)], endpoint: &Url, proxy: Option<&str>) -> Redactor {
    let pairs = headers.iter().map(|(name, value)| (&**name, &**value));
    let mut secrets = credentials(pairs, endpoint);
    let environment = PROXIES.iter().filter_map(|name| std::env::var(name).ok());
    for proxy in environment.chain(proxy.map(str::to_owned)) {
        if let Ok(url) = Url::parse(proxy.trim()) {
            secrets.extend(credentials([], &url));
        }
    }
    let mut redactor = Redactor::new(SECRET);
    for secret in secrets.iter().filter(|it| it.len() >= SHORTEST_SECRET) {
        redactor.add(secret);
    }
    redactor
}

/// What is written where a secret was.
const SECRET: &str = "[secret]";

/// Shorter values are found in too many texts that hold no secret.
const SHORTEST_SECRET: usize = 4;

/// The variables that can name a proxy, with its password.
const PROXIES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// Where requests go: the base URL and the name of the resource, unless it stands there already.
fn endpoint(base: &str, query: &[(String, String)]) -> Result<Url, Error> {
    let mut url = parse_url("base URL", base)?;
    let path = url.path().trim_end_matches('/').to_owned();
    if !path.ends_with("/chat/completions") {
        url.set_path(&format!("{path}/chat/completions"));
    }
    if !query.is_empty() {
        url.query_pairs_mut().extend_pairs(query);
    }
    url.set_fragment(None);
    Ok(url)
}

/// Whether an address is this machine's.
fn is_here(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// An address without its query and password.
fn origin_and_path(url: &Url) -> String {
    let mut plain = url.clone();
    plain.set_query(None);
    // Fails only where there can be neither.
    let _ = plain.set_username("");
    let _ = plain.set_password(None);
    plain.into()
}

impl fmt::Debug for Adapter {
    /// Keys are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Adapter")
            .field("endpoint", &self.from)
            .field("transport", &self.transport)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for ChatCompletionsBuilder {
    /// Keys are not shown, nor an address that may hold one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatCompletionsBuilder")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
