//! `turnwright wire decode`: the content of each response.

use std::path::{Component, Path};

use serde_json::{Map, Value, json};
use turnwright::models::chat_completions::decode;
use turnwright_testkit::cassette::Exchange;

use super::recording;
use crate::args::WireDecode;
use crate::exit::Exit;
use crate::terminal::{Screen, json as shown_json};

pub(crate) fn decode(options: &WireDecode, mut screen: Screen) -> anyhow::Result<Exit> {
    let mut exit = Exit::Done;
    for path in &options.files {
        let file = name_of(path);
        for (index, exchange) in recording::read(path)?.iter().enumerate() {
            let decoded = decoded(exchange.as_ref().map_err(String::as_str));
            if decoded.contains_key("error") {
                exit = Exit::No;
            }
            // JSON also without `--json`.
            screen.line(shown_json(&line(&file, index, decoded)))?;
        }
    }
    Ok(exit)
}

/// The last two parts of the path of a recording: usually a provider and a session.
pub(super) fn name_of(path: &Path) -> String {
    let parts: Vec<_> = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    let (_, last) = parts.split_at(parts.len().saturating_sub(2));
    last.join("/")
}

pub(super) fn line(file: &str, index: usize, decoded: Map<String, Value>) -> Value {
    let mut line = json!({ "file": file, "index": index });
    if let Value::Object(line) = &mut line {
        line.extend(decoded);
    }
    line
}

/// The content of a response, its status if it is an error, or why it cannot be decoded.
pub(super) fn decoded(exchange: Result<&Exchange, &str>) -> Map<String, Value> {
    let decoded = match exchange {
        Err(error) => json!({ "error": error }),
        Ok(response) if !(200..300).contains(&response.status) => {
            json!({ "status": response.status })
        }
        Ok(response) => match decode::decode(response.header("content-type"), &response.body) {
            Ok(reply) => reply.to_value(),
            Err(error) => json!({ "error": error.with_causes() }),
        },
    };
    match decoded {
        Value::Object(decoded) => decoded,
        _ => Map::new(),
    }
}
