//! Requests that another client sent to real servers, reproduced with this crate.
//!
//! Each recorded body is split into options, tools and a conversation. The conversation is run, so that its records
//! contain our own state; a response that was recorded too is received as it was. Then a turn sends the records. The
//! result must be equal to the recording, except for differences that have a name and a reason.

mod anthropic;
mod chat_completions;
mod comparison;
mod gemini;
mod ollama;
mod responses;
mod turns;

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use serde_json::Value;
pub(crate) use turns::recorded_tool;
use turnwright_core::media::MediaKind;
use turnwright_core::spool::MemoryReader;
use turnwright_core::{Media, Message};

/// Returns the text of a message: a string, or the texts of a list of parts.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        _ => {
            let parts = content.as_array().into_iter().flatten();
            let texts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
            texts.join("\n\n")
        }
    }
}

/// Returns a user message with the text of its content, and with media.
fn user(content: &Value, media: impl IntoIterator<Item = Media>) -> Arc<Message> {
    let message = Message::user(text(content));
    let message = media
        .into_iter()
        .fold(message, |item, media| item.media(media));
    message.build().unwrap()
}

fn attached(kind: MediaKind, mime: &str, bytes: Vec<u8>, name: &str) -> Media {
    let media = Media::user_attachment(kind, mime, name, MemoryReader::new(bytes));
    media.build().unwrap()
}

fn decoded(data: &str) -> Vec<u8> {
    STANDARD.decode(data).unwrap()
}

/// Returns the strings of a list.
fn strings(list: &Value) -> Option<Vec<String>> {
    let text = |item: &Value| item.as_str().unwrap().to_owned();
    Some(list.as_array()?.iter().map(text).collect())
}
