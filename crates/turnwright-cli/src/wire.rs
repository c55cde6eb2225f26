//! `turnwright wire decode`: prints the content of each recorded response.

use std::path::{Component, Path};

use serde_json::{Value, json};
use turnwright::models::Protocol;
use turnwright_testkit::cassette::Exchange;

use crate::args::WireDecode;
use crate::exit::{Exit, misuse};
use crate::terminal::{Screen, with_fields};
use crate::text;

#[cfg(test)]
mod tests;

pub(crate) fn decode(options: &WireDecode, mut screen: Screen) -> anyhow::Result<Exit> {
    let mut exit = Exit::Done;
    for path in &options.files {
        let file = name_of(path);
        for (index, exchange) in read(path)?.iter().enumerate() {
            let exchange = exchange.as_ref().map_err(String::as_str);
            let decoded = decoded(options.protocol, exchange);
            // An error status is what the server answered; anything else could not be decoded.
            if decoded.get("error").is_some() && decoded.get("status").is_none() {
                exit = Exit::No;
            }
            // JSON also without `--json`.
            let place = json!({ "file": file, "index": index });
            screen.json_line(&with_fields(place, decoded))?;
        }
    }
    Ok(exit)
}

/// The last two parts of the path of a recording: usually a provider and a session.
fn name_of(path: &Path) -> String {
    let parts: Vec<_> = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    let (_, last) = parts.split_at(parts.len().saturating_sub(2));
    last.join("/")
}

/// The content of a response, its status if it is an error, or why it cannot be decoded.
fn decoded(protocol: Option<Protocol>, exchange: Result<&Exchange, &str>) -> Value {
    match exchange {
        Err(error) => json!({ "error": error }),
        Ok(response) => {
            let protocol = protocol.unwrap_or_else(|| protocol_of(response));
            let content_type = response.header("content-type");
            let line = protocol.describe_response(response.status, content_type, &response.body);
            line.unwrap_or_else(|error| json!({ "error": error.with_causes() }))
        }
    }
}

/// The protocol of a recorded exchange. Most servers speak Chat Completions.
fn protocol_of(exchange: &Exchange) -> Protocol {
    let detected = Protocol::detect(&exchange.path, &exchange.body);
    detected.unwrap_or(Protocol::ChatCompletions)
}

/// The exchanges of a recording in order, or why one is invalid.
type Recording = Vec<Result<Exchange, String>>;

fn read(path: &Path) -> anyhow::Result<Recording> {
    let text = text::file(path, text::RECORDING)?;
    parse(&text).map_err(|error| {
        let name = text::name_of(path);
        misuse(format!(
            "{name} is not a recording: {error}. A recording is a JSON array of \
             {{\"request\": {{method, path, body}}, \"response\": {{status, headers, body}}}}, as `chat --record` writes it"
        ))
    })
}

fn parse(text: &str) -> serde_json::Result<Recording> {
    let entries: Vec<Value> = serde_json::from_str(text)?;
    // One by one, so that an invalid entry does not affect the others.
    let entries = entries.into_iter().map(|entry| {
        serde_json::from_value(entry).map_err(|error| format!("not a recorded exchange: {error}"))
    });
    Ok(entries.collect())
}
