//! What was said, asked and answered, as far as a trace holds it.

use std::borrow::Cow;
use std::io;

use serde_json::{Value, json};

use crate::error::Error;
use crate::record::{Author, Message};
use crate::spool::Body;
use crate::tool::{Content, ToolOutput};

/// The most bytes of each, before the note that says what is missing.
const MOST: usize = 8 * 1024;

/// A text, cut where it is too long.
pub(super) fn text(whole: &str) -> Cow<'_, str> {
    match whole.len() <= MOST {
        true => whole.into(),
        false => cut(whole, MOST).into(),
    }
}

/// The first bytes of a text, whole characters of it, and how much is missing.
fn cut(whole: &str, most: usize) -> String {
    let kept = whole.floor_char_boundary(most);
    let left_out = whole.len() - kept;
    let kept = whole.get(..kept).unwrap_or_default();
    format!("{kept}… ({left_out} more bytes were left out)")
}

/// Arguments, as JSON; no more of them is held than is shown.
pub(super) fn arguments(args: &Value) -> String {
    let mut written = Bounded::default();
    // Nothing here can fail: the writer takes everything, and every value of JSON can be written.
    let _ = serde_json::to_writer(&mut written, args);
    let left_out = written.left_out;
    let mut kept = written.kept;
    if left_out == 0 {
        return String::from_utf8(kept).unwrap_or_default();
    }
    let broken = match std::str::from_utf8(&kept) {
        Ok(_) => 0,
        Err(error) => kept.len() - error.valid_up_to(),
    };
    kept.truncate(kept.len() - broken);
    let kept = String::from_utf8(kept).unwrap_or_default();
    let left_out = left_out + broken;
    format!("{kept}… ({left_out} more bytes were left out)")
}

/// Keeps the first bytes and counts the others.
#[derive(Default)]
struct Bounded {
    kept: Vec<u8>,
    left_out: usize,
}

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = MOST.saturating_sub(self.kept.len()).min(bytes.len());
        self.kept.extend(bytes.iter().take(room));
        self.left_out += bytes.len() - room;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
        },
    }
}

/// Messages in the form that the conventions give them, the latest for certain: it is cut where it is too long by itself, and
/// earlier ones stand there as far as there is room.
pub(super) fn messages<'m>(
    said: impl DoubleEndedIterator<Item = &'m Message> + ExactSizeIterator,
) -> String {
    let mut left_out = said.len();
    let mut room = MOST;
    let mut shown: Vec<String> = Vec::new();
    for message in said.rev() {
        let role = role_of(message.author());
        let fits = first_that_fit(message.text(), room.saturating_sub(frame(role)));
        let whole = fits == message.text().len();
        let one = match (whole, shown.is_empty()) {
            (true, _) => in_form(role, message.text()),
            (false, true) => in_form(role, &cut(message.text(), fits)),
            (false, false) => break,
        };
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

/// What a message takes beside its text.
fn frame(role: &str) -> usize {
    in_form(role, "").len()
}

fn role_of(author: &Author) -> &'static str {
    match author {
        Author::User | Author::Agent { .. } => "user",
        Author::Assistant => "assistant",
        Author::Framework => "system",
    }
}

/// How many bytes of a text, whole characters of it, fit once they are written as JSON.
fn first_that_fit(text: &str, mut room: usize) -> usize {
    for (at, character) in text.char_indices() {
        let takes = match character {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            '\0'..' ' => 6,
            _ => character.len_utf8(),
        };
        match room.checked_sub(takes) {
            Some(left) => room = left,
            None => return at,
        }
    }
    text.len()
}
