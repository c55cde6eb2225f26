//! Writes the items of a prompt as messages.

use serde::Serialize;
use serde_json::{Map, Value, json};
use turnwright_core::media::MediaKind;

use super::ChatCompletionsCodec;
use super::decode::{DETAILS, FIELD, REASONING_CONTENT, THINKING};
use super::options::{ReturnReasoning, SystemRole};
use crate::engine::{
    Assistant, Call, EncodedMedia, Item, Role, User, UserPart, WireMessage, text_of,
};

/// Fields that the protocol defines. A server's own fields never replace them.
const PROTOCOL_FIELDS: &[&str] = &[
    "id",
    "type",
    "function",
    "role",
    "content",
    "name",
    "tool_calls",
    "tool_call_id",
    "index",
    "refusal",
];

/// Writes an item.
pub(super) fn write(codec: &ChatCompletionsCodec, item: Item<'_>, messages: &mut Vec<WireMessage>) {
    match item {
        Item::System(text) => {
            let role = match codec.role {
                SystemRole::System => "system",
                SystemRole::Developer => "developer",
            };
            let message = Message::new(role, Some(text.into()));
            messages.push(WireMessage::new(Role::System, &message));
        }
        Item::User(user) => messages.push(user_message(&user)),
        Item::Assistant(assistant) => messages.extend(assistant_message(codec, &assistant)),
        Item::Results(results) => messages.extend(results.iter().map(|result| {
            let message = Message {
                tool_call_id: Some(&result.id),
                ..Message::new("tool", Some(result.text().into()))
            };
            WireMessage::new(Role::Tool, &message)
        })),
    }
}

fn user_message(user: &User<'_>) -> WireMessage {
    // Text alone is a string; with media, the content is a list of parts.
    let content = if user.parts.iter().all(UserPart::is_text) {
        text_of(&user.parts).into()
    } else {
        user.parts.iter().map(content_part).collect()
    };
    let message = Message {
        name: user.name,
        ..Message::new("user", Some(content))
    };
    WireMessage::new(Role::User, &message).of_parts(&user.parts)
}

fn content_part(part: &UserPart) -> Value {
    match part {
        UserPart::Text(text) => json!({ "type": "text", "text": text }),
        UserPart::Custom(value) => value.clone(),
        UserPart::Media(media) => media_part(media),
    }
}

fn media_part(media: &EncodedMedia) -> Value {
    match media.media.kind() {
        MediaKind::Image => {
            json!({ "type": "image_url", "image_url": { "url": media.data_url() } })
        }
        MediaKind::Audio => {
            let other = media.mime.rsplit('/').next().unwrap_or_default();
            let format = media.audio_format().unwrap_or(other);
            json!({ "type": "input_audio", "input_audio": { "data": media.data, "format": format } })
        }
        MediaKind::Video => {
            json!({ "type": "video_url", "video_url": { "url": media.data_url() } })
        }
        _ => json!({
            "type": "file",
            "file": { "filename": media.shown_name(), "file_data": media.data_url() },
        }),
    }
}

/// Returns `true` if the protocol allows this name of a user.
pub(super) fn is_valid_user_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

fn assistant_message(codec: &ChatCompletionsCodec, assistant: &Assistant) -> Option<WireMessage> {
    let text = assistant.text();
    let mut content = (!text.is_empty()).then(|| Value::from(text));
    let mut reasoning = Map::new();
    if codec.reasoning != ReturnReasoning::None {
        add_reasoning(codec.reasoning, assistant, &mut content, &mut reasoning);
    }
    let tool_calls: Vec<_> = assistant.calls().map(wire_call).collect();
    if content.is_none() && tool_calls.is_empty() {
        // Only reasoning: no server accepts a message without content.
        return None;
    }
    let message = Message {
        reasoning,
        tool_calls,
        ..Message::new("assistant", content)
    };
    Some(WireMessage::new(Role::Assistant, &message))
}

/// Adds the reasoning that the server expects to be sent back.
fn add_reasoning(
    which: ReturnReasoning,
    assistant: &Assistant,
    content: &mut Option<Value>,
    fields: &mut Map<String, Value>,
) {
    let state = &assistant.state;
    let details = state.get(DETAILS);
    if let Some(details) = details {
        fields.insert(DETAILS.to_owned(), details.clone());
    }
    let field = state.get(FIELD).and_then(Value::as_str);
    let text = assistant.reasoning();
    let send_back = match (which, field) {
        (ReturnReasoning::Wanted, Some(REASONING_CONTENT)) => details.is_none(),
        (ReturnReasoning::Wanted, _) => false,
        _ => true,
    };
    match field {
        Some(_) if !send_back || text.is_empty() => {}
        Some(THINKING) => {
            let thinking =
                json!({ "type": "thinking", "thinking": [{ "type": "text", "text": text }] });
            let mut parts = vec![thinking];
            if let Some(text) = content.take() {
                parts.push(json!({ "type": "text", "text": text }));
            }
            *content = Some(Value::from(parts));
        }
        Some(field) if !PROTOCOL_FIELDS.contains(&field) => {
            fields.insert(field.to_owned(), text.into());
        }
        Some(_) | None => {}
    }
}

fn wire_call(call: &Call) -> Value {
    let own = |(name, _): &(&String, &Value)| !PROTOCOL_FIELDS.contains(&name.as_str());
    let own = call.fields.iter().filter(own);
    let mut fields: Map<_, _> = own
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let function = json!({ "name": call.name, "arguments": call.arguments });
    fields.insert("id".to_owned(), call.id.as_str().into());
    fields.insert("type".to_owned(), "function".into());
    fields.insert("function".to_owned(), function);
    fields.into()
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
    /// `null` next to calls, as in OpenAI's own responses. Every server accepts that.
    content: Option<Value>,
    #[serde(flatten)]
    reasoning: Map<String, Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
}

impl Message<'_> {
    fn new(role: &'static str, content: Option<Value>) -> Self {
        Message {
            role,
            name: None,
            tool_call_id: None,
            content,
            reasoning: Map::new(),
            tool_calls: Vec::new(),
        }
    }
}
