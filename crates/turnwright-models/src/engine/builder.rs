//! The builder for the models of all protocols.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;
use turnwright_core::{Error, ErrorCode, Media, ModelSettings};

use super::codec::{Codec, HasCodec};
use super::model::{Engine, Model, check};
use super::options::Options;
use super::parameters::no_model;
use super::provider::provider;
use super::server::{Server, endpoint, redactor};
use super::settings::{MediaPolicy, Settings, TypedAnswers};
use super::tools::WrittenTools;
use crate::http::{Client, ClientBuilder, Transport, is_loopback, without_secrets};
use crate::retry::RetryPolicy;

/// Configures a model: the server, the key, the model and defaults. All protocols have these methods; a protocol adds
/// its own.
///
/// ```
/// use std::time::Duration;
/// use turnwright_models::ChatCompletions;
///
/// let model = ChatCompletions::builder("http://127.0.0.1:8080/v1")
///     .model("qwen3")
///     .idle_timeout(Duration::from_secs(30))
///     .build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct ModelBuilder<C> {
    pub(crate) codec: C,
    base_url: String,
    api_key: Option<String>,
    headers: Vec<(String, String)>,
    query: Vec<(String, String)>,
    client: ClientBuilder,
    transport: Option<Arc<dyn Transport>>,
    settings: Settings,
    name: Option<String>,
    options: Options<C>,
    model_settings: ModelSettings,
    /// The server is the provider's own, which requires a key.
    needs_key: bool,
}

impl<C: Codec + Default> ModelBuilder<C> {
    /// Reads the configuration from variables.
    pub(crate) fn from_lookup(env: impl Fn(&str) -> Option<String>) -> Self {
        ModelBuilder::with_codec(C::default(), env)
    }
}

impl<C: HasCodec> ModelBuilder<C> {
    /// Creates a builder for the server at a base URL.
    pub(crate) fn at(codec: C, base_url: String) -> Self {
        ModelBuilder {
            codec,
            base_url,
            api_key: None,
            headers: Vec::new(),
            query: Vec::new(),
            client: Client::builder(),
            transport: None,
            settings: Settings::default(),
            name: None,
            options: Options::default(),
            model_settings: ModelSettings::new(),
            needs_key: false,
        }
    }

    /// Creates a builder that reads its configuration from variables.
    pub(crate) fn with_codec(codec: C, env: impl Fn(&str) -> Option<String>) -> Self {
        let info = codec.codec().info();
        let var = |name: &str| Some(env(name)?.trim().to_owned()).filter(|value| !value.is_empty());
        let base_url = var(info.environment.base_url).map(|url| codec.codec().base_url(url));
        // The provider requires a key; another server may not.
        let needs_key = base_url.is_none() && !info.environment.keys.is_empty();
        let api_key = info.environment.keys.iter().find_map(|name| var(name));
        let model = var(info.environment.model);
        let base_url = base_url.unwrap_or_else(|| info.base_url.to_owned());
        let mut builder = ModelBuilder::at(codec, base_url);
        builder.needs_key = needs_key;
        builder.api_key = api_key;
        match model {
            Some(model) => builder.model(model),
            None => builder,
        }
    }

    /// Sets the base URL, such as `http://127.0.0.1:8080/v1`.
    pub fn base_url(mut self, url: impl Into<String>) -> Self {
        self.base_url = url.into();
        self.needs_key = false;
        self
    }

    /// Sets the API key.
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
    pub fn options(mut self, options: Options<C>) -> Self {
        self.options = options.over(&self.options);
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

    /// Sets which media the server accepts. Default: what the protocol's own provider accepts, such as PNG, JPEG, GIF
    /// and WebP images and PDF documents.
    pub fn accepted_media(
        mut self,
        shows: impl Fn(&Media) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.settings.shows = Some(Arc::new(shows));
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

    /// Sets how the schema of a typed answer is sent. Default: [`TypedAnswers::JsonSchema`], for Anthropic and Gemini
    /// [`TypedAnswers::Prompt`].
    pub fn typed_answers(mut self, how: TypedAnswers) -> Self {
        self.settings.typed = Some(how);
        self
    }

    /// Sets whether `<think>…</think>` at the start of the text is reasoning. Some local models put their reasoning
    /// into the text, if the server does not separate it. Default: `false`.
    pub fn think_tags(mut self, split: bool) -> Self {
        self.settings.think_tags = split;
        self
    }

    /// Sets the name of the provider in traces and metrics (`gen_ai.provider.name`). Default: for hosts of known providers
    /// the value of OpenTelemetry's conventions, such as `openai` or `aws.bedrock`; otherwise `ollama` for Ollama, and the
    /// host for other protocols.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Builds the executor.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` if a setting is invalid, or if the model or the key is missing. The message says what
    /// to set.
    pub fn build(self) -> Result<Model<C>, Error> {
        let engine = self.engine()?;
        let info = engine.server.codec.info();
        let of_settings = engine.settings.provider_options(info.name);
        let named = of_settings.is_some_and(|fields| fields.contains_key("model"));
        if engine.options.model_name().is_some() || named {
            Ok(Model::new(engine))
        } else {
            Err(no_model(info))
        }
    }

    /// Returns the names of the models that the server offers. Needs no model.
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` like [`build`](Self::build); `E_MODEL_UNREACHABLE`, `E_MODEL_TIMEOUT`,
    /// `E_MODEL_SERVER_ERROR` or `E_WIRE_ERROR` if the server does not answer with a list of models.
    pub async fn list_models(self) -> Result<Vec<String>, Error> {
        self.engine()?.server.list_models().await
    }

    fn engine(self) -> Result<Engine, Error> {
        let codec = self.codec.into_codec();
        let info = codec.info();
        if self.needs_key && self.api_key.is_none() {
            let key = info.environment.keys.first().copied().unwrap_or_default();
            let message = format!(
                "no model server configured: set {key} for the server at {} or call `.api_key(\"…\")`, or set {} for another server",
                info.base_url, info.environment.base_url
            );
            return Err(Error::new(ErrorCode::INVALID_MODEL_CONFIG, message));
        }
        let options = self.options.into_map();
        options.check(info)?;
        check(&self.model_settings, info)?;
        let endpoint = endpoint(&*codec, &self.base_url, &self.query)?;
        let address = without_secrets(&endpoint).into();
        let mut headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let fixed = info.headers.iter().copied();
        headers.extend(fixed.map(|(name, value)| (name.to_owned(), value.to_owned())));
        if let Some(key) = self.api_key {
            let (name, before) = info.key_header;
            headers.push((name.to_owned(), format!("{before}{}", key.trim())));
        }
        // A header that the caller sets replaces the protocol's.
        headers.retain(|(name, _)| self.headers.iter().all(|(own, _)| own != name));
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
        let name = self
            .name
            .unwrap_or_else(|| provider(&endpoint, info.provider));
        let server = Server {
            quirks: Mutex::new(codec.quirks_of(&endpoint)),
            codec,
            address,
            headers,
            redactor,
            transport,
            settings: self.settings,
            name,
            tools: WrittenTools::default(),
            endpoint,
        };
        Ok(Engine {
            server: Arc::new(server),
            options: Arc::new(options),
            settings: Arc::new(self.model_settings),
        })
    }
}

impl<C> fmt::Debug for ModelBuilder<C> {
    /// Shows neither keys nor addresses that may contain one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelBuilder")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
