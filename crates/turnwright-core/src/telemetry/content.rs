//! Messages, arguments and results, shortened for a trace.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::error::Error;
use crate::record::{Author, Message};
use crate::schema::shortened;
use crate::spool::Body;
use crate::tool::{Content, ToolOutput};

/// Maximum bytes of each, before the note about what was omitted.
const MOST: usize = 8 * 1024;
/// Space for the frame of a message and the note about what was omitted.
const NOTE: usize = 128;

/// Shortens a text that is too long.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    shortened(text, MOST)
}

/// Formats arguments as JSON.
pub(super) fn arguments(args: &Value) -> String {
    text(&args.to_string()).into_owned()
}

/// Formats the result of a call. For a failure, the text that the model reads.
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

/// Formats messages as the OpenTelemetry conventions require. The latest message is always included and shortened if necessary.
/// Earlier ones are included as far as they fit.
pub(super) fn messages<'m>(
    messages: impl DoubleEndedIterator<Item = &'m Message> + ExactSizeIterator,
) -> String {
    let mut omitted = messages.len();
    let mut room = MOST;
    let mut shown: Vec<String> = Vec::new();
    for message in messages.rev() {
        let role = role_of(message.author());
        let mut one = in_form(role, message.text());
        if one.len() > room {
            if !shown.is_empty() {
                break;
            }
            // It fills the space. Escaped characters take more space than their bytes.
            room = 0;
            let mut most = MOST - NOTE;
            while one.len() > MOST && most > 0 {
                one = in_form(role, &shortened(message.text(), most));
                most /= 2;
            }
        }
        room = room.saturating_sub(one.len() + 1);
        shown.push(one);
        omitted -= 1;
    }
    if omitted > 0 {
        let note = json!({ "type": "omitted", "content": format!("{omitted} earlier messages") });
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
