//! Chunks to pieces of a reply.

use std::borrow::Cow;

use serde::Deserialize as _;
use turnwright_core::{Error, ErrorCode};

use super::chunk::{Choice, Chunk, Content, Message, Part};
use super::complaint::{GLIMPSE, not_of_the_protocol, refused, shown, too_large};
use super::counts;
use super::delta::{Delta, ReasoningField};
use super::shape::List;
use super::slots::{Piece, Placed, Slots};

/// Reads chunks, and remembers of them what the next one depends on.
#[derive(Default)]
pub(super) struct Reader {
    slots: Slots,
    has_id: bool,
    has_model: bool,
    finish_reason: Option<String>,
    /// How many details of thoughts there were.
    details: usize,
}

/// The most calls, and the most details of thoughts, that one response may have: tiny ones take hundreds of times their bytes
/// in memory, and every call would be made.
const MOST_CALLS: usize = 1_000;
const MOST_DETAILS: usize = 20_000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Comes {
    InPieces,
    Whole,
}

impl Reader {
    /// Reads an event of a stream. Whether it is the one that says that nothing follows.
    pub(super) fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        deltas: &mut Vec<Delta>,
    ) -> Result<bool, Error> {
        let data = data.trim();
        if name.is_some_and(|name| name.eq_ignore_ascii_case("error")) {
            return Err(refused(data));
        }
        match data {
            "" => {}
            "[DONE]" => {
                deltas.push(Delta::Done);
                return Ok(true);
            }
            _ => {
                let mut chunk = Chunk::default();
                read("an event of the response", data, &mut chunk)?;
                self.chunk(&mut chunk, Comes::InPieces, data, deltas)?;
            }
        }
        Ok(false)
    }

    /// Reads a body that is not streamed.
    pub(super) fn body(&mut self, body: &[u8], deltas: &mut Vec<Delta>) -> Result<(), Error> {
        let text = std::str::from_utf8(body)
            .map_err(|_| Error::new(ErrorCode::Wire, "the response is not UTF-8"))?;
        let text = text.trim();
        if text.starts_with('[') && lists_error(text) {
            return Err(refused(text));
        }
        let mut chunk = Chunk::default();
        read("the response", text, &mut chunk)?;
        self.chunk(&mut chunk, Comes::Whole, text, deltas)?;
        deltas.push(Delta::Done);
        Ok(())
    }

    fn chunk(
        &mut self,
        chunk: &mut Chunk<'_>,
        comes: Comes,
        text: &str,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        if is_error(chunk) {
            return Err(refused(text));
        }
        let usage = counts::told(chunk);
        if let Some(id) = chunk.id.take().filter(|_| !self.has_id) {
            self.has_id = true;
            deltas.push(Delta::Id(id.into_owned()));
        }
        if let Some(model) = chunk.model.take().filter(|_| !self.has_model) {
            self.has_model = true;
            deltas.push(Delta::Model(model.into_owned()));
        }
        match &mut chunk.choices.0 {
            Some(choices) => {
                if let Some(choice) = choices.first() {
                    self.choice(choice, comes, deltas);
                }
            }
            None if comes == Comes::Whole => {
                let message = format!(
                    "the response has no `choices`; is the base URL right? It begins with: {}",
                    shown(text, GLIMPSE)
                );
                return Err(not_of_the_protocol(message));
            }
            None => {}
        }
        if let Some((usage, cached_told)) = usage {
            deltas.push(Delta::Usage { usage, cached_told });
        }
        if self.slots.count() > MOST_CALLS {
            return Err(too_large(format!(
                "the response has more than {MOST_CALLS} calls"
            )));
        }
        if self.details > MOST_DETAILS {
            let message =
                format!("the response has more than {MOST_DETAILS} details of its reasoning");
            return Err(too_large(message));
        }
        Ok(())
    }

    fn choice(&mut self, choice: &mut Choice<'_>, comes: Comes, deltas: &mut Vec<Delta>) {
        // Some have both: what is new in `delta`, and all so far in `message`.
        let message = match comes {
            Comes::InPieces => choice.delta.0.as_mut().or(choice.message.as_deref_mut()),
            Comes::Whole => choice.message.as_deref_mut().or(choice.delta.0.as_mut()),
        };
        if let Some(message) = message {
            let before = deltas.len();
            self.message(message, comes, deltas);
            if deltas.len() > before {
                // A reason that is said again after more content ends that too.
                self.finish_reason = None;
            }
        }
        if let Some(reason) = choice.finish_reason.take()
            && self.finish_reason.as_deref() != Some(&reason)
        {
            self.finish_reason = Some(reason.to_string());
            deltas.push(Delta::Finish(reason.into_owned()));
        }
    }

    fn message(&mut self, message: &mut Message<'_>, comes: Comes, deltas: &mut Vec<Delta>) {
        // Both at once are the same thoughts, for clients that know only one name.
        let reasoning = match message.reasoning_content.take() {
            Some(text) => Some((text, ReasoningField::ReasoningContent)),
            None => message
                .reasoning
                .take()
                .map(|text| (text, ReasoningField::Reasoning)),
        };
        if let Some((text, field)) = reasoning {
            let text = text.into_owned();
            deltas.push(Delta::Reasoning { text, field });
        }
        if !message.reasoning_details.0.is_empty() {
            let details = std::mem::take(&mut message.reasoning_details.0);
            self.details += details.len();
            deltas.push(Delta::ReasoningDetails(details));
        }
        content(std::mem::take(&mut message.content), deltas);
        if let Some(refusal) = message.refusal.take() {
            deltas.push(Delta::Refusal(refusal.into_owned()));
        }
        let calls = std::mem::take(&mut message.tool_calls.0);
        let several = calls.len() > 1;
        for (place, call) in calls.into_iter().enumerate() {
            let id = call.id.said();
            let name = call.function.name.said();
            let arguments = call.function.arguments.0;
            let piece = Piece {
                index: call.index.0,
                id: id.as_deref(),
                name: name.as_deref(),
                arguments: &arguments,
                place: several.then_some(place),
            };
            let placed = match comes {
                Comes::InPieces => self.slots.place(&piece),
                Comes::Whole => self.slots.open(&piece),
            };
            let Placed { slot, .. } = placed;
            deltas.push(Delta::Call {
                slot,
                id: id.filter(|_| placed.new_id).map(Cow::into_owned),
                name: name.filter(|_| placed.new_name).map(Cow::into_owned),
                arguments: arguments.into_owned(),
                extra: call.extra.map(|extra| *extra),
            });
        }
        // Beside `tool_calls` it says the same again.
        if let Some(function) = message.function_call.take()
            && !self.slots.has_listed()
        {
            let name = function.name.said();
            let arguments = function.arguments.0;
            if name.is_none() && arguments.is_empty() {
                return;
            }
            let placed = self.slots.place_old(&Piece {
                index: None,
                id: None,
                name: name.as_deref(),
                arguments: &arguments,
                place: None,
            });
            deltas.push(Delta::Call {
                slot: placed.slot,
                id: None,
                name: name.filter(|_| placed.new_name).map(Cow::into_owned),
                arguments: arguments.into_owned(),
                extra: None,
            });
        }
    }
}

fn content(content: Content<'_>, deltas: &mut Vec<Delta>) {
    match content {
        Content::None => {}
        Content::Text(text) if text.is_empty() => {}
        Content::Text(text) => deltas.push(Delta::Text(text.into_owned())),
        Content::Parts(parts) => deltas.extend(parts.into_iter().filter_map(|part| match part {
            Part::Text(text) => Some(Delta::Text(text)),
            Part::Thinking(text) => Some(Delta::Reasoning {
                text,
                field: ReasoningField::Thinking,
            }),
            Part::Refusal(text) => Some(Delta::Refusal(text)),
            Part::Other => None,
        })),
    }
}

fn is_error(chunk: &Chunk<'_>) -> bool {
    let choices = chunk.choices.0.as_ref();
    let instead = choices.is_none()
        && chunk.usage.is_none()
        && (chunk.message.0 || chunk.detail.0 || chunk.errors.0);
    chunk.error.0 || instead || choices.is_some_and(|it| it.any_error)
}

/// Whether a list holds an error: some servers wrap it so.
fn lists_error(text: &str) -> bool {
    let chunks: Result<List<Chunk<'_>>, _> = serde_json::from_str(text);
    chunks.is_ok_and(|chunks| chunks.0.iter().any(is_error))
}

/// Reads a chunk where it is to stand: it is large, and would be moved at every level.
fn read<'a>(what: &str, text: &'a str, chunk: &mut Chunk<'a>) -> Result<(), Error> {
    let wrong = |why: &str, glimpse: &str| {
        let glimpse = match glimpse {
            "" => String::new(),
            text => format!("; it begins with: {}", shown(text, GLIMPSE)),
        };
        let message = format!("{what} cannot be read: {why}{glimpse}");
        Error::new(ErrorCode::Wire, message)
    };
    if !text.starts_with('{') {
        return Err(wrong("it is no JSON object", text));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let read = Chunk::deserialize_in_place(&mut json, chunk).and_then(|()| json.end());
    read.map_err(|error| match error.is_data() {
        // It quotes what is wrong.
        true => wrong(&shown(&error.to_string(), GLIMPSE), ""),
        false => wrong(&error.to_string(), text),
    })
}
