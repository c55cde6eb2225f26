//! What was messages, asked and answered, as far as a trace holds it.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::error::Error;
use crate::record::{Author, Message};
use crate::spool::Body;
use crate::tool::{Content, ToolOutput};

/// The most bytes of each, before the note that says what is missing.
const MOST: usize = 8 * 1024;
/// What a message takes beside its text, and the note that says what is missing.
const NOTE: usize = 128;

/// A text, cut where it is too long.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    match text.len() <= MOST {
        true => text.into(),
        false => cut(text, MOST).into(),
    }
}

/// The first bytes of a text, whole characters of it, and how much is missing.
fn cut(text: &str, most: usize) -> String {
    let end = text.floor_char_boundary(most);
    let (shown, left_out) = (text.get(..end).unwrap_or_default(), text.len() - end);
    format!("{shown}… ({left_out} more bytes were left out)")
}

/// Arguments, as JSON.
pub(super) fn arguments(args: &Value) -> String {
    text(&args.to_string()).into_owned()
}

/// What a call gave. Of a failure: what the model reads.
pub(super) fn result(result: &Result<ToolOutput, Error>) -> Cow<'_, str> {
    match result {
        Err(error) => text(error.model_text()),
        Ok(output) => match &output.content {
            Content::Body(Body::Text(given)) => text(given),
            Content::Body(Body::Bytes(bytes)) => format!("({} bytes)", bytes.len()).into(),
            Content::Body(Body::Stream(_)) => "(a stream of bytes)".into(),
            Content::Media(media) => format!("({} media)", media.len()).into(),
            Content::Artifact(artifact) => {
                format!("(an artifact of {} bytes)", artifact.byte_length()).into()
            }
        },
    }
}

/// Messages in the form that the conventions give them, the latest for certain: it is cut where it is too long by itself, and
/// earlier ones stand there as far as there is room.
pub(super) fn messages<'m>(
    messages: impl DoubleEndedIterator<Item = &'m Message> + ExactSizeIterator,
) -> String {
    let mut left_out = messages.len();
    let mut room = MOST;
    let mut shown: Vec<String> = Vec::new();
    for message in messages.rev() {
        let role = role_of(message.author());
        let mut one = in_form(role, message.text());
        if one.len() > room {
            if !shown.is_empty() {
                break;
            }
            // It fills all of the room. Escaped characters take more of it than they have bytes.
            room = 0;
            let mut most = MOST - NOTE;
            while one.len() > MOST && most > 0 {
                one = in_form(role, &cut(message.text(), most));
                most /= 2;
            }
        }
        room = room.saturating_sub(one.len() + 1);
        shown.push(one);
        left_out -= 1;
    }
    if left_out > 0 {
        let note = json!({ "type": "left_out", "content": format!("{left_out} earlier messages") });
        shown.push(json!({ "role": "system", "parts": [note] }).to_string());
    }
    shown.reverse();
    format!("[{}]", shown.join(","))
}

fn in_form(role: &str, text: &str) -> String {
    json!({ "role": role, "parts": [{ "type": "text", "content": text }] }).to_string()
}

fn role_of(author: &Author) -> &'static str {
    match author {
        Author::User | Author::Agent { .. } => "user",
        Author::Assistant => "assistant",
        Author::Framework => "system",
    }
}
