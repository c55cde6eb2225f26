//! What each response of a recording says.

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
            // Machines read it whether they say so or not.
            screen.line(shown_json(&line(&file, index, decoded)))?;
        }
    }
    Ok(exit)
}

/// A recording by the last two parts of its path, which mostly are a provider and a session.
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

/// What a response says, or its status where it is an error, or why that cannot be told.
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
