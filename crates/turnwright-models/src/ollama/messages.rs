//! Writes the items of a prompt as messages.

use serde::Serialize;
use serde_json::Value;

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
    let images: Vec<&str> = images.collect();
    let count = images.len() as u64;
    let message = Message {
        images,
        ..Message::new("user", &text)
    };
    let message = WireMessage::new(Role::User, &message);
    match count {
        0 => message,
        count => message.with_media(text, count),
    }
}

fn assistant_message(assistant: &Assistant) -> WireMessage {
    let (text, thinking) = (assistant.text(), assistant.reasoning());
    let calls = assistant.calls().map(|call| Call {
        id: &call.id,
        function: Function {
            name: &call.name,
            // The engine writes a valid object.
            arguments: serde_json::from_str(&call.arguments).unwrap_or_default(),
        },
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
    tool_calls: Vec<Call<'a>>,
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

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    function: Function<'a>,
}

#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    arguments: Value,
}
