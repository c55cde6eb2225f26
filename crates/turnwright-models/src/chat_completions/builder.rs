//! The builder for [`ChatCompletions`].

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use turnwright_core::{Error, ErrorCode, Media, ModelSettings};

use super::adapter::{Adapter, endpoint, redactor};
use super::options::Options;
use super::parameters::no_model;
use super::quirks::Quirks;
use super::settings::{MediaPolicy, ReturnReasoning, Settings, SystemRole, TypedAnswers};
use super::tools::WrittenTools;
use super::{ChatCompletions, PROTOCOL, check};
use crate::http::{Client, ClientBuilder, Transport, is_loopback, without_secrets};
use crate::retry::RetryPolicy;

/// The default base URL of `from_env`.
const OPENAI: &str = "https://api.openai.com/v1";

/// Configures a server: see [`ChatCompletions::builder`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct ChatCompletionsBuilder {
    base_url: String,
    api_key: Option<String>,
    headers: Vec<(String, String)>,
    query: Vec<(String, String)>,
    client: ClientBuilder,
    transport: Option<Arc<dyn Transport>>,
    settings: Settings,
    strict_roles: bool,
    name: Option<String>,
    options: Options,
    model_settings: ModelSettings,
    max_completion_tokens: Option<bool>,
    /// The environment names no server, so a key is required.
    needs_key: bool,
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
            settings: Settings::default(),
            strict_roles: false,
            name: None,
            options: Options::default(),
            model_settings: ModelSettings::new(),
            max_completion_tokens: None,
            needs_key: false,
        }
    }

    /// Reads the configuration from variables.
    pub(super) fn from_lookup(env: impl Fn(&str) -> Option<String>) -> Self {
        let var = |name: &str| {
            let value = env(name)?.trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        let base_url = var("OPENAI_BASE_URL");
        let mut builder = ChatCompletionsBuilder::new(OPENAI.to_owned());
        // OpenAI requires a key; another server may not.
        builder.needs_key = base_url.is_none();
        if let Some(base_url) = base_url {
            builder.base_url = base_url;
        }
        builder.api_key = var("OPENAI_API_KEY");
        match var("OPENAI_MODEL") {
            Some(model) => builder.model(model),
            None => builder,
        }
    }

    /// Sets the base URL, which usually ends in `/v1`.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = url.into();
        self.needs_key = false;
        self
    }

    /// Sets the API key, sent as `Authorization: Bearer …`.
    pub fn api_key(mut self, key: impl Into<String>) -> Self {
        self.api_key = Some(key.into());
        self
    }

    /// Adds a header, such as `api-key` for Azure. Its value is treated as a secret.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let name = name.into().to_ascii_lowercase();
        self.headers.push((name, value.into()));
        self
    }

    /// Adds a query parameter, such as `api-version` for Azure.
    pub fn query(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.query.push((name.into(), value.into()));
        self
    }

    /// Sets the model.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.options = self.options.model(model);
        self
    }

    /// Sets the default settings of this model. They apply where neither the turn nor the runner sets a value. Fields
    /// set here replace those set before.
    pub fn settings(mut self, settings: ModelSettings) -> Self {
        self.model_settings = settings.over(&self.model_settings);
        self
    }

    /// Sets the default options of this model: parameters that only this protocol has. They apply where neither the
    /// turn nor the runner sets a value. Options set here replace those set before.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options.over(&self.options);
        self
    }

    /// Sets the role of the system prompt (see
    /// [`TurnRunnerBuilder::instructions`](turnwright_core::runner::TurnRunnerBuilder::instructions)). Default:
    /// [`SystemRole::System`].
    pub fn system_role(mut self, role: SystemRole) -> Self {
        self.settings.role = role;
        self
    }

    /// Sets whether the system prompt explains the envelopes around untrusted text. Without the explanation they protect
    /// little. Default: `true`.
    pub fn explain_envelopes(mut self, explains: bool) -> Self {
        self.settings.explains_envelopes = explains;
        self
    }

    /// Sets the connect timeout. Default: 10 s.
    pub fn connect_timeout(mut self, limit: Duration) -> Self {
        self.client = self.client.connect_timeout(limit);
        self
    }

    /// Sets the timeout of one request, up to the end of its response. Default: 10 minutes.
    pub fn request_timeout(mut self, limit: Duration) -> Self {
        self.settings.request_timeout = limit;
        self
    }

    /// Sets the longest pause between two pieces of a response. Default: 2 minutes.
    pub fn idle_timeout(mut self, limit: Duration) -> Self {
        self.settings.idle_timeout = limit;
        self
    }

    /// Sets a proxy. Overrides the environment.
    pub fn proxy(mut self, url: impl Into<String>) -> Self {
        self.client = self.client.proxy(url);
        self
    }

    /// Disables proxies. Overrides the environment.
    pub fn no_proxy(mut self) -> Self {
        self.client = self.client.no_proxy();
        self
    }

    /// Replaces the HTTP transport, for example with a recording.
    pub fn transport(mut self, transport: impl Transport + 'static) -> Self {
        self.transport = Some(Arc::new(transport));
        self
    }

    /// Sets the retry policy.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.settings.retry = policy;
        self
    }

    /// Sets the maximum size of one event of a stream. Default: 8 MiB.
    pub fn max_event_bytes(mut self, bytes: usize) -> Self {
        self.settings.max_event = bytes;
        self
    }

    /// Sets the maximum size of a response. Default: 64 MiB.
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.settings.max_body = bytes;
        self
    }

    /// Sets how media is handled that the server does not accept. Default: [`MediaPolicy::Describe`].
    pub fn unsupported_media(mut self, policy: MediaPolicy) -> Self {
        self.settings.media_policy = policy;
        self
    }

    /// Sets which media the server accepts. Default: PNG, JPEG, GIF and WebP images, WAV and MP3 audio, PDF documents.
    pub fn accepted_media(
        mut self,
        shows: impl Fn(&Media) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.settings.shows = Arc::new(shows);
        self
    }

    /// Sets a custom message part for media, created from the media and its base64 data. Return `None` for the
    /// default part.
    ///
    /// ```
    /// use serde_json::json;
    /// use turnwright_core::Media;
    /// use turnwright_core::media::MediaKind;
    /// use turnwright_models::ChatCompletions;
    ///
    /// // Documents in Mistral's format.
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
        self.settings.media_part = Some(Arc::new(write));
        self
    }

    /// Sets the maximum size of one media item. A larger one is replaced with a description, with a warning event;
    /// with [`MediaPolicy::Error`] the turn fails. Default: 20 MiB.
    pub fn max_media_bytes(mut self, bytes: u64) -> Self {
        self.settings.max_media = bytes;
        self
    }

    /// Sets the context window in tokens, for prompt and answer together. A prompt that does not fit is not sent.
    /// Default: the known window of the model, otherwise unlimited.
    pub fn context_window(mut self, tokens: u64) -> Self {
        self.settings.window = Some(tokens);
        self
    }

    /// Sets which reasoning is sent back to the server. Default: [`ReturnReasoning::Wanted`].
    pub fn return_reasoning(mut self, which: ReturnReasoning) -> Self {
        self.settings.reasoning = which;
        self
    }

    /// Sets how the schema of a typed answer is sent.
    pub fn typed_answers(mut self, how: TypedAnswers) -> Self {
        self.settings.typed = how;
        self
    }

    /// Sets whether an assistant message is inserted between a tool message and a user message, and between two user
    /// messages. Mistral's servers and many chat templates reject such sequences. Enabled automatically if a server
    /// rejects a request for this reason. Default: `false`.
    pub fn strict_roles(mut self, strict: bool) -> Self {
        self.strict_roles = strict;
        self
    }

    /// Sets whether [`ModelSettings::max_output_tokens`] is sent as `max_completion_tokens` instead of `max_tokens`.
    /// Enabled automatically if a server rejects `max_tokens` for this reason. Default: `true` for the servers of
    /// OpenAI and Azure.
    pub fn max_completion_tokens(mut self, yes: bool) -> Self {
        self.max_completion_tokens = Some(yes);
        self
    }

    /// Sets the name of the server in traces. Default: its host.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Builds the executor.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` if a setting is invalid, or if the model or the key that
    /// [`ChatCompletions::from_env`] needs is missing. The message says what to set.
    pub fn build(self) -> Result<ChatCompletions, Error> {
        if self.needs_key && self.api_key.is_none() {
            let message = "no model server configured: set OPENAI_API_KEY for OpenAI's or call `.api_key(\"…\")`, or set \
                           OPENAI_BASE_URL for another server";
            return Err(Error::new(ErrorCode::INVALID_MODEL_CONFIG, message));
        }
        self.options.check()?;
        check(&self.model_settings)?;
        let endpoint = endpoint(&self.base_url, &self.query)?;
        let from = without_secrets(&endpoint).into();
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        if let Some(key) = self.api_key {
            let key = key.trim();
            headers.push(("authorization".to_owned(), format!("Bearer {key}")));
        }
        headers.extend(self.headers);
        let redactor = redactor(&headers, &endpoint, self.client.proxy_url());
        let transport = match self.transport {
            Some(transport) => transport,
            // A proxy from the environment does not apply to the loopback interface.
            None if is_loopback(&endpoint) => {
                Arc::new(self.client.without_environment_proxy().build()?)
            }
            None => Arc::new(self.client.build()?),
        };
        let of_settings = self.model_settings.provider_options(PROTOCOL);
        let named = of_settings.is_some_and(|fields| fields.contains_key("model"));
        if self.options.model_name().is_none() && !named {
            return Err(no_model());
        }
        let host = endpoint.host_str().unwrap_or_default().to_owned();
        let of_openai = host == "api.openai.com" || host.ends_with(".openai.azure.com");
        let adapter = Adapter {
            from,
            headers,
            redactor,
            transport,
            settings: self.settings,
            name: self.name.unwrap_or(host),
            tools: WrittenTools::default(),
            quirks: Mutex::new(Quirks {
                strict_roles: self.strict_roles,
                max_completion_tokens: self.max_completion_tokens.unwrap_or(of_openai),
                ..Quirks::default()
            }),
            endpoint,
        };
        Ok(ChatCompletions {
            adapter: Arc::new(adapter),
            options: Arc::new(self.options),
            settings: Arc::new(self.model_settings),
        })
    }
}

impl fmt::Debug for ChatCompletionsBuilder {
    /// Shows neither keys nor addresses that may contain one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatCompletionsBuilder")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
