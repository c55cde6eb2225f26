//! Finds the server and its model.

use anyhow::Context as _;
use turnwright::models::http::{Client, is_loopback, without_secrets};
use turnwright::models::{AnyCodec, ModelBuilder, Protocol};
use turnwright::{Error, ErrorCode};
use url::Url;

use crate::args;
use crate::exit::misuse;
use crate::terminal::one_line;
use crate::units::listed;

/// The most model names in a message.
const SHOWN: usize = 12;

/// A model on a server.
pub(crate) struct Server {
    protocol: Protocol,
    base: Url,
    key: Option<String>,
    /// The model's name; empty if none is selected.
    pub(crate) model: String,
}

/// The API key of a protocol in the environment.
pub(crate) fn api_key(protocol: Protocol) -> Option<String> {
    let mut variables = protocol.key_variables().iter();
    variables.find_map(|name| non_blank(std::env::var(name).ok()))
}

/// The variable of the API key of a protocol, if it has keys.
fn key_variable(protocol: Protocol) -> Option<&'static str> {
    protocol.key_variables().first().copied()
}

/// A model of a protocol as an argument of `--model`.
fn with_provider(protocol: Protocol, model: &str) -> String {
    match (protocol, Protocol::split_name(model)) {
        (Protocol::ChatCompletions, Ok(None)) => model.to_owned(),
        (Protocol::ChatCompletions, _) => format!("openai:{model}"),
        (protocol, _) => format!("{protocol}:{model}"),
    }
}

impl Server {
    /// Finds the server and the model. Without a name, the server's only model is used.
    pub(crate) async fn find(options: &args::Agent) -> anyhow::Result<Self> {
        let mut server = Server::named(options.base_url.as_deref(), options.model.as_deref())?;
        if server.model.is_empty() {
            server.model = only(server.models_or_advice().await?, &server)?;
        }
        Ok(server)
    }

    /// The provider of a model like `anthropic:NAME`, and the name without it.
    pub(crate) fn provider(model: Option<&str>) -> anyhow::Result<(Protocol, Option<&str>)> {
        let Some(model) = model.map(str::trim) else {
            return Ok((Protocol::ChatCompletions, None));
        };
        let split = Protocol::split_name(model).map_err(|error| misuse(error.message()))?;
        Ok(match split {
            Some((protocol, model)) => (protocol, Some(model)),
            None => (Protocol::ChatCompletions, Some(model)),
        })
    }

    /// The server of a model like `anthropic:NAME`, or of a Chat Completions model.
    pub(crate) fn named(base_url: Option<&str>, model: Option<&str>) -> anyhow::Result<Self> {
        let (protocol, model) = Server::provider(model)?;
        let key = api_key(protocol);
        let given = non_blank(base_url.map(str::to_owned));
        let needs_key = !protocol.key_variables().is_empty();
        let base = match given.or_else(|| protocol.base_url_from_env()) {
            Some(base) => base,
            None if key.is_some() || !needs_key => protocol.default_base_url().to_owned(),
            None if protocol == Protocol::ChatCompletions => {
                return Err(misuse(
                    "no model server configured. Pass `--base-url http://127.0.0.1:8080/v1` for a local server (llama.cpp; the \
                     default port of Ollama is 11434, of vLLM 8000, of LM Studio 1234), or set OPENAI_API_KEY to use OpenAI",
                ));
            }
            None => {
                let key = key_variable(protocol).unwrap_or_default();
                return Err(misuse(format!(
                    "no key for {protocol}. Set {key}, or pass `--base-url URL` for a server that needs none"
                )));
            }
        };
        Server::at(protocol, &base, key, model.map(str::to_owned))
    }

    /// The server at this base URL. Does not connect.
    pub(crate) fn at(
        protocol: Protocol,
        base: &str,
        key: Option<String>,
        model: Option<String>,
    ) -> anyhow::Result<Self> {
        let base = Url::parse(base.trim()).ok().filter(is_web).ok_or_else(|| {
            misuse("the base URL is invalid. Example: `http://127.0.0.1:8080/v1`")
        })?;
        Ok(Server {
            protocol,
            base,
            key,
            model: non_blank(model).unwrap_or_default(),
        })
    }

    pub(crate) fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The variable of its API key, if it has one.
    pub(crate) fn key_variable(&self) -> Option<&'static str> {
        key_variable(self.protocol)
    }

    /// The name of its model with the provider, if that is needed.
    pub(crate) fn full_name(&self) -> String {
        with_provider(self.protocol, &self.model)
    }

    /// How a model of this server is selected.
    pub(crate) fn select(&self, model: &str) -> String {
        let option = format!("`--model {}`", with_provider(self.protocol, model));
        match self.protocol {
            Protocol::ChatCompletions => format!("{option} or OPENAI_MODEL"),
            _ => option,
        }
    }

    /// An executor for this model.
    pub(crate) fn executor(&self) -> ModelBuilder<AnyCodec> {
        let builder = self.protocol.builder_at(self.base.as_str());
        let builder = builder.model(&self.model);
        match &self.key {
            Some(key) => builder.api_key(key),
            None => builder,
        }
    }

    /// The HTTP client for requests that are recorded.
    pub(crate) fn client(&self) -> Result<Client, Error> {
        let client = Client::builder();
        if is_loopback(&self.base) {
            client.no_proxy().build()
        } else {
            client.build()
        }
    }

    /// The model and its server, for users.
    pub(crate) fn shown(&self) -> String {
        let model = one_line(&self.model, 60);
        format!("{model} at {}", self.address())
    }

    /// Whether the shown URL leaves something out.
    pub(crate) fn is_partial(&self) -> bool {
        let full = self.base.as_str().trim_end_matches('/');
        full != self.address()
    }

    /// Whether the key is sent unencrypted over a network.
    pub(crate) fn sends_key_in_the_clear(&self) -> bool {
        self.key.is_some() && self.base.scheme() == "http" && !is_loopback(&self.base)
    }

    /// Whether the server is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        is_loopback(&self.base)
    }

    /// The URL without secrets, on one line.
    pub(crate) fn address(&self) -> String {
        let shown = without_secrets(&self.base);
        one_line(shown.as_str().trim_end_matches('/'), 120)
    }

    /// The names of the models that the server lists.
    pub(crate) async fn models(&self) -> anyhow::Result<Vec<String>> {
        let models = self.executor().list_models().await;
        models.map_err(|error| match error.code() {
            ErrorCode::MODEL_UNREACHABLE => {
                anyhow::anyhow!("cannot connect; check the URL and that the server is running")
            }
            _ => anyhow::anyhow!(error.message().to_owned()),
        })
    }

    /// The same, with advice for a chat that has no model.
    async fn models_or_advice(&self) -> anyhow::Result<Vec<String>> {
        self.models().await.with_context(|| {
            let at = self.address();
            let name = self.select("NAME");
            format!("cannot list the models of {at}. Select a model with {name}")
        })
    }
}

fn only(mut models: Vec<String>, server: &Server) -> anyhow::Result<String> {
    let (at, select) = (server.address(), server.select("NAME"));
    if models.len() > 1 {
        let named = listed(models.iter().map(|name| one_line(name, 60)), SHOWN);
        return Err(misuse(format!(
            "{at} has several models. Select one with {select}: {named}"
        )));
    }
    models.pop().ok_or_else(|| {
        misuse(format!(
            "{at} lists no model. Load one on the server, or select one with {select}"
        ))
    })
}

/// The text without surrounding white space, unless nothing is left.
fn non_blank(text: Option<String>) -> Option<String> {
    let text = text.map(|text| text.trim().to_owned());
    text.filter(|text| !text.is_empty())
}

/// Whether a text is a valid base URL.
pub(crate) fn is_address(base: &str) -> bool {
    Url::parse(base).is_ok_and(|url| is_web(&url))
}

fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_selected_with_its_provider() {
        for (protocol, model, expected) in [
            (Protocol::ChatCompletions, "gpt-5", "gpt-5"),
            (Protocol::ChatCompletions, "qwen3:8b", "qwen3:8b"),
            // Otherwise its first part would be the provider.
            (Protocol::ChatCompletions, "ollama:x", "openai:ollama:x"),
            (Protocol::ChatCompletions, "olama:x", "openai:olama:x"),
            (Protocol::Responses, "gpt-5", "responses:gpt-5"),
            (Protocol::Anthropic, "claude-x", "anthropic:claude-x"),
            (Protocol::Gemini, "flash", "gemini:flash"),
            (Protocol::Ollama, "qwen3:8b", "ollama:qwen3:8b"),
        ] {
            let full = with_provider(protocol, model);
            assert_eq!(full, expected);
            let found = Server::provider(Some(&full)).unwrap();
            assert_eq!(found, (protocol, Some(model)));
        }
    }

    #[test]
    fn hints_name_the_variables_of_the_provider() {
        let server = |protocol| Server::at(protocol, "http://127.0.0.1:9", None, None).unwrap();
        let models = || vec!["a".to_owned(), "b".to_owned()];
        let hint = |protocol| only(models(), &server(protocol)).unwrap_err().to_string();
        let openai = hint(Protocol::ChatCompletions);
        assert!(
            openai.contains("`--model NAME` or OPENAI_MODEL"),
            "{openai}"
        );
        let anthropic = hint(Protocol::Anthropic);
        assert!(
            anthropic.contains("`--model anthropic:NAME`") && !anthropic.contains("OPENAI"),
            "{anthropic}"
        );
    }
}
