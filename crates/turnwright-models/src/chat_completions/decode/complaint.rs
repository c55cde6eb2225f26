//! What a server says is wrong, in the many shapes that servers have for it.

use serde::Deserialize as _;
use serde_json::{Map, Value};
use turnwright_core::{Error, ErrorCode, ErrorKind};

/// How much of a server's message is kept.
const MESSAGE: usize = 500;
/// How much is shown of what cannot be read.
pub(super) const GLIMPSE: usize = 80;
/// Where a message may stand, best first.
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
/// How deep a message may stand.
const DEPTH: usize = 6;
/// How many messages of a list are told.
const ITEMS: usize = 3;

/// The message in the body of an error response: JSON of any of the shapes that servers use, a page, or plain text. It is
/// one line of at most some 500 characters.
///
/// ```
/// use turnwright_models::chat_completions::decode::error_message;
///
/// assert_eq!(error_message(br#"{"error":{"message":"Invalid API Key","code":401}}"#), "Invalid API Key");
/// assert_eq!(error_message(b"<html><title>502 Bad Gateway</title>"), "502 Bad Gateway");
/// assert_eq!(error_message(b""), "no reason was given");
/// ```
#[must_use]
pub fn error_message(body: &[u8]) -> String {
    let body = body.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(body);
    // Data of a stream of which the first event is the error.
    let body = body.strip_prefix(b"data:").unwrap_or(body);
    let mut reader = serde_json::Deserializer::from_slice(body);
    let found = Value::deserialize(&mut reader).ok();
    let text = match &found {
        Some(value) => message_in(value, DEPTH).unwrap_or_else(|| value.to_string()),
        None => page_title(&String::from_utf8_lossy(body)),
    };
    match text.trim() {
        "" | "null" | "{}" | "[]" | "\"\"" => "no reason was given".to_owned(),
        text => shown(text, MESSAGE),
    }
}

/// The error that a server says in a response that began well.
pub(super) fn refused(body: &str) -> Error {
    let message = format!(
        "the model server answered with an error: {}",
        error_message(body.as_bytes())
    );
    let error = Error::new(ErrorCode::ModelServer, message);
    match serde_json::from_str(body).ok().as_ref().and_then(status) {
        Some(429) => error.with_kind(ErrorKind::RateLimited),
        Some(408 | 504 | 524) => error.with_kind(ErrorKind::Timeout),
        Some(500..=599) => error.with_kind(ErrorKind::Unavailable),
        _ => error,
    }
}

/// A status that stands in the error.
fn status(value: &Value) -> Option<u64> {
    let error = error_in(value).unwrap_or(value);
    ["code", "status", "raw_status_code"]
        .iter()
        .find_map(|field| {
            let it = error.get(field)?;
            it.as_u64().or_else(|| it.as_str()?.parse().ok())
        })
}

/// The error of the response, or of its first choice that has one.
fn error_in(value: &Value) -> Option<&Value> {
    let said = |value: &'_ Value| !matches!(value, Value::Null | Value::Bool(_));
    let of_choices = || {
        let choices = value.get("choices")?.as_array()?;
        choices
            .iter()
            .find_map(|choice| choice.get("error").filter(|it| said(it)))
    };
    value.get("error").filter(|it| said(it)).or_else(of_choices)
}

fn message_in(value: &Value, depth: usize) -> Option<String> {
    let depth = depth.checked_sub(1)?;
    match value {
        Value::String(text) if !text.trim().is_empty() => Some(text.clone()),
        Value::Array(items) => {
            let said = items.iter().filter_map(|item| message_in(item, depth));
            let said: Vec<String> = said.take(ITEMS).collect();
            (!said.is_empty()).then(|| said.join("; "))
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

/// A code, where there is nothing better.
fn code_in(fields: &Map<String, Value>) -> Option<String> {
    ["code", "type", "status"]
        .iter()
        .find_map(|field| match fields.get(*field)? {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        })
}

/// What a complaint is about often stands beside it.
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

/// A gateway's message often only says that the server behind it failed; what that one said stands beside it.
fn with_upstream(message: String, fields: &Map<String, Value>) -> String {
    let raw = fields.get("metadata").and_then(|it| it.get("raw"));
    match raw {
        Some(Value::String(raw)) if !raw.trim().is_empty() && !message.contains(raw.as_str()) => {
            format!("{message}: {raw}")
        }
        _ => message,
    }
}

/// The title of a page, and of anything else the text.
fn page_title(text: &str) -> String {
    let text = text.trim();
    if !text.starts_with('<') {
        return text.to_owned();
    }
    // ASCII letters only, so that every place is the same in both.
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

/// At most so many characters of a text, on one line and without what could not be seen.
pub(in super::super) fn shown(text: &str, limit: usize) -> String {
    let text = text.trim();
    let mut out = String::new();
    let mut chars = text.chars();
    for c in chars.by_ref().take(limit) {
        match c {
            '"' | '\'' | '\\' => out.push(c),
            '\n' | '\r' | '\t' => out.push(' '),
            _ => out.extend(c.escape_debug()),
        }
    }
    if chars.next().is_some() {
        out.push('…');
    }
    out
}

/// What came is larger than it may be, and will be so again.
pub(super) fn too_large(message: String) -> Error {
    Error::new(ErrorCode::Wire, message).with_kind(ErrorKind::Internal)
}

/// What came is not of the protocol at all, and will not be when it is asked again.
pub(super) fn not_of_the_protocol(message: String) -> Error {
    Error::new(ErrorCode::Wire, message).with_kind(ErrorKind::NotFound)
}
