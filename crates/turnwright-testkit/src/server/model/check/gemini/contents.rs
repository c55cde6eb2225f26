//! Contents, calls and their results.

use serde_json::Value;

use crate::server::model::check::{Checked, Known, Problem, known_fields, list, text, wrong};
use crate::server::model::gemini::{SIGNATURE, about_call};
use crate::server::model::state;

/// What a part can be.
const DATA: [&str; 9] = [
    "text",
    "functionCall",
    "functionResponse",
    "inlineData",
    "fileData",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];
/// What a part can have beside that.
const BESIDE: [&str; 5] = [
    "thought",
    "thoughtSignature",
    "videoMetadata",
    "mediaResolution",
    "partMetadata",
];
/// The documented signatures for calls that came from elsewhere.
const PLACEHOLDERS: [&str; 2] = [
    "context_engineering_is_the_way_to_go",
    "skip_thought_signature_validator",
];

pub(super) fn check(body: &Value, known: &Known<'_>) -> Checked {
    let contents = list(body, "contents", "body")?;
    if contents.is_empty() {
        return wrong("contents: contents is not specified");
    }
    let current = current_turn(contents);
    // The calls of the content before.
    let mut open: Vec<&Value> = Vec::new();
    for (number, content) in contents.iter().enumerate() {
        let place = format!("contents[{number}]");
        known_fields(content, &["role", "parts"], &place)?;
        let wanted = if number % 2 == 0 { "user" } else { "model" };
        let role = text(content, "role", &place)?;
        if role != wanted {
            return wrong(format!(
                "{place}.role: `{wanted}` is due, not `{role}`: contents must alternate"
            ));
        }
        let parts = list(content, "parts", &place)?;
        if parts.is_empty() {
            return wrong(format!("{place}.parts: must not be empty"));
        }
        for (number, part) in parts.iter().enumerate() {
            self::part(part, role, &format!("{place}.parts[{number}]"), known)?;
        }
        open = match role {
            "model" => {
                signed(parts, &place, number > current, known)?;
                parts
                    .iter()
                    .filter_map(|part| part.get("functionCall"))
                    .collect()
            }
            _ => {
                results(parts, &place, &open)?;
                Vec::new()
            }
        };
    }
    match contents.len() % 2 {
        0 => wrong("contents: the last content must be the user's"),
        _ => Ok(()),
    }
}

/// Returns the index of the content that began the current turn: the last one of the user that is not only results.
fn current_turn(contents: &[Value]) -> usize {
    let of_user = |content: &Value| content.get("role").and_then(Value::as_str) == Some("user");
    let asks = |content: &Value| {
        let parts = content.get("parts").and_then(Value::as_array);
        parts
            .into_iter()
            .flatten()
            .any(|part| part.get("functionResponse").is_none())
    };
    let found = contents
        .iter()
        .rposition(|content| of_user(content) && asks(content));
    found.unwrap_or(0)
}

fn part(part: &Value, role: &str, place: &str, known: &Known<'_>) -> Checked {
    let names: Vec<&str> = DATA.iter().chain(&BESIDE).copied().collect();
    known_fields(part, &names, place)?;
    let is = |name: &&&str| part.get(**name).is_some_and(|value| !value.is_null());
    let data: Vec<&&str> = DATA.iter().filter(is).collect();
    let [data] = data.as_slice() else {
        return wrong(format!(
            "{place}.data: required oneof field 'data' must have one initialized field"
        ));
    };
    let fits = match **data {
        "text" => true,
        "functionCall" | "executableCode" | "codeExecutionResult" | "toolCall" | "toolResponse" => {
            role == "model"
        }
        _ => role == "user",
    };
    if !fits && **data != "inlineData" {
        return wrong(format!("{place}: `{data}` does not fit the role `{role}`"));
    }
    if let Some(call) = part.get("functionCall") {
        text(call, "name", place)?;
        if !call.get("args").is_none_or(Value::is_object) {
            return wrong(format!("{place}.functionCall.args: an object is required"));
        }
    }
    match part.get("thoughtSignature") {
        Some(Value::String(signature)) => signature_fits(part, signature, place, known),
        Some(_) => wrong(format!("{place}.thoughtSignature: a string is required")),
        None => Ok(()),
    }
}

/// Checks that a signature came with this part.
fn signature_fits(part: &Value, signature: &str, place: &str, known: &Known<'_>) -> Checked {
    let is_thought = part.get("thought") == Some(&Value::Bool(true));
    let checked = if let Some(call) = part.get("functionCall") {
        if PLACEHOLDERS.contains(&signature) {
            return Ok(());
        }
        let args = call
            .get("args")
            .cloned()
            .unwrap_or_else(|| serde_json::json!({}));
        let name = call.get("name").and_then(Value::as_str).unwrap_or_default();
        let about = about_call(name, &args);
        state::check(
            SIGNATURE,
            known.server,
            signature,
            &about.each_ref().map(String::as_str),
        )
    } else if part.get("text").is_some() && !is_thought {
        state::check(SIGNATURE, known.server, signature, &["text"])
    } else if state::is_block_state(known.server, signature) {
        Ok(())
    } else {
        Err("it did not come with this part".to_owned())
    };
    checked.or_else(|why| wrong(format!("{place}: Thought signature is not valid: {why}")))
}

/// Checks that the signatures of a content came back.
fn signed(parts: &[Value], place: &str, current: bool, known: &Known<'_>) -> Checked {
    let has_signature = |part: &Value| part.get("thoughtSignature").is_some();
    let first = parts.iter().find(|part| part.get("functionCall").is_some());
    if let Some(first) = first {
        return match has_signature(first) || !current {
            true => Ok(()),
            false => wrong(format!(
                "{place}: the first function call is missing a thought_signature. This is required for tools to work \
                 correctly"
            )),
        };
    }
    let texts = parts
        .iter()
        .filter(|part| part.get("thought") != Some(&Value::Bool(true)));
    let texts = texts.filter_map(|part| part.get("text")?.as_str());
    match parts.iter().any(has_signature) || !(known.signed)(&texts.collect::<String>()) {
        true => Ok(()),
        false => wrong(format!(
            "{place}: the text came with a thought signature, which is missing"
        )),
    }
}

/// Checks that the results of all open calls are there, in their order.
fn results(parts: &[Value], place: &str, open: &[&Value]) -> Result<(), Problem> {
    let results: Vec<&Value> = parts
        .iter()
        .filter_map(|part| part.get("functionResponse"))
        .collect();
    if results.len() != open.len() {
        return wrong(format!(
            "{place}: Please ensure that the number of function response parts is equal to the number of function call \
             parts of the function call turn ({} and {})",
            results.len(),
            open.len()
        ));
    }
    for (call, result) in open.iter().zip(results) {
        for field in ["name", "id"] {
            if call.get(field) != result.get(field) {
                return wrong(format!(
                    "{place}: the {field} of a function response is {:?}, and that of its call {:?}",
                    result.get(field),
                    call.get(field)
                ));
            }
        }
        if !result.get("response").is_some_and(Value::is_object) {
            return wrong(format!(
                "{place}.functionResponse.response: an object is required"
            ));
        }
    }
    let first = parts
        .iter()
        .position(|part| part.get("functionResponse").is_none());
    let after = first.is_some_and(|first| {
        parts
            .iter()
            .skip(first)
            .any(|part| part.get("functionResponse").is_some())
    });
    match after {
        true => wrong(format!(
            "{place}: function responses must come before other parts"
        )),
        false => Ok(()),
    }
}
