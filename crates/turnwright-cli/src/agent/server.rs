//! Finds the server and its model.

use std::time::Duration;

use anyhow::Context as _;
use futures_util::StreamExt as _;
use serde_json::Value;
use turnwright::models::chat_completions::ChatCompletionsBuilder;
use turnwright::models::http::{Client, is_loopback, without_secrets};
use turnwright::{ChatCompletions, Error};
use url::Url;

use crate::args;
use crate::exit::misuse;
use crate::terminal::one_line;
use crate::units::listed;

/// The default server if there is a key.
const OPENAI: &str = "https://api.openai.com/v1";
/// The timeout for the list of models.
const LIST_TIMEOUT: Duration = Duration::from_secs(10);
/// The most bytes of a list of models.
const MAX_LIST: usize = 4 << 20;
/// The most model names in a message.
const SHOWN: usize = 12;

/// A model on a server.
pub(crate) struct Server {
    base: Url,
    key: Option<String>,
    /// The model's name; empty if none is selected.
    pub(crate) model: String,
}

/// The API key in the environment.
pub(crate) fn api_key() -> Option<String> {
    non_blank(std::env::var("OPENAI_API_KEY").ok())
}

impl Server {
    /// Finds the server and the model. Without a name, the server's only model is used.
    pub(crate) async fn find(options: &args::Agent) -> anyhow::Result<Self> {
        let key = api_key();
        let base = match (non_blank(options.base_url.clone()), &key) {
            (Some(base), _) => base,
            (None, Some(_)) => OPENAI.to_owned(),
            (None, None) => {
                return Err(misuse(
                    "no model server configured. Pass `--base-url http://127.0.0.1:8080/v1` for a local server (llama.cpp; the \
                     default port of Ollama is 11434, of vLLM 8000, of LM Studio 1234), or set OPENAI_API_KEY to use OpenAI",
                ));
            }
        };
        let mut server = Server::at(&base, key, options.model.clone())?;
        if server.model.is_empty() {
            server.model = only(server.models_or_advice().await?, &server.address())?;
        }
        Ok(server)
    }

    /// The server at this base URL. Does not connect.
    pub(crate) fn at(
        base: &str,
        key: Option<String>,
        model: Option<String>,
    ) -> anyhow::Result<Self> {
        let base = Url::parse(base.trim()).ok().filter(is_web).ok_or_else(|| {
            misuse("the base URL is invalid. Example: `http://127.0.0.1:8080/v1`")
        })?;
        Ok(Server {
            base,
            key,
            model: non_blank(model).unwrap_or_default(),
        })
    }

    /// An executor for this model.
    pub(crate) fn executor(&self) -> ChatCompletionsBuilder {
        let builder = ChatCompletions::builder(self.base.as_str()).model(&self.model);
        match &self.key {
            Some(key) => builder.api_key(key),
            None => builder,
        }
    }

    /// The HTTP client for requests that are recorded.
    pub(crate) fn client(&self) -> Result<Client, Error> {
        let client = Client::builder();
        match is_loopback(&self.base) {
            true => client.no_proxy().build(),
            false => client.build(),
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
        let request_models = async {
            let response = self.request_models().await.map_err(unanswered)?;
            match response.status().as_u16() {
                200 => {}
                401 | 403 => {
                    anyhow::bail!("the server rejected the API key; check OPENAI_API_KEY")
                }
                status => anyhow::bail!("the server answered with status {status}"),
            }
            let mut body = Vec::new();
            let mut pieces = response.bytes_stream();
            while let Some(piece) = pieces.next().await {
                body.extend_from_slice(&piece.map_err(unanswered)?);
                anyhow::ensure!(body.len() <= MAX_LIST, "the list of models is too long");
            }
            // The body is not quoted: a server may repeat the key in it.
            let names = names(&body).context("the response is not a list of models")?;
            let is_key = |name: &String| self.key.as_ref().is_some_and(|key| name.contains(key));
            Ok(names.into_iter().filter(|name| !is_key(name)).collect())
        };
        let asked = tokio::time::timeout(LIST_TIMEOUT, request_models).await;
        asked.unwrap_or_else(|_| {
            let seconds = LIST_TIMEOUT.as_secs();
            Err(anyhow::anyhow!(
                "the server did not answer within {seconds} s"
            ))
        })
    }

    /// The same, with advice for a chat that has no model.
    async fn models_or_advice(&self) -> anyhow::Result<Vec<String>> {
        self.models().await.with_context(|| {
            let at = self.address();
            format!("cannot list the models of {at}. Select a model with `--model NAME`")
        })
    }

    async fn request_models(&self) -> reqwest::Result<reqwest::Response> {
        let mut url = self.base.clone();
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/chat/completions").unwrap_or(path);
        url.set_path(&format!("{path}/models"));
        // No redirects: the key is for this server only. No proxy for a server on this machine.
        let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        let client = match is_loopback(&url) {
            true => client.no_proxy(),
            false => client,
        };
        let request = client.build()?.get(url);
        let request = match &self.key {
            Some(key) => request.bearer_auth(key),
            None => request,
        };
        request.send().await
    }
}

/// The error without the URL, which can hold a key.
fn unanswered(error: reqwest::Error) -> anyhow::Error {
    match error.is_connect() {
        true => anyhow::anyhow!("cannot connect; check the URL and that the server is running"),
        false => error.without_url().into(),
    }
}

/// The names in a list of models.
fn names(body: &[u8]) -> Option<Vec<String>> {
    let list: Value = serde_json::from_slice(body).ok()?;
    let names = list.get("data")?.as_array()?.iter();
    let names = names.map(|model| Some(model.get("id")?.as_str()?.to_owned()));
    names.collect()
}

fn only(mut models: Vec<String>, at: &str) -> anyhow::Result<String> {
    if models.len() > 1 {
        let named = listed(models.iter().map(|name| one_line(name, 60)), SHOWN);
        return Err(misuse(format!(
            "{at} has several models. Select one with `--model NAME` or OPENAI_MODEL: {named}"
        )));
    }
    models.pop().ok_or_else(|| {
        misuse(format!(
            "{at} lists no model. Load one on the server, or select one with `--model NAME`"
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
