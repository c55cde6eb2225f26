//! Errors reported by servers, in the many shapes that servers use.

use serde::Deserialize as _;
use serde_json::{Map, Value};
use turnwright_core::schema::escape;
use turnwright_core::{Error, ErrorCode, ErrorKind};

/// The maximum number of characters of a server's message.
const MAX_MESSAGE: usize = 500;
/// The number of characters quoted from a response that cannot be parsed.
pub(crate) const EXCERPT: usize = 80;
/// The fields that can hold a message, best first.
const FIELDS: [&str; 9] = [
    "error",
    "message",
    "detail",
    "errors",
    "msg",
    "error_description",
    "description",
    "title",
    "reason",
];
/// The maximum depth of a message.
const MAX_DEPTH: usize = 6;
/// The maximum number of messages from a list.
const MAX_ITEMS: usize = 3;

/// Extracts the message from the body of an error response: JSON in any of the shapes that servers use, an HTML page,
/// or plain text. Returns one line of at most about 500 characters.
///
/// ```
/// use turnwright_models::decode::error_message;
///
/// assert_eq!(error_message(br#"{"error":{"message":"Invalid API Key","code":401}}"#), "Invalid API Key");
/// assert_eq!(error_message(b"<html><title>502 Bad Gateway</title>"), "502 Bad Gateway");
/// assert_eq!(error_message(b""), "no reason was given");
/// ```
#[must_use]
pub fn error_message(body: &[u8]) -> String {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    // The first event of a stream is the error.
    let body = body.strip_prefix(b"data:").unwrap_or(body);
    let mut reader = serde_json::Deserializer::from_slice(body);
    let found = Value::deserialize(&mut reader).ok();
    let text = match &found {
        Some(value) => message_in(value, MAX_DEPTH).unwrap_or_else(|| value.to_string()),
        None => page_title(&String::from_utf8_lossy(body)),
    };
    match text.trim() {
        "" | "null" | "{}" | "[]" | "\"\"" => "no reason was given".to_owned(),
        text => excerpt(text, MAX_MESSAGE),
    }
}

/// Returns the error that a server reports in a response with a success status.
pub(crate) fn reported(body: &str) -> Error {
    let message = format!(
        "the model server answered with an error: {}",
        error_message(body.as_bytes())
    );
    let error = Error::new(ErrorCode::MODEL_SERVER_ERROR, message);
    match serde_json::from_str(body).ok().as_ref().and_then(status) {
        Some(429) => error.with_kind(ErrorKind::RateLimited),
        Some(408 | 504 | 524) => error.with_kind(ErrorKind::Timeout),
        Some(500..=599) => error.with_kind(ErrorKind::Unavailable),
        _ => error,
    }
}

/// Returns the status in the error.
fn status(value: &Value) -> Option<u64> {
    let error = error_in(value).unwrap_or(value);
    ["code", "status", "raw_status_code"]
        .iter()
        .find_map(|field| {
            let status = error.get(field)?;
            status.as_u64().or_else(|| status.as_str()?.parse().ok())
        })
}

/// Returns the error of the response, or of its first choice that has one.
fn error_in(value: &Value) -> Option<&Value> {
    let is_error = |value: &'_ Value| !matches!(value, Value::Null | Value::Bool(_));
    let of_choices = || {
        let choices = value.get("choices")?.as_array()?;
        choices
            .iter()
            .find_map(|choice| choice.get("error").filter(|error| is_error(error)))
    };
    let error = value.get("error").filter(|error| is_error(error));
    error.or_else(of_choices)
}

fn message_in(value: &Value, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(items) => {
            let messages = items.iter().filter_map(|item| message_in(item, depth));
            let messages: Vec<String> = messages.take(MAX_ITEMS).collect();
            (!messages.is_empty()).then(|| messages.join("; "))
        }
        Value::Object(fields) => {
            let found = FIELDS.iter().find_map(|field| {
                let value = fields.get(*field)?;
                message_in(value, depth)
            });
            let found = found.or_else(|| message_in(error_in(value)?, depth));
            let found = found.or_else(|| code_in(fields))?;
            Some(with_upstream(with_place(found, fields), fields))
        }
        _ => None,
    }
}

/// Returns a code, if there is no message.
fn code_in(fields: &Map<String, Value>) -> Option<String> {
    ["code", "type", "status"]
        .iter()
        .find_map(|field| match fields.get(*field)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
}

/// Adds the field that the message is about.
fn with_place(message: String, fields: &Map<String, Value>) -> String {
    if let Some(Value::Array(steps)) = fields.get("loc") {
        let steps = steps.iter().map(|step| match step {
            Value::String(name) => name.clone(),
            other => other.to_string(),
        });
        return format!("{}: {message}", steps.collect::<Vec<_>>().join("."));
    }
    match fields.get("param") {
        Some(Value::String(name)) if !name.is_empty() && !message.contains(name.as_str()) => {
            format!("{message} ({name})")
        }
        _ => message,
    }
}

/// Adds the message of the server behind a gateway. The gateway's own message often only says that the server failed.
fn with_upstream(message: String, fields: &Map<String, Value>) -> String {
    let raw = fields
        .get("metadata")
        .and_then(|metadata| metadata.get("raw"));
    match raw {
        Some(Value::String(raw)) if !raw.trim().is_empty() && !message.contains(raw.as_str()) => {
            format!("{message}: {raw}")
        }
        _ => message,
    }
}

/// Returns the title of an HTML page, or other text unchanged.
fn page_title(text: &str) -> String {
    let text = text.trim();
    if !text.starts_with('<') {
        return text.to_owned();
    }
    // Only ASCII letters change, so that offsets are the same in both.
    let small = text.to_ascii_lowercase();
    let title = || {
        let after = small.find("<title")?;
        let from = after + small.get(after..)?.find('>')? + 1;
        let to = from + small.get(from..)?.find("</title")?;
        let title = text.get(from..to)?.trim();
        (!title.is_empty()).then(|| title.to_owned())
    };
    title().unwrap_or_else(|| text.to_owned())
}

/// Returns at most `limit` characters of a text, on one line, with invisible characters escaped.
pub(crate) fn excerpt(text: &str, limit: usize) -> String {
    escape(&text.trim().replace(['\n', '\r', '\t'], " "), limit)
}

/// Checks a number of things in a response. Tiny ones take hundreds of times their bytes in memory, and every call would be
/// executed.
pub(crate) fn at_most(max: usize, count: usize, what: &str) -> Result<(), Error> {
    if count <= max {
        return Ok(());
    }
    Err(too_large(format!(
        "the response has more than {max} {what}"
    )))
}

/// Returns the error for a response that exceeds a limit. A retry would exceed it too.
pub(crate) fn too_large(message: String) -> Error {
    Error::new(ErrorCode::WIRE_ERROR, message).with_kind(ErrorKind::Internal)
}

/// Returns the name of the protocol that a body or an event looks like.
pub(crate) fn looks_like(text: &str) -> Option<&'static str> {
    let value: Value = serde_json::from_str(text).ok()?;
    let has = |field: &str| value.get(field).is_some();
    let kind = value
        .get("type")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let object = value.get("object").and_then(Value::as_str);
    if has("choices") {
        Some("Chat Completions")
    } else if object == Some("response") || kind.starts_with("response.") {
        Some("OpenAI Responses")
    } else if has("candidates") || has("promptFeedback") {
        Some("Gemini")
    } else if kind.starts_with("message") || kind.starts_with("content_block_") {
        Some("Anthropic Messages")
    } else if has("done") && (has("message") || has("response")) {
        Some("Ollama")
    } else {
        None
    }
}

/// Returns the error for a response that does not follow the protocol: what is missing, which protocol it looks like,
/// and how it begins. A retry would not help.
pub(crate) fn wrong_protocol(what: &str, text: &str) -> Error {
    let likely = match looks_like(text) {
        Some(protocol) => format!(
            "this looks like {protocol}: use the model type of that protocol, or another base URL."
        ),
        None => "is the base URL right?".to_owned(),
    };
    let start = excerpt(text, EXCERPT);
    no_response(format!("{what}; {likely} It begins with: {start}"))
}

/// Returns the error for a body that is no response of a model. A retry would not help.
pub(super) fn no_response(message: String) -> Error {
    Error::new(ErrorCode::WIRE_ERROR, message).with_kind(ErrorKind::NotFound)
}

/// Returns the error for a frame or a body that cannot be parsed. `begins` is its text; empty if it must not be quoted.
pub(crate) fn unreadable(what: &str, why: &str, begins: &str) -> Error {
    let begins = match begins {
        "" => String::new(),
        text => format!("; it begins with: {}", excerpt(text, EXCERPT)),
    };
    let message = format!("{what} cannot be parsed: {why}{begins}");
    Error::new(ErrorCode::WIRE_ERROR, message)
}
