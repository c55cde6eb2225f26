//! `turnwright models`: the models that a server offers.

use anyhow::Context as _;
use serde_json::json;
use turnwright::models::Protocol;

use crate::agent::Server;
use crate::args::Models;
use crate::exit::{Exit, misuse};
use crate::terminal::{Screen, one_line};

/// The most characters of a name.
const NAME: usize = 200;

pub(crate) async fn run(options: Models, mut screen: Screen) -> anyhow::Result<Exit> {
    let provider = options.provider.trim().trim_end_matches(':');
    let name = format!("{provider}:");
    let split = Protocol::split_name(&name).map_err(|error| misuse(error.message()))?;
    if split.is_none() {
        return Err(misuse(format!(
            "no provider is called `{}`. Use openai, responses, anthropic, gemini or ollama",
            one_line(provider, NAME)
        )));
    }
    let server = Server::named(options.base_url.as_deref(), Some(&name))?;
    let models = server.models().await;
    let models =
        models.with_context(|| format!("cannot list the models of {}", server.address()))?;
    for model in &models {
        screen.value(&json!({ "model": model }))?;
        screen.line(one_line(model, NAME))?;
    }
    if models.is_empty() {
        Ok(Exit::No)
    } else {
        Ok(Exit::Done)
    }
}
