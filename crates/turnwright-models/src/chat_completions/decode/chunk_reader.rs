//! Turns chunks into deltas of a reply.

use std::borrow::Cow;
use std::mem::take;

use serde::de::DeserializeSeed as _;
use turnwright_core::{Error, ErrorCode};

use super::call_matching::{CallMatcher, Fragment};
use super::chunk::{Call, Choice, Chunk, Function, Message};
use super::delta::{Delta, ReasoningField};
use super::lenient::{ListSeed, ObjectSeed};
use super::server_error::{EXCERPT, excerpt, reported, too_large, wrong_protocol};
use super::{content, usage};

/// The maximum number of calls and of reasoning details in one response. Tiny items take hundreds of times their
/// bytes in memory, and every call would be executed.
const MAX_CALLS: usize = 1_000;
const MAX_DETAILS: usize = 20_000;

/// Reads chunks, and holds the state that the next chunk depends on.
#[derive(Default)]
pub(super) struct ChunkReader {
    calls: CallMatcher,
    has_id: bool,
    has_model: bool,
    finish_reason: Option<String>,
    /// The number of reasoning details so far.
    details: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Delivery {
    Streamed,
    Complete,
}

impl ChunkReader {
    /// Reads an event of a stream. Returns whether it is the last one.
    pub(super) fn event(
        &mut self,
        name: &str,
        data: &str,
        deltas: &mut Vec<Delta>,
    ) -> Result<bool, Error> {
        let data = data.trim();
        if name.eq_ignore_ascii_case("error") {
            return Err(reported(data));
        }
        match data {
            "" => {}
            "[DONE]" => {
                deltas.push(Delta::Done);
                return Ok(true);
            }
            _ => {
                let mut chunk = None;
                let chunk = parse("an event of the response", data, &mut chunk)?;
                self.chunk(chunk, Delivery::Streamed, data, deltas)?;
            }
        }
        Ok(false)
    }

    /// Reads a body that is not streamed.
    pub(super) fn body(&mut self, body: &[u8], deltas: &mut Vec<Delta>) -> Result<(), Error> {
        let text = std::str::from_utf8(body)
            .map_err(|_| Error::new(ErrorCode::WIRE_ERROR, "the response is not UTF-8"))?;
        let text = text.trim();
        if text.starts_with('[') && lists_error(text) {
            return Err(reported(text));
        }
        let mut chunk = None;
        let chunk = parse("the response", text, &mut chunk)?;
        self.chunk(chunk, Delivery::Complete, text, deltas)?;
        deltas.push(Delta::Done);
        Ok(())
    }

    fn chunk(
        &mut self,
        chunk: &mut Chunk<'_>,
        delivery: Delivery,
        text: &str,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        if is_error(chunk) {
            return Err(reported(text));
        }
        let usage = usage::read(chunk);
        if let Some(id) = chunk.id.take_if(|_| !self.has_id) {
            self.has_id = true;
            deltas.push(Delta::Id(id.into_owned()));
        }
        if let Some(model) = chunk.model.take_if(|_| !self.has_model) {
            self.has_model = true;
            deltas.push(Delta::Model(model.into_owned()));
        }
        match &mut chunk.choices {
            Some(choices) => {
                // Only one answer was requested.
                let is_first = |choice: &&mut Choice<'_>| choice.index.unwrap_or(0) == 0;
                if let Some(choice) = choices.iter_mut().find(is_first) {
                    self.choice(choice, delivery, deltas);
                }
            }
            None if delivery == Delivery::Complete => {
                let message = format!(
                    "the response has no `choices`; is the base URL right? It begins with: {}",
                    excerpt(text, EXCERPT)
                );
                return Err(wrong_protocol(message));
            }
            None => {}
        }
        if let Some((usage, cached_reported)) = usage {
            deltas.push(Delta::Usage {
                usage,
                cached_reported,
            });
        }
        for (count, max, what) in [
            (self.calls.count(), MAX_CALLS, "calls"),
            (self.details, MAX_DETAILS, "details of its reasoning"),
        ] {
            if count > max {
                return Err(too_large(format!(
                    "the response has more than {max} {what}"
                )));
            }
        }
        Ok(())
    }

    fn choice(&mut self, choice: &mut Choice<'_>, delivery: Delivery, deltas: &mut Vec<Delta>) {
        // Some servers send both: the new text in `delta`, and everything so far in `message`.
        let (delta, message) = (choice.delta.as_mut(), choice.message.as_deref_mut());
        let message = match delivery {
            Delivery::Streamed => delta.or(message),
            Delivery::Complete => message.or(delta),
        };
        if let Some(message) = message {
            let before = deltas.len();
            self.message(message, delivery, deltas);
            if deltas.len() > before {
                // A finish reason that is repeated after more content ends that content too.
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

    fn message(&mut self, message: &mut Message<'_>, delivery: Delivery, deltas: &mut Vec<Delta>) {
        // If both are present they contain the same text, for clients that know only one of the names.
        let (text, field) = match message.reasoning_content.take() {
            Some(text) => (Some(text), ReasoningField::ReasoningContent),
            None => (message.reasoning.take(), ReasoningField::Reasoning),
        };
        if let Some(text) = text {
            let text = text.into_owned();
            deltas.push(Delta::Reasoning { text, field });
        }
        if !message.reasoning_details.is_empty() {
            let details = take(&mut message.reasoning_details);
            self.details += details.len();
            deltas.push(Delta::ReasoningDetails(details));
        }
        content::read(take(&mut message.content), deltas);
        if let Some(refusal) = message.refusal.take() {
            deltas.push(Delta::Refusal(refusal.into_owned()));
        }
        if let Some(calls) = message.tool_calls.take() {
            let several = calls.len() > 1;
            for (position, call) in calls.into_iter().enumerate() {
                let position = several.then_some(position);
                deltas.push(self.call(call, position, delivery));
            }
        }
        // If there are `tool_calls` too, it repeats the same call.
        if let Some(function) = message.function_call.take()
            && !self.calls.has_listed()
        {
            deltas.extend(self.function_call(*function));
        }
    }

    fn call(&mut self, call: Call<'_>, position: Option<usize>, delivery: Delivery) -> Delta {
        let Function { name, arguments } = call.function.unwrap_or_default();
        let fragment = Fragment {
            index: call.index,
            id: call.id.as_deref(),
            name: name.as_deref(),
            arguments: &arguments,
            position,
        };
        let found = match delivery {
            Delivery::Streamed => self.calls.assign(&fragment),
            Delivery::Complete => self.calls.open(&fragment),
        };
        Delta::Call {
            slot: found.slot,
            id: call.id.filter(|_| found.new_id).map(Cow::into_owned),
            name: name.filter(|_| found.new_name).map(Cow::into_owned),
            arguments: arguments.into_owned(),
            extra: call.extra,
        }
    }

    /// The one call in the deprecated `function_call`.
    fn function_call(&mut self, Function { name, arguments }: Function<'_>) -> Option<Delta> {
        if name.is_none() && arguments.is_empty() {
            return None;
        }
        let found = self.calls.assign_deprecated(&Fragment {
            name: name.as_deref(),
            arguments: &arguments,
            ..Fragment::default()
        });
        Some(Delta::Call {
            slot: found.slot,
            id: None,
            name: name.filter(|_| found.new_name).map(Cow::into_owned),
            arguments: arguments.into_owned(),
            extra: None,
        })
    }
}

fn is_error(chunk: &Chunk<'_>) -> bool {
    let reported_elsewhere = chunk.choices.is_none()
        && chunk.usage.is_none()
        && (chunk.message || chunk.detail || chunk.errors);
    let mut choices = chunk.choices.iter().flatten();
    chunk.error || reported_elsewhere || choices.any(|choice| choice.error)
}

/// Returns `true` for a list that contains an error, which some servers send.
fn lists_error(text: &str) -> bool {
    let mut chunks: Option<Vec<Chunk<'_>>> = None;
    let parsed = ListSeed(&mut chunks).deserialize(&mut serde_json::Deserializer::from_str(text));
    parsed.is_ok() && chunks.iter().flatten().any(is_error)
}

/// Parses into `chunk`, because a chunk is too large to move for every delta.
fn parse<'c, 'a>(
    what: &str,
    text: &'a str,
    chunk: &'c mut Option<Chunk<'a>>,
) -> Result<&'c mut Chunk<'a>, Error> {
    let unreadable = |why: &str, begins: &str| {
        let begins = match begins {
            "" => String::new(),
            text => format!("; it begins with: {}", excerpt(text, EXCERPT)),
        };
        let message = format!("{what} cannot be parsed: {why}{begins}");
        Error::new(ErrorCode::WIRE_ERROR, message)
    };
    if !text.starts_with('{') {
        return Err(unreadable("it is not a JSON object", text));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let parsed = ObjectSeed(&mut *chunk).deserialize(&mut json);
    parsed
        .and_then(|()| json.end())
        .map_err(|error| match error.is_data() {
            // The error message quotes the value.
            true => unreadable(&excerpt(&error.to_string(), EXCERPT), ""),
            false => unreadable(&error.to_string(), text),
        })?;
    Ok(chunk.get_or_insert_default())
}
