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
    /// The model's name.
    pub(crate) model: String,
}

impl Server {
    /// Finds the server and the model. Without a name, the server's only model is used.
    pub(crate) async fn find(options: &args::Agent) -> anyhow::Result<Self> {
        let key = non_blank(std::env::var("OPENAI_API_KEY").ok());
        let base = match (non_blank(options.base_url.clone()), &key) {
            (Some(base), _) => base,
            (None, Some(_)) => OPENAI.to_owned(),
            (None, None) => {
                return Err(misuse(
                    "no model server is named: give `--base-url http://127.0.0.1:8080/v1` for one on this machine \
                     (llama.cpp; Ollama has port 11434, vLLM 8000, LM Studio 1234), or set OPENAI_API_KEY for OpenAI's",
                ));
            }
        };
        let base = Url::parse(&base).ok().filter(is_web).ok_or_else(|| {
            misuse("the base URL is no address: write it like `http://127.0.0.1:8080/v1`")
        })?;
        let mut server = Server {
            base,
            key,
            model: non_blank(options.model.clone()).unwrap_or_default(),
        };
        if server.model.is_empty() {
            server.model = only(server.models().await?, &server.address())?;
        }
        Ok(server)
    }

    /// An executor for it.
    pub(crate) fn executor(&self) -> ChatCompletionsBuilder {
        let builder = ChatCompletions::builder(self.base.as_str()).model(&self.model);
        match &self.key {
            Some(key) => builder.api_key(key),
            None => builder,
        }
    }

    /// What requests are sent by where they are recorded.
    pub(crate) fn client(&self) -> Result<Client, Error> {
        let client = Client::builder();
        match is_loopback(&self.base) {
            true => client.no_proxy().build(),
            false => client.build(),
        }
    }

    /// For people: which model where.
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

    /// The URL without secrets, on one line.
    pub(crate) fn address(&self) -> String {
        let shown = without_secrets(&self.base);
        one_line(shown.as_str().trim_end_matches('/'), 120)
    }

    /// The names of the models that the server has.
    async fn models(&self) -> anyhow::Result<Vec<String>> {
        let request_models = async {
            let response = self.request_models().await.map_err(unanswered)?;
            match response.status().as_u16() {
                200 => {}
                401 | 403 => anyhow::bail!("the key was refused; is OPENAI_API_KEY right?"),
                status => anyhow::bail!("it answered with status {status}"),
            }
            let mut body = Vec::new();
            let mut pieces = response.bytes_stream();
            while let Some(piece) = pieces.next().await {
                body.extend_from_slice(&piece.map_err(unanswered)?);
                anyhow::ensure!(body.len() <= MAX_LIST, "it answered at too great length");
            }
            // The body is not quoted: a server may repeat the key in it.
            let names = names(&body).context("what it answers is no list of models")?;
            let is_key = |name: &String| self.key.as_ref().is_some_and(|key| name.contains(key));
            Ok(names.into_iter().filter(|name| !is_key(name)).collect())
        };
        let asked = tokio::time::timeout(LIST_TIMEOUT, request_models).await;
        let asked = asked.unwrap_or_else(|_| Err(anyhow::anyhow!("it does not answer")));
        asked.with_context(|| {
            let at = self.address();
            format!(
                "no model was named, and {at} does not say which it has; name one with `--model`"
            )
        })
    }

    async fn request_models(&self) -> reqwest::Result<reqwest::Response> {
        let mut url = self.base.clone();
        let path = url.path().trim_end_matches('/');
        let path = path.strip_suffix("/chat/completions").unwrap_or(path);
        url.set_path(&format!("{path}/models"));
        // A key belongs where it was sent, and a proxy of the environment is not for what runs on this machine.
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
        true => anyhow::anyhow!("it cannot be reached: is the address right, and does it run?"),
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
        let choose = "choose one with `--model NAME` or OPENAI_MODEL";
        return Err(misuse(format!(
            "{at} has several models: {choose}. It has {named}"
        )));
    }
    models.pop().ok_or_else(|| {
        misuse(format!(
            "{at} says that it has no model: load one there, or name it with `--model NAME`"
        ))
    })
}

/// A text that is not blank, without white space around it.
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
