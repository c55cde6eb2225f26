//! Turns chunks into deltas of a reply.

use std::borrow::Cow;
use std::mem::take;

use serde_json::{Map, Value};
use turnwright_core::Error;

use super::call_matching::{CallMatcher, Fragment, Match};
use super::chunk::{Call, Choice, Chunk, Function, Message};
use super::finish_reason::finish;
use super::reasoning::Reasoning;
use super::{content, usage};
use crate::decode::{
    Delta, Fields, FrameReader, at_most, cited, looks_like, parse, reported, wrong_protocol,
};

/// The maximum number of calls and of reasoning details in one response. Tiny items take hundreds of times their
/// bytes in memory, and every call would be executed.
const MAX_CALLS: usize = 1_000;
const MAX_DETAILS: usize = 20_000;

/// Why a response is not of this protocol.
const NO_CHOICES: &str = "the response has no `choices`";

/// Reads chunks, and holds the state that the next chunk depends on.
#[derive(Default)]
pub(in crate::chat_completions) struct ChunkReader {
    calls: CallMatcher,
    has_id: bool,
    has_model: bool,
    finish_reason: Option<String>,
    reasoning: Reasoning,
    /// The number of reasoning details so far.
    details: usize,
    /// Whether an event had choices. After that, other events are ignored.
    has_begun: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Delivery {
    Streamed,
    Complete,
}

impl FrameReader for ChunkReader {
    fn frame(&mut self, name: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<bool, Error> {
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

    fn body(&mut self, text: &str, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        if text.starts_with('[') && lists_error(text) {
            return Err(reported(text));
        }
        let mut chunk = None;
        let chunk = parse("the response", text, &mut chunk)?;
        self.chunk(chunk, Delivery::Complete, text, deltas)
    }

    fn take_state(&mut self) -> Map<String, Value> {
        self.reasoning.take_state()
    }
}

impl ChunkReader {
    fn chunk(
        &mut self,
        chunk: &mut Chunk<'_>,
        delivery: Delivery,
        text: &str,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        if is_error(chunk) {
            let is_other = !chunk.error && chunk.choices.is_none() && is_of_other(text);
            return Err(if is_other {
                wrong_protocol(NO_CHOICES, text)
            } else {
                reported(text)
            });
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
        let citations = chunk.citations.as_ref().and_then(Value::as_array);
        deltas.extend(citations.into_iter().flatten().map(cited));
        match &mut chunk.choices {
            Some(choices) => {
                self.has_begun = true;
                // Only one answer was requested.
                let is_first = |choice: &&mut Choice<'_>| choice.index.unwrap_or(0) == 0;
                if let Some(choice) = choices.iter_mut().find(is_first) {
                    self.choice(choice, delivery, deltas);
                }
            }
            None if delivery == Delivery::Complete => {
                return Err(wrong_protocol(NO_CHOICES, text));
            }
            None if !self.has_begun && is_of_other(text) => {
                return Err(wrong_protocol(NO_CHOICES, text));
            }
            None => {}
        }
        deltas.extend(usage);
        at_most(MAX_CALLS, self.calls.count(), "calls")?;
        at_most(MAX_DETAILS, self.details, "details of its reasoning")
    }

    fn choice(&mut self, choice: &mut Choice<'_>, delivery: Delivery, deltas: &mut Vec<Delta>) {
        // Some servers send both: the new text in `delta`, and everything so far in `message`.
        let (delta, message) = (choice.delta.as_mut(), choice.message.as_deref_mut());
        let message = match delivery {
            Delivery::Streamed => delta.or(message),
            Delivery::Complete => message.or(delta),
        };
        if let Some(message) = message {
            let sources = message.sources.as_ref().and_then(Value::as_array);
            deltas.extend(sources.into_iter().flatten().map(cited));
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
            deltas.push(Delta::Finish {
                finish: finish(&reason),
                reason: reason.into_owned(),
            });
        }
    }

    fn message(&mut self, message: &mut Message<'_>, delivery: Delivery, deltas: &mut Vec<Delta>) {
        let (content, other) = (message.reasoning_content.take(), message.reasoning.take());
        self.reasoning.read(content, other, deltas);
        if !message.reasoning_details.is_empty() {
            let details = take(&mut message.reasoning_details);
            self.details += details.len();
            self.reasoning.details.add(details);
        }
        content::read(take(&mut message.content), &mut self.reasoning, deltas);
        if let Some(refusal) = message.refusal.take() {
            deltas.push(Delta::Refusal(refusal.into_owned()));
        }
        if let Some(calls) = message.tool_calls.take() {
            let several = calls.len() > 1;
            let assign = match delivery {
                Delivery::Streamed => CallMatcher::assign,
                Delivery::Complete => CallMatcher::open,
            };
            for (position, call) in calls.into_iter().enumerate() {
                let position = several.then_some(position);
                deltas.push(self.call(call, position, assign));
            }
        }
        // The one call in the deprecated field. If there are `tool_calls` too, it repeats the same call.
        let is_used = |function: &mut Box<Function<'_>>| {
            !self.calls.has_listed() && (function.name.is_some() || !function.arguments.is_empty())
        };
        if let Some(function) = message.function_call.take_if(is_used) {
            let call = Call {
                function: Some(*function),
                ..Call::default()
            };
            deltas.push(self.call(call, None, CallMatcher::assign_deprecated));
        }
    }

    fn call(&mut self, call: Call<'_>, position: Option<usize>, assign: Assign) -> Delta {
        let Function { name, arguments } = call.function.unwrap_or_default();
        let fragment = Fragment {
            index: call.index,
            id: call.id.as_deref(),
            name: name.as_deref(),
            arguments: &arguments,
            position,
        };
        let found = assign(&mut self.calls, &fragment);
        Delta::Call {
            slot: found.slot,
            id: call.id.filter(|_| found.new_id).map(Cow::into_owned),
            name: name.filter(|_| found.new_name).map(Cow::into_owned),
            arguments: arguments.into_owned(),
            extra: call.extra,
        }
    }
}

/// Finds the call of a fragment.
type Assign = fn(&mut CallMatcher, &Fragment<'_>) -> Match;

/// Returns `true` for an event or a body of another protocol. Some servers of this one send `"choices": null`.
fn is_of_other(text: &str) -> bool {
    looks_like(text).is_some_and(|protocol| protocol != "Chat Completions")
}

fn is_error(chunk: &Chunk<'_>) -> bool {
    let reported_elsewhere = chunk.choices.is_none() && chunk.usage.is_none() && chunk.message;
    let mut choices = chunk.choices.iter().flatten();
    chunk.error || reported_elsewhere || choices.any(|choice| choice.error)
}

/// Returns `true` for a list that contains an error, which some servers send.
fn lists_error(text: &str) -> bool {
    let items = serde_json::from_str::<Vec<Map<String, Value>>>(text).unwrap_or_default();
    let names = ["error", "message", "detail", "errors"];
    let is_error = |item: &Fields| names.iter().any(|name| item.presence(name));
    items.into_iter().map(Fields).any(|item| is_error(&item))
}
