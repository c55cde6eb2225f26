//! The model server and the API key.

use turnwright::models::Protocol;

use super::report::Check;
use crate::agent::{Server, api_key};
use crate::args::Doctor;
use crate::terminal::one_line;
use crate::units::{listed, plural};

/// The server that is checked if none is configured. It is on this machine: without configuration nothing else is contacted.
const LOCAL: &str = "http://127.0.0.1:8080/v1";

/// The most model names in a message.
const NAMED: usize = 6;

pub(super) async fn checks(options: &Doctor) -> Vec<Check> {
    let configured = options.base_url.as_deref().map(str::trim);
    let configured = configured.filter(|base| !base.is_empty());
    let protocol = Protocol::ChatCompletions;
    let key = api_key(protocol);
    let has_key = key.is_some();
    // The key is only sent to a server that the user named.
    let key = key.filter(|_| configured.is_some());
    let base = configured.unwrap_or(LOCAL);
    let server = match Server::at(protocol, base, key, options.model.clone()) {
        Ok(server) => server,
        Err(error) => {
            let fix = "correct --base-url or OPENAI_BASE_URL";
            return vec![Check::fail("server", error.to_string(), fix)];
        }
    };
    let models = server.models().await;
    let mut checks = match configured {
        Some(_) => of_configured(&server, models),
        None => vec![of_default(models, has_key)],
    };
    checks.push(of_key(&server, has_key, configured.is_some()));
    checks
}

fn of_configured(server: &Server, models: anyhow::Result<Vec<String>>) -> Vec<Check> {
    let address = server.address();
    let models = match models {
        Ok(models) => models,
        Err(error) => {
            let fix = "start the server, or correct --base-url or OPENAI_BASE_URL";
            return vec![Check::fail("server", format!("{address}: {error:#}"), fix)];
        }
    };
    let count = plural(models.len() as u64, "model");
    let mut checks = vec![Check::ok("server", format!("{address} has {count}"))];
    let named = || listed(models.iter().map(|name| one_line(name, 60)), NAMED);
    let wanted = one_line(&server.model, 60);
    checks.push(match (server.model.is_empty(), models.as_slice()) {
        (false, models) if models.contains(&server.model) => Check::ok("model", wanted),
        (false, _) => Check::warn(
            "model",
            format!("the server does not list `{wanted}`"),
            format!(
                "set OPENAI_MODEL or --model to one that it has: {}",
                named()
            ),
        ),
        (true, [only]) => Check::ok(
            "model",
            format!("{}, the only one of the server", one_line(only, 60)),
        ),
        (true, []) => Check::warn(
            "model",
            "the server lists no model",
            "load a model on the server",
        ),
        (true, _) => Check::warn(
            "model",
            "no model is selected, and the server has several",
            format!("set OPENAI_MODEL or pass --model: {}", named()),
        ),
    });
    checks
}

/// Without a configured server: whether a local one could be used.
fn of_default(models: anyhow::Result<Vec<String>>, has_key: bool) -> Check {
    match (models, has_key) {
        (Ok(_), _) => Check::warn(
            "server",
            format!("none is configured; {LOCAL} answers"),
            format!("set OPENAI_BASE_URL={LOCAL}, or pass it as --base-url"),
        ),
        (Err(_), true) => Check::warn(
            "server",
            "none is configured, so `chat` uses https://api.openai.com/v1; it was not contacted",
            "pass --base-url https://api.openai.com/v1 to check it",
        ),
        (Err(_), false) => Check::warn(
            "server",
            format!("none is configured, and {LOCAL} does not answer"),
            "set OPENAI_BASE_URL, or start a local server such as llama.cpp, Ollama or vLLM",
        ),
    }
}

/// The key is never printed, not even in part.
fn of_key(server: &Server, has_key: bool, configured: bool) -> Check {
    match has_key {
        true if configured && server.sends_key_in_the_clear() => Check::warn(
            "API key",
            "OPENAI_API_KEY is set, and is sent to the server unencrypted",
            "use an https URL",
        ),
        true => Check::ok("API key", "OPENAI_API_KEY is set"),
        false if server.is_local() => {
            Check::ok("API key", "not set; a local server usually needs none")
        }
        false => Check::warn(
            "API key",
            "OPENAI_API_KEY is not set",
            "set it if the server requires a key",
        ),
    }
}
