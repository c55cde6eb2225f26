//! Models whose protocol is chosen at run time.

use std::fmt;

use turnwright_core::schema::near;
use turnwright_core::{Error, ErrorCode};

use crate::engine::{Codec, HasCodec, Model, ModelBuilder};
use crate::protocol::Protocol;

/// A model whose protocol is chosen at run time: see [`model`] and [`Protocol::builder`].
pub type AnyModel = Model<AnyCodec>;

/// Any protocol, as the type parameter of a [`Model`].
pub struct AnyCodec(Box<dyn Codec>);

/// The prefixes of [`model`], with their protocols.
const PREFIXES: [(&str, Protocol); 6] = [
    ("openai", Protocol::ChatCompletions),
    ("chat", Protocol::ChatCompletions),
    ("responses", Protocol::Responses),
    ("anthropic", Protocol::Anthropic),
    ("gemini", Protocol::Gemini),
    ("ollama", Protocol::Ollama),
];

/// Creates a model from `provider:model`, with the key and the address from the environment.
///
/// | prefix | protocol | environment |
/// | --- | --- | --- |
/// | `openai:` | Chat Completions | `OPENAI_API_KEY`, `OPENAI_BASE_URL` |
/// | `chat:` | Chat Completions at another server | `OPENAI_BASE_URL` (required), `OPENAI_API_KEY` |
/// | `responses:` | OpenAI Responses | `OPENAI_API_KEY`, `OPENAI_BASE_URL` |
/// | `anthropic:` | Anthropic Messages | `ANTHROPIC_API_KEY`, `ANTHROPIC_BASE_URL` |
/// | `gemini:` | Gemini | `GEMINI_API_KEY` or `GOOGLE_API_KEY`, `GEMINI_BASE_URL` |
/// | `ollama:` | Ollama | `OLLAMA_HOST` |
///
/// ```no_run
/// let model = turnwright_models::model("ollama:llama3.2:3b")?;
/// let runner = turnwright_core::runner(model).build()?;
/// # Ok::<(), turnwright_core::Error>(())
/// ```
///
/// # Errors
/// `E_INVALID_MODEL_CONFIG` if the prefix is unknown, or a variable is missing. The message says which, and what a misspelled prefix
/// was probably meant to be.
pub fn model(name: &str) -> Result<AnyModel, Error> {
    named(name, |name| std::env::var(name).ok())?.build()
}

/// Creates a builder from `provider:model`, with the key and the address from variables.
fn named(
    name: &str,
    env: impl Fn(&str) -> Option<String>,
) -> Result<ModelBuilder<AnyCodec>, Error> {
    let (protocol, model) = Protocol::split_name(name)?.ok_or_else(|| {
        invalid(format!(
            "`{name}` does not name a provider: write it like `ollama:qwen3`, with one of {}",
            prefixes()
        ))
    })?;
    if model.trim().is_empty() {
        return Err(invalid(format!(
            "`{name}` names no model: write it like `{name}qwen3`"
        )));
    }
    let info = protocol.codec().info();
    let is_set = |name: &str| env(name).is_some_and(|value| !value.trim().is_empty());
    if name.starts_with("chat:") && !is_set(info.environment.base_url) {
        let variable = info.environment.base_url;
        return Err(invalid(format!(
            "`{name}` needs the address of a server: set {variable}, or use `openai:` for OpenAI"
        )));
    }
    let builder = ModelBuilder::with_codec(AnyCodec(protocol.codec()), env);
    Ok(builder.model(model))
}

/// Returns the prefix that was probably meant. Models have names with colons too, such as `qwen3:8b`.
fn misspelled(prefix: &str) -> Option<&'static str> {
    // A family of models, and not a misspelling of `ollama`.
    if prefix.to_lowercase().starts_with("llama") {
        return None;
    }
    let known = PREFIXES.iter().map(|(known, _)| *known);
    near(prefix, known).first().copied()
}

/// Returns all prefixes, for messages.
fn prefixes() -> String {
    let prefixes = PREFIXES.iter().map(|(prefix, _)| format!("`{prefix}:`"));
    prefixes.collect::<Vec<String>>().join(", ")
}

fn invalid(message: String) -> Error {
    Error::new(ErrorCode::INVALID_MODEL_CONFIG, message)
}

impl Protocol {
    /// Creates a builder for a model with this protocol. The key, the address and the model default to those of the
    /// environment.
    pub fn builder(self) -> ModelBuilder<AnyCodec> {
        ModelBuilder::with_codec(AnyCodec(self.codec()), |name| std::env::var(name).ok())
    }

    /// Creates a builder for a model at a base URL, without the environment.
    pub fn builder_at(self, base_url: impl Into<String>) -> ModelBuilder<AnyCodec> {
        ModelBuilder::with_codec(AnyCodec(self.codec()), |_| None).base_url(base_url)
    }

    /// Splits a name like `ollama:llama3.2:3b` into its protocol and model. Returns `None` if it has no prefix of a provider: see
    /// [`model`]. Then it is the name of a model, which may have colons too.
    ///
    /// ```
    /// use turnwright_models::Protocol;
    ///
    /// assert_eq!(Protocol::split_name("ollama:qwen3:8b")?, Some((Protocol::Ollama, "qwen3:8b")));
    /// assert_eq!(Protocol::split_name("qwen3:8b")?, None);
    /// assert!(Protocol::split_name("anthropc:claude").is_err());
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// `E_INVALID_MODEL_CONFIG` if the prefix is a misspelling of a known one, in up to three letters or in its case.
    pub fn split_name(name: &str) -> Result<Option<(Protocol, &str)>, Error> {
        let Some((prefix, model)) = name.split_once(':') else {
            return Ok(None);
        };
        let found = PREFIXES.iter().find(|(known, _)| *known == prefix);
        if let Some((_, protocol)) = found {
            return Ok(Some((*protocol, model)));
        }
        let Some(meant) = misspelled(prefix) else {
            return Ok(None);
        };
        Err(invalid(format!(
            "`{prefix}:` is not a provider: did you mean `{meant}:{model}`? The prefixes are {}. If `{name}` is the name \
             of a model on a Chat Completions server, write `openai:{name}`",
            prefixes()
        )))
    }
}

impl HasCodec for AnyCodec {
    fn codec(&self) -> &dyn Codec {
        &*self.0
    }

    fn into_codec(self) -> Box<dyn Codec> {
        self.0
    }
}

impl fmt::Debug for AnyCodec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::{Protocol, named};

    fn endpoint(name: &str, variables: &[(&str, &str)]) -> Result<String, String> {
        let env = |name: &str| {
            let found = variables.iter().find(|(item, _)| *item == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let model = named(name, env).and_then(|builder| builder.build());
        let model = model.map_err(|error| error.message().to_owned())?;
        let engine = model.engine();
        let model = engine.options.model_name().unwrap_or_default();
        Ok(format!("{} {model}", engine.server.endpoint))
    }

    #[test]
    fn name_selects_protocol_and_model() {
        let key = ("OPENAI_API_KEY", "sk-123456");
        assert_eq!(
            endpoint("openai:gpt-4o", &[key]).as_deref(),
            Ok("https://api.openai.com/v1/chat/completions gpt-4o")
        );
        let server = ("OPENAI_BASE_URL", "http://127.0.0.1:8080/v1");
        assert_eq!(
            endpoint("chat:qwen3", &[server]).as_deref(),
            Ok("http://127.0.0.1:8080/v1/chat/completions qwen3")
        );
        // Split at the first colon only.
        let host = ("OLLAMA_HOST", "127.0.0.1:9999");
        assert_eq!(
            endpoint("ollama:llama3.2:3b", &[host]).as_deref(),
            Ok("http://127.0.0.1:9999/api/chat llama3.2:3b")
        );
    }

    #[test]
    fn errors_say_what_is_missing() {
        let cases = [
            ("gpt-4o", "`openai:`"),
            ("llama3.2:3b", "`ollama:`"),
            ("ollama:", "names no model"),
            ("chat:qwen3", "OPENAI_BASE_URL"),
            ("openai:gpt-4o", "OPENAI_API_KEY"),
        ];
        for (name, words) in cases {
            let error = endpoint(name, &[]).unwrap_err();
            assert!(error.contains(words), "{name}: {error}");
        }
    }

    #[test]
    fn misspelled_prefix_is_an_error_that_names_the_right_one() {
        for (name, meant) in [
            ("anthropc:claude-x", "`anthropic:claude-x`"),
            ("Anthropic:claude-x", "`anthropic:claude-x`"),
            ("antrhopic:claude-x", "`anthropic:claude-x`"),
            ("opanai:gpt-4o", "`openai:gpt-4o`"),
            ("OPENAI:gpt-4o", "`openai:gpt-4o`"),
            ("olama:qwen3:8b", "`ollama:qwen3:8b`"),
            ("gemni:flash", "`gemini:flash`"),
            ("chta:qwen3", "`chat:qwen3`"),
            ("response:gpt-5", "`responses:gpt-5`"),
        ] {
            let error = Protocol::split_name(name).unwrap_err();
            let message = error.message();
            assert!(
                message.contains(meant) && message.contains("`gemini:`"),
                "{name}: {message}"
            );
            assert_eq!(endpoint(name, &[]).unwrap_err(), message);
        }
    }

    #[test]
    fn names_of_models_with_colons_are_not_misspelled_prefixes() {
        for name in [
            "llama3.2:3b",
            "llama3:8b",
            "llama2:7b",
            "llama:7b",
            "qwen3:8b",
            "gemma:2b",
            "gemma3:4b",
            "phi3:mini",
            "openchat:7b",
            "codellama:13b",
            "ft:gpt-4o:org",
            "deepseek-r1:7b",
            "gpt-4o",
        ] {
            assert_eq!(Protocol::split_name(name).unwrap(), None, "{name}");
        }
    }
}
