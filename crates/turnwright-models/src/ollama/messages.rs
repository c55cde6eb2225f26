//! Writes the items of a prompt as messages.

use serde::Serialize;
use serde_json::{Value, json};

use crate::engine::{Assistant, Item, Role, User, UserPart, WireMessage, text_of};

/// Writes an item.
pub(super) fn write(item: Item<'_>, messages: &mut Vec<WireMessage>) {
    match item {
        Item::System(text) => {
            let message = Message::new("system", text);
            messages.push(WireMessage::new(Role::System, &message));
        }
        Item::User(user) => messages.push(user_message(&user)),
        Item::Assistant(assistant) => messages.push(assistant_message(&assistant)),
        Item::Results(results) => messages.extend(results.iter().map(|result| {
            let text = result.text();
            let message = Message {
                tool_name: Some(&result.name),
                tool_call_id: Some(&result.id),
                ..Message::new("tool", &text)
            };
            WireMessage::new(Role::Tool, &message)
        })),
    }
}

fn user_message(user: &User<'_>) -> WireMessage {
    let text = text_of(&user.parts);
    let images = user.parts.iter().filter_map(|part| match part {
        UserPart::Text(_) => None,
        UserPart::Media(media) => Some(media.data.as_str()),
        UserPart::Custom(part) => part.as_str(),
    });
    let message = Message {
        images: images.collect(),
        ..Message::new("user", &text)
    };
    WireMessage::new(Role::User, &message).of_parts(&user.parts)
}

fn assistant_message(assistant: &Assistant) -> WireMessage {
    let (text, thinking) = (assistant.text(), assistant.reasoning());
    let calls = assistant.calls().map(|call| {
        // The engine writes a valid object.
        let arguments: Value = serde_json::from_str(&call.arguments).unwrap_or_default();
        json!({ "id": call.id, "function": { "name": call.name, "arguments": arguments } })
    });
    let message = Message {
        thinking: (!thinking.is_empty()).then_some(thinking.as_str()),
        tool_calls: calls.collect(),
        ..Message::new("assistant", &text)
    };
    WireMessage::new(Role::Assistant, &message)
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<&'a str>,
}

impl<'a> Message<'a> {
    fn new(role: &'static str, content: &'a str) -> Self {
        Message {
            role,
            content,
            thinking: None,
            images: Vec::new(),
            tool_calls: Vec::new(),
            tool_name: None,
            tool_call_id: None,
        }
    }
}
