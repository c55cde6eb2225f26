//! Writes the items of a prompt as input items.

use serde_json::{Map, Value, json};
use turnwright_core::media::MediaKind;

use super::decode::{
    ANNOTATIONS, CONTENT, ENCRYPTED_CONTENT, MESSAGE, MORE, REFUSAL, RESPONSE_ID, SUMMARY,
};
use crate::engine::{
    Assistant, Call, CallResult, EncodedMedia, Item, Piece, Role, User, UserPart, WireMessage,
    text_of,
};

/// Writes an item. The system prompt is a JSON string: the body says where it goes.
pub(super) fn write(item: Item<'_>, messages: &mut Vec<WireMessage>) {
    match item {
        Item::System(text) => messages.push(WireMessage::new(Role::System, &text)),
        Item::User(user) => messages.push(user_message(&user)),
        Item::Assistant(assistant) => write_response(assistant, messages),
        Item::Results(results) => messages.extend(results.iter().map(output)),
    }
}

/// Returns the content of an item: a string, or a list of parts if there is media.
fn content_of(parts: &[UserPart]) -> Value {
    if parts.iter().all(UserPart::is_text) {
        text_of(parts).into()
    } else {
        parts.iter().map(content_part).collect()
    }
}

fn user_message(user: &User<'_>) -> WireMessage {
    let content = content_of(&user.parts);
    let item = json!({ "type": "message", "role": "user", "content": content });
    WireMessage::new(Role::User, &item).of_parts(&user.parts)
}

fn output(result: &CallResult) -> WireMessage {
    let output = content_of(&result.parts);
    let item = json!({ "type": "function_call_output", "call_id": result.id, "output": output });
    WireMessage::new(Role::Tool, &item).of_parts(&result.parts)
}

fn content_part(part: &UserPart) -> Value {
    match part {
        UserPart::Text(text) => json!({ "type": "input_text", "text": text }),
        UserPart::Custom(value) => value.clone(),
        UserPart::Media(media) => media_part(media),
    }
}

fn media_part(media: &EncodedMedia) -> Value {
    match media.media.kind() {
        MediaKind::Image => {
            json!({ "type": "input_image", "detail": "auto", "image_url": media.data_url() })
        }
        MediaKind::Audio => {
            let other = media.mime.rsplit('/').next().unwrap_or_default();
            let format = media.audio_format().unwrap_or(other);
            json!({ "type": "input_audio", "input_audio": { "data": media.data, "format": format } })
        }
        _ => json!({
            "type": "input_file",
            "filename": media.shown_name(),
            "file_data": media.data_url(),
        }),
    }
}

/// Writes a response as its items, in order.
fn write_response(assistant: Assistant, messages: &mut Vec<WireMessage>) {
    let mut items = Items::default();
    let has_own_ids = assistant.calls().all(|call| call.has_own_id);
    for piece in assistant.pieces {
        items.add(piece);
    }
    let items = items.into_items();
    messages.extend(
        items
            .iter()
            .map(|item| WireMessage::new(Role::Assistant, item)),
    );
    let id = assistant.state.get(RESPONSE_ID).and_then(Value::as_str);
    // Results can only refer to calls of a stored response by the ids that the server knows.
    if let (Some(id), Some(last), true) =
        (id, messages.last_mut(), has_own_ids && !items.is_empty())
    {
        last.response_id = Some(id.to_owned());
    }
}

/// The items of a response.
#[derive(Default)]
struct Items {
    items: Vec<Value>,
    /// Whether a reasoning item was left out. The server would miss it if the items after it had their ids.
    is_incomplete: bool,
}

impl Items {
    fn add(&mut self, piece: Piece) {
        match piece {
            Piece::Text { text, fields } => self.text(&text, fields),
            Piece::Reasoning { text, fields } => match reasoning_item(&text, fields) {
                Some(item) => self.items.push(item),
                None => self.is_incomplete = true,
            },
            Piece::Call(call) => self.call(call),
            Piece::Raw(item) => self.items.push(item),
        }
    }

    /// Adds a part of a message.
    fn text(&mut self, text: &str, mut fields: Map<String, Value>) {
        let message = fields.remove(MESSAGE);
        let is_more = fields.remove(MORE).is_some();
        let part = content_of_message(text, fields);
        if let (true, Some(Value::Array(parts))) = (
            is_more,
            self.items
                .last_mut()
                .and_then(|item| item.get_mut("content")),
        ) {
            parts.push(part);
            return;
        }
        let mut item = Map::from_iter([
            ("type".to_owned(), "message".into()),
            ("role".to_owned(), "assistant".into()),
        ]);
        match message {
            Some(Value::Object(mut fields)) => {
                if self.is_incomplete {
                    fields.remove("id");
                }
                item.insert("status".to_owned(), "completed".into());
                item.extend(fields);
                item.insert("content".to_owned(), Value::Array(vec![part]));
            }
            // Without an id, servers expect a string.
            _ => match part.get("text").and_then(Value::as_str) {
                Some("") => return,
                Some(text) => {
                    item.insert("content".to_owned(), text.into());
                }
                None => {
                    item.insert("content".to_owned(), Value::Array(vec![part]));
                }
            },
        }
        self.items.push(item.into());
    }

    fn call(&mut self, call: Call) {
        let mut item = call.fields;
        if self.is_incomplete {
            item.remove("id");
        }
        for (name, value) in [
            ("type", "function_call".to_owned()),
            ("call_id", call.id),
            ("name", call.name),
            ("arguments", call.arguments),
        ] {
            item.insert(name.to_owned(), value.into());
        }
        self.items.push(item.into());
    }

    /// Returns the items. Reasoning at the end goes before the items that it led to: some servers send it after them,
    /// and all expect it before them. Reasoning alone is left out, because servers reject it.
    fn into_items(mut self) -> Vec<Value> {
        let is_other = |item: &Value| item.get("type") != Some(&"reasoning".into());
        let end = self.items.iter().rposition(is_other).map_or(0, |at| at + 1);
        let led_to = self.items.get(..end).unwrap_or_default().iter();
        let start = led_to.rev().take_while(|item| is_other(item)).count();
        match end {
            0 => Vec::new(),
            _ => {
                if let Some(last) = self.items.get_mut(end - start..) {
                    last.rotate_left(start);
                }
                self.items
            }
        }
    }
}

/// Returns a part of a message.
fn content_of_message(text: &str, mut fields: Map<String, Value>) -> Value {
    if fields.contains_key(REFUSAL) {
        return json!({ "type": "refusal", "refusal": text });
    }
    let annotations = fields.remove(ANNOTATIONS).unwrap_or_else(|| json!([]));
    json!({ "type": "output_text", "text": text, "annotations": annotations })
}

/// Returns a reasoning item, or `None` if the server cannot use it: an id alone refers to nothing, unless the server
/// stored the item.
fn reasoning_item(text: &str, mut fields: Map<String, Value>) -> Option<Value> {
    let summary = fields.remove(SUMMARY);
    let content = fields.remove(CONTENT);
    if fields.is_empty() || (text.is_empty() && !fields.contains_key(ENCRYPTED_CONTENT)) {
        return None;
    }
    let mut rest = text;
    let summary = split(&mut rest, summary.as_ref(), "summary_text");
    let content = split(&mut rest, content.as_ref(), "reasoning_text");
    fields.insert("type".to_owned(), "reasoning".into());
    fields.insert("summary".to_owned(), summary.into());
    if !content.is_empty() {
        fields.insert("content".to_owned(), content.into());
    }
    Some(fields.into())
}

/// Takes the parts with these lengths from the beginning of a text.
fn split(text: &mut &str, lengths: Option<&Value>, kind: &str) -> Vec<Value> {
    let lengths = lengths.and_then(Value::as_array).into_iter().flatten();
    let mut parts = Vec::new();
    for length in lengths {
        let length = length
            .as_u64()
            .and_then(|length| usize::try_from(length).ok());
        let Some((part, rest)) = length.and_then(|length| text.split_at_checked(length)) else {
            break;
        };
        parts.push(json!({ "type": kind, "text": part }));
        *text = rest;
    }
    parts
}
