//! Writes the items of a prompt as contents.

use serde_json::{Map, Value, json};

use super::SIGNATURE;
use crate::engine::{
    Assistant, Call, CallResult, EncodedMedia, Item, Piece, Role, User, UserPart, WireMessage,
};

/// The signature that the API documents for calls that it did not make itself.
const PLACEHOLDER: &str = "skip_thought_signature_validator";

/// How a content of the user starts and ends.
const USER: &str = r#"{"role":"user","parts":["#;
const END: &str = "]}";

/// Writes an item.
pub(super) fn write(item: Item<'_>, messages: &mut Vec<WireMessage>) {
    match item {
        Item::System(text) => {
            let content = json!({ "parts": [{ "text": text }] });
            messages.push(WireMessage::new(Role::System, &content));
        }
        Item::User(user) => messages.push(user_content(&user)),
        Item::Assistant(assistant) => messages.push(model_content(assistant)),
        Item::Results(results) => {
            let content = user_json(results.iter().map(function_response));
            messages.push(WireMessage::of_json(Role::Tool, content));
        }
    }
}

fn user_content(user: &User<'_>) -> WireMessage {
    let content = user_json(user.parts.iter().map(user_part));
    WireMessage::of_json(Role::User, content).of_parts(&user.parts)
}

pub(super) fn user_json(parts: impl Iterator<Item = Value>) -> String {
    let parts: Vec<String> = parts.map(|part| part.to_string()).collect();
    format!("{USER}{}{END}", parts.join(","))
}

/// Appends contents to a list. Contents must alternate, so consecutive ones of the user become one: results, and the
/// message of a user who continued after the turn had been cancelled or had failed.
pub(super) fn push(body: &mut String, contents: &[&WireMessage]) {
    let mut follows_user = false;
    for (at, content) in contents.iter().enumerate() {
        let parts = content.json.strip_prefix(USER);
        match parts {
            Some(parts) if follows_user => {
                body.truncate(body.len() - END.len());
                body.push(',');
                body.push_str(parts);
            }
            _ => {
                body.push_str(if at > 0 { "," } else { "" });
                body.push_str(&content.json);
            }
        }
        follows_user = parts.is_some();
    }
}

fn user_part(part: &UserPart) -> Value {
    match part {
        UserPart::Text(text) => json!({ "text": text }),
        UserPart::Media(EncodedMedia { mime, data, .. }) => {
            json!({ "inlineData": { "mimeType": mime, "data": data } })
        }
        UserPart::Custom(value) => value.clone(),
    }
}

fn model_content(assistant: Assistant) -> WireMessage {
    let is_signed = |call: &Call| call.fields.contains_key(SIGNATURE);
    // Of parallel calls only the first is signed.
    let mut placeholder = match assistant.calls().next() {
        Some(first) if !assistant.is_own && !is_signed(first) => Some(PLACEHOLDER),
        _ => None,
    };
    let mut parts = Vec::with_capacity(assistant.pieces.len());
    for piece in assistant.pieces {
        let part = match piece {
            Piece::Text { text, fields } => signed(json!({ "text": text }), &fields),
            Piece::Reasoning { text, fields } => {
                signed(json!({ "text": text, "thought": true }), &fields)
            }
            Piece::Raw(value) => value,
            Piece::Call(call) => {
                let mut part = signed(function_call(&call), &call.fields);
                if let (Some(placeholder), Value::Object(part)) = (placeholder.take(), &mut part) {
                    part.insert(SIGNATURE.to_owned(), placeholder.into());
                }
                part
            }
        };
        parts.push(part);
    }
    let content = json!({ "role": "model", "parts": parts });
    WireMessage::new(Role::Assistant, &content)
}

fn function_call(call: &Call) -> Value {
    // The engine writes a valid object.
    let args: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
    let mut function = json!({ "name": call.name, "args": args });
    if let (true, Value::Object(fields)) = (call.has_own_id, &mut function) {
        fields.insert("id".to_owned(), call.id.as_str().into());
    }
    json!({ "functionCall": function })
}

fn function_response(result: &CallResult) -> Value {
    let field = if result.is_error { "error" } else { "result" };
    let mut function = json!({ "name": result.name, "response": { field: result.text() } });
    if let (true, Value::Object(fields)) = (result.has_own_id, &mut function) {
        fields.insert("id".to_owned(), result.id.as_str().into());
    }
    json!({ "functionResponse": function })
}

/// Adds the signature of a part, beside its content.
fn signed(mut part: Value, fields: &Map<String, Value>) -> Value {
    if let (Some(signature), Value::Object(part)) = (fields.get(SIGNATURE), &mut part) {
        part.insert(SIGNATURE.to_owned(), signature.clone());
    }
    part
}
