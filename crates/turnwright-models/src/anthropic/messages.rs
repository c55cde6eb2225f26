//! Writes the items of a prompt as messages.

use serde_json::{Map, Value, json};
use turnwright_core::media::MediaKind;

use super::decode::CONTAINER;
use crate::engine::{
    Assistant, Call, CallResult, EncodedMedia, Item, Layout, Part, Piece, Role, UserPart,
    WireMessage,
};

/// Writes an item.
pub(super) fn write(item: Item<'_>, messages: &mut Vec<WireMessage>) {
    match item {
        Item::System(text) => {
            let block = json!({ "type": "text", "text": text });
            messages.push(WireMessage::new(Role::System, &block));
        }
        Item::User(user) => {
            let blocks: Vec<Value> = user.parts.iter().filter_map(block).collect();
            if !blocks.is_empty() {
                let message = json!({ "role": "user", "content": blocks });
                let message = WireMessage::new(Role::User, &message);
                messages.push(message.of_parts(&user.parts));
            }
        }
        Item::Assistant(assistant) => messages.extend(response(&assistant)),
        Item::Results(results) => messages.push(result_message(&results)),
    }
}

/// Returns a response with its blocks in their order.
fn response(assistant: &Assistant) -> Option<WireMessage> {
    let has_lost_thinking = has_lost_thinking(assistant);
    let write = |piece: &Piece| match piece {
        Piece::Text { text, fields } => {
            // The API rejects text without letters or signs.
            let is_empty = text.trim().is_empty() && fields.is_empty();
            (!is_empty).then(|| with_fields(json!({ "type": "text", "text": text }), fields))
        }
        Piece::Reasoning { text, fields } => {
            // The API rejects thinking without a signature. A response that was cut off can lack it.
            fields.get("signature")?;
            let block = json!({ "type": "thinking", "thinking": text });
            Some(with_fields(block, fields))
        }
        Piece::Call(call) => Some(call_block(call)),
        Piece::Raw(value) if has_lost_thinking && is_redacted(value) => None,
        Piece::Raw(value) => Some(value.to_string()),
    };
    let blocks: Vec<String> = assistant.pieces.iter().filter_map(write).collect();
    if blocks.is_empty() {
        return None;
    }
    let blocks = blocks.join(",");
    let text = format!(r#"{{"role":"assistant","content":[{blocks}]}}"#);
    let mut message = WireMessage::of_json(Role::Assistant, text);
    let has_calls = assistant.calls().next().is_some();
    message.has_foreign_calls = has_calls && (has_lost_thinking || !assistant.is_own);
    if let Some(container) = assistant.state.get(CONTAINER) {
        message
            .extra
            .insert(CONTAINER.to_owned(), container.clone());
    }
    Some(message)
}

/// Returns `true` if the thinking of a response no longer fits its layout. Its signatures are then invalid.
fn has_lost_thinking(assistant: &Assistant) -> bool {
    let is_thinking = |piece: &Piece| matches!(piece, Piece::Reasoning { .. });
    let layout = Layout::of(&assistant.state);
    let mut parts = layout.iter().flat_map(|layout| layout.parts());
    parts.any(|part| matches!(part, Part::Reasoning(_)))
        && !assistant.pieces.iter().any(is_thinking)
}

fn is_redacted(block: &Value) -> bool {
    block.get("type").and_then(Value::as_str) == Some("redacted_thinking")
}

/// Returns a call. Its input is the text of the model, so that no number changes.
fn call_block(call: &Call) -> String {
    let head = json!({ "type": "tool_use", "id": call.id, "name": call.name }).to_string();
    let head = head.trim_end_matches('}');
    let fields = own_fields(&call.fields, &["type", "id", "name", "input"]);
    let fields = if fields.is_empty() {
        String::new()
    } else {
        // The opening brace becomes the comma.
        Value::Object(fields).to_string().replacen('{', ",", 1)
    };
    match fields.as_str() {
        "" => format!(r#"{head},"input":{}}}"#, call.arguments),
        fields => format!(r#"{head},"input":{}{fields}"#, call.arguments),
    }
}

/// Returns a block with what the provider attached to it.
fn with_fields(mut block: Value, fields: &Map<String, Value>) -> String {
    if let Value::Object(block) = &mut block {
        block.extend(own_fields(fields, &["type", "text", "thinking"]));
    }
    block.to_string()
}

/// Returns fields that do not replace those of the protocol.
fn own_fields(fields: &Map<String, Value>, protocol: &[&str]) -> Map<String, Value> {
    let own = fields
        .iter()
        .filter(|(name, _)| !protocol.contains(&name.as_str()));
    own.map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Returns the results of all calls of a response, in one message.
fn result_message(results: &[CallResult]) -> WireMessage {
    let blocks: Vec<Value> = results.iter().map(result_block).collect();
    let message = json!({ "role": "user", "content": blocks });
    let parts = results.iter().flat_map(|result| &result.parts);
    WireMessage::new(Role::Tool, &message).of_parts(parts)
}

fn result_block(result: &CallResult) -> Value {
    let content: Vec<Value> = result.parts.iter().filter_map(block).collect();
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.id });
    if let Value::Object(fields) = &mut block {
        if !content.is_empty() {
            fields.insert("content".to_owned(), content.into());
        }
        // The API accepts only text in errors.
        if result.is_error && result.parts.iter().all(UserPart::is_text) {
            fields.insert("is_error".to_owned(), true.into());
        }
    }
    block
}

/// Returns a part as a block. The API rejects empty text.
fn block(part: &UserPart) -> Option<Value> {
    match part {
        UserPart::Text(text) if text.trim().is_empty() => None,
        UserPart::Text(text) => Some(json!({ "type": "text", "text": text })),
        UserPart::Custom(value) => Some(value.clone()),
        UserPart::Media(media) => Some(media_block(media)),
    }
}

fn media_block(media: &EncodedMedia) -> Value {
    let kind = match media.media.kind() {
        MediaKind::Image => "image",
        _ => "document",
    };
    let source = json!({ "type": "base64", "media_type": media.mime, "data": media.data });
    json!({ "type": kind, "source": source })
}
