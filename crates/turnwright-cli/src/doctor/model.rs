//! The model server and the API key.

use turnwright::models::Protocol;

use super::report::Check;
use crate::agent::{Server, api_key};
use crate::args::Doctor;
use crate::terminal::one_line;
use crate::units::{listed, plural};

/// The Chat Completions server that is checked if none is configured. It is on this machine.
const LOCAL: &str = "http://127.0.0.1:8080/v1";

/// The most model names in a message.
const NAMED: usize = 6;

pub(super) async fn checks(options: &Doctor) -> Vec<Check> {
    let (protocol, model) = match Server::provider(options.model.as_deref()) {
        Ok(provider) => provider,
        Err(error) => return vec![Check::fail("model", error.to_string(), "correct --model")],
    };
    let configured = options.base_url.as_deref().map(str::trim);
    let configured = configured.filter(|base| !base.is_empty());
    let configured = configured.map(str::to_owned);
    let configured = configured.or_else(|| protocol.base_url_from_env());
    // A provider without keys is on this machine, and `chat` uses its usual address.
    let usual = || protocol.default_base_url().to_owned();
    let configured = configured.or_else(|| protocol.key_variables().is_empty().then(usual));
    let key = api_key(protocol);
    let has_key = key.is_some();
    // The key is only sent to a server that the user named.
    let key = key.filter(|_| configured.is_some());
    // Without configuration nothing but this machine is contacted.
    let base = match protocol {
        Protocol::ChatCompletions => LOCAL,
        other => other.default_base_url(),
    };
    let base = configured.as_deref().unwrap_or(base);
    let server = match Server::at(protocol, base, key, model.map(str::to_owned)) {
        Ok(server) => server,
        Err(error) => {
            let fix = format!("correct --base-url or {}", protocol.base_url_variable());
            return vec![Check::fail("server", error.to_string(), fix)];
        }
    };
    let mut checks = if configured.is_some() {
        of_configured(&server, server.models().await)
    } else if server.is_local() {
        vec![of_local(&server, server.models().await, has_key)]
    } else {
        vec![not_contacted(&server)]
    };
    checks.push(of_key(&server, has_key, configured.is_some()));
    checks
}

fn of_configured(server: &Server, models: anyhow::Result<Vec<String>>) -> Vec<Check> {
    let address = server.address();
    let models = match models {
        Ok(models) => models,
        Err(error) => {
            let variable = server.protocol().base_url_variable();
            let fix = format!("start the server, or correct --base-url or {variable}");
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
            format!("select one with {}: {}", server.select("NAME"), named()),
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
            format!("select one with {}: {}", server.select("NAME"), named()),
        ),
    });
    checks
}

/// Without a configured server: whether one on this machine could be used.
fn of_local(server: &Server, models: anyhow::Result<Vec<String>>, has_key: bool) -> Check {
    let (address, variable) = (server.address(), server.protocol().base_url_variable());
    match (models, has_key) {
        (Ok(_), _) => Check::warn(
            "server",
            format!("none is configured; {address} answers"),
            format!("set {variable}={address}, or pass it as --base-url"),
        ),
        (Err(_), true) => Check::warn(
            "server",
            "none is configured, so `chat` uses https://api.openai.com/v1; it was not contacted",
            "pass --base-url https://api.openai.com/v1 to check it",
        ),
        (Err(_), false) => Check::warn(
            "server",
            format!("none is configured, and {address} does not answer"),
            format!("set {variable}, or start a local server such as llama.cpp, Ollama or vLLM"),
        ),
    }
}

/// Without a configured server: that of the provider is used.
fn not_contacted(server: &Server) -> Check {
    let address = server.address();
    Check::warn(
        "server",
        format!("none is configured, so `chat` uses {address}; it was not contacted"),
        format!("pass --base-url {address} to check it"),
    )
}

/// The key is never printed, not even in part.
fn of_key(server: &Server, has_key: bool, configured: bool) -> Check {
    let Some(variable) = server.key_variable() else {
        return Check::ok("API key", "the provider has no keys");
    };
    if has_key && configured && server.sends_key_in_the_clear() {
        let detail = format!("{variable} is set, and is sent to the server unencrypted");
        Check::warn("API key", detail, "use an https URL")
    } else if has_key {
        Check::ok("API key", format!("{variable} is set"))
    } else if server.is_local() {
        Check::ok("API key", "not set; a local server usually needs none")
    } else {
        let detail = format!("{variable} is not set");
        Check::warn("API key", detail, "set it if the server requires a key")
    }
}
