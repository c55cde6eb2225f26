//! A model: an executor for a server and its protocol.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use async_trait::async_trait;
use turnwright_core::dispatch::Executor;
use turnwright_core::{BoxError, DispatchContext, Error, ErrorCode, ModelSettings, Tool};

use super::builder::ModelBuilder;
use super::codec::{Codec, HasCodec, Info};
use super::options::{OptionMap, Options};
use super::server::Server;
use super::tools::Admission;

/// A model at a server: an executor. Cheap to clone; clones share their connections.
///
/// The type parameter is the wire protocol. Use the names [`ChatCompletions`](crate::ChatCompletions),
/// [`Responses`](crate::Responses), [`Anthropic`](crate::Anthropic), [`Gemini`](crate::Gemini) and
/// [`Ollama`](crate::Ollama). All of them have [`builder`](Model::builder) and [`from_env`](Model::from_env):
///
/// ```
/// use turnwright_models::{Anthropic, ChatCompletions};
///
/// let local = ChatCompletions::builder("http://127.0.0.1:8080/v1").model("qwen3").build()?;
/// let gateway = Anthropic::builder("https://gateway.example/v1").api_key("…").model("claude-sonnet-4-5").build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
pub struct Model<C> {
    engine: Engine,
    codec: PhantomData<fn() -> C>,
}

/// What a model does, independent of its protocol.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub(crate) server: Arc<Server>,
    pub(crate) options: Arc<OptionMap>,
    /// Defaults for settings that neither the turn nor the runner sets.
    pub(crate) settings: Arc<ModelSettings>,
}

impl<C: Codec + Default> Model<C> {
    /// Creates a builder for the server at a base URL, which usually ends in `/v1`. Does not read the
    /// variables of [`from_env`](Self::from_env).
    pub fn builder(base_url: impl Into<String>) -> ModelBuilder<C> {
        ModelBuilder::at(C::default(), base_url.into())
    }

    /// Creates a builder from the environment. Values set on the builder take precedence.
    /// [`build`](ModelBuilder::build) reports what is missing.
    ///
    /// | model | key | server | model name |
    /// | --- | --- | --- | --- |
    /// | `ChatCompletions`, `Responses` | `OPENAI_API_KEY` | `OPENAI_BASE_URL` (default: OpenAI's) | `OPENAI_MODEL` |
    /// | `Anthropic` | `ANTHROPIC_API_KEY` | `ANTHROPIC_BASE_URL` (default: Anthropic's) | `ANTHROPIC_MODEL` |
    /// | `Gemini` | `GEMINI_API_KEY` or `GOOGLE_API_KEY` | `GEMINI_BASE_URL` (default: Google's) | `GEMINI_MODEL` |
    /// | `Ollama` | | `OLLAMA_HOST` (default: `http://127.0.0.1:11434`) | `OLLAMA_MODEL` |
    ///
    /// ```no_run
    /// use turnwright_models::Anthropic;
    ///
    /// let model = Anthropic::from_env().model("claude-sonnet-4-5").build()?;
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    pub fn from_env() -> ModelBuilder<C> {
        ModelBuilder::from_lookup(|name| std::env::var(name).ok())
    }
}

impl<C: HasCodec> Model<C> {
    pub(super) fn new(engine: Engine) -> Self {
        Model {
            engine,
            codec: PhantomData,
        }
    }

    /// Returns this model with another model name, at the same server.
    #[must_use]
    pub fn with_model(&self, name: impl Into<String>) -> Self {
        self.with_options(Options::new().model(name))
    }

    /// Returns this model with other settings, at the same server. `settings` take precedence over the current ones.
    ///
    /// ```
    /// use turnwright_core::ModelSettings;
    /// use turnwright_models::ChatCompletions;
    ///
    /// let model = ChatCompletions::builder("http://127.0.0.1:8080/v1").model("qwen3").build()?;
    /// let exact = model.with_settings(ModelSettings::new().temperature(0.0))?;
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` if a setting is invalid.
    pub fn with_settings(&self, settings: ModelSettings) -> Result<Self, Error> {
        check(&settings, self.engine.server.codec.info())?;
        let mut model = self.clone();
        model.engine.settings = Arc::new(settings.over(&self.engine.settings));
        Ok(model)
    }

    /// Returns this model with other options, at the same server. `options` take precedence over the current ones.
    #[must_use]
    pub fn with_options(&self, options: Options<C>) -> Self {
        let mut model = self.clone();
        let options = options.into_map().over(&self.engine.options);
        model.engine.options = Arc::new(options);
        model
    }

    #[cfg(test)]
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }
}

#[async_trait]
impl<C: HasCodec> Executor for Model<C> {
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        Ok(self.engine.execute(&ctx).await?)
    }

    fn name(&self) -> &str {
        &self.engine.server.name
    }

    fn model(&self) -> Option<&str> {
        self.engine.options.model_name()
    }

    fn server(&self) -> Option<(&str, u16)> {
        let endpoint = &self.engine.server.endpoint;
        Some((endpoint.host_str()?, endpoint.port_or_known_default()?))
    }

    fn check_tools(&self, tools: &[Tool]) -> Result<(), Error> {
        let mut admission = Admission::new(&*self.engine.server.codec);
        tools.iter().try_for_each(|tool| {
            let admitted = admission.admit(tool).map(drop);
            admitted.map_err(|why| {
                let name = tool.name();
                let message = format!("the tool `{name}` cannot be used with this model: {why}");
                Error::new(ErrorCode::INVALID_TURN_RUNNER_CONFIG, message)
            })
        })
    }
}

impl<C> Clone for Model<C> {
    fn clone(&self) -> Self {
        Model {
            engine: self.engine.clone(),
            codec: PhantomData,
        }
    }
}

impl<C> fmt::Debug for Model<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model")
            .field("server", &self.engine.server)
            .field("options", &self.engine.options)
            .finish_non_exhaustive()
    }
}

/// Checks settings and the options of a protocol in them.
pub(super) fn check(settings: &ModelSettings, info: &Info) -> Result<(), Error> {
    settings.validate()?;
    match settings.provider_options(info.name) {
        Some(fields) => OptionMap::read(fields, info).map(drop),
        None => Ok(()),
    }
}
