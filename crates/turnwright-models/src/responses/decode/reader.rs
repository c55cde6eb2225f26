//! Turns events into deltas of a reply.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use turnwright_core::Error;

use super::event::{Event, Response};
use super::failure::failure;
use super::finish::finish;
use super::items::Items;
use super::places::Place;
use super::streamed_text::Kind;
use super::{RESPONSE_ID, usage};
use crate::decode::{
    Cut, Delta, EXCERPT, Finish, FrameReader, excerpt, looks_like, parse, wrong_protocol,
};

/// Reads events, and holds the state that the next event depends on.
pub(in crate::responses) struct EventReader {
    items: Items,
    /// Whether the server stores the response, so that the next request can refer to it.
    keeps_id: bool,
    id: Option<String>,
    has_model: bool,
    is_complete: bool,
}

impl FrameReader for EventReader {
    fn frame(&mut self, name: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<bool, Error> {
        match data.trim() {
            "" => Ok(false),
            // The event before it is the last one.
            "[DONE]" => Ok(true),
            data => {
                let mut event = None;
                let event = parse("an event of the response", data, &mut event)?;
                self.event(event, name, data, deltas)
            }
        }
    }

    fn body(&mut self, text: &str, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        let mut response = None;
        let first_line = text.lines().next().unwrap_or_default();
        let response = parse::<Response<'_>>("the response", text, &mut response);
        let response = response.map_err(|error| match looks_like(first_line) {
            Some(_) => wrong_protocol(error.message(), first_line),
            None => error,
        })?;
        if response.error.is_none() && response.output.is_none() && looks_like(text).is_some() {
            return Err(wrong_protocol("the response has no `output`", text));
        }
        if response.has_error() || response.status.as_deref() == Some("failed") {
            return Err(failure(text));
        }
        if response.output.is_none() {
            return Err(wrong_protocol("the response has no `output`", text));
        }
        self.begin(response, deltas);
        self.finish(response, None, deltas)
    }

    fn end(&mut self, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        self.items.end(deltas)
    }

    fn take_state(&mut self) -> Map<String, Value> {
        let mut state = Map::new();
        // What a broken connection left belongs to the response too.
        let _ = self.items.end(&mut Vec::new());
        self.items.take_layout().store(&mut state);
        let id = self.id.take().filter(|_| self.keeps_id && self.is_complete);
        state.extend(id.map(|id| (RESPONSE_ID.to_owned(), id.into())));
        state
    }
}

impl EventReader {
    pub(in crate::responses) fn new(keeps_id: bool) -> Self {
        EventReader {
            items: Items::default(),
            keeps_id,
            id: None,
            has_model: false,
            is_complete: false,
        }
    }

    /// Reads an event. Returns whether it is the last one.
    fn event(
        &mut self,
        event: &mut Event<'_>,
        name: &str,
        data: &str,
        deltas: &mut Vec<Delta>,
    ) -> Result<bool, Error> {
        let kind = event.kind.take();
        let kind = kind.as_deref().unwrap_or(name);
        let place = Place {
            index: event.output_index,
            id: event.item_id.as_deref(),
        };
        let part = event.part.unwrap_or(0);
        match kind {
            "response.output_text.delta" => {
                self.items
                    .text(place, (Kind::Text, part), &event.delta, deltas)?;
            }
            "response.refusal.delta" => {
                self.items
                    .text(place, (Kind::Refusal, part), &event.delta, deltas)?;
            }
            "response.reasoning_summary_text.delta" => {
                self.items
                    .text(place, (Kind::Summary, part), &event.delta, deltas)?;
            }
            // Two names of one event, of different servers.
            "response.reasoning_text.delta" | "response.reasoning.delta" => {
                self.items
                    .text(place, (Kind::Content, part), &event.delta, deltas)?;
            }
            "response.function_call_arguments.delta" => {
                self.items.arguments(place, &event.delta, deltas)?;
            }
            "response.output_item.added" => {
                if let Some(item) = event.item.take() {
                    self.items.added(place, item, deltas)?;
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.item.take() {
                    self.items.done(place, item, deltas)?;
                }
            }
            "response.completed" | "response.incomplete" | "response.done" => {
                let status = kind.trim_start_matches("response.");
                let status = status.replace("done", "completed");
                let mut empty = Response::default();
                let response = event.response.as_deref_mut().unwrap_or(&mut empty);
                if response.has_error() {
                    return Err(failure(data));
                }
                self.begin(response, deltas);
                self.finish(response, Some(&status), deltas)?;
                deltas.push(Delta::Done);
                return Ok(true);
            }
            "response.failed" | "response.cancelled" | "response.error" | "error" => {
                return Err(failure(data));
            }
            _ if event.error => return Err(failure(data)),
            _ => match &mut event.response {
                Some(response) => self.begin(response, deltas),
                None if kind.starts_with("response.") => {}
                None if !kind.is_empty() => {
                    // Other protocols have other names for their events.
                    if looks_like(data).is_some() {
                        let what = format!("the event {} is unknown", excerpt(kind, EXCERPT));
                        return Err(wrong_protocol(&what, data));
                    }
                }
                None => return Err(wrong_protocol("an event has no type", data)),
            },
        }
        Ok(false)
    }

    fn begin(&mut self, response: &mut Response<'_>, deltas: &mut Vec<Delta>) {
        // Some servers give the response another id in every event: the last one counts.
        if let Some(id) = response.id.take_if(|id| self.id.as_deref() != Some(id)) {
            self.id = Some(id.clone().into_owned());
            deltas.push(Delta::Id(id.into_owned()));
        }
        if let Some(model) = response.model.take_if(|_| !self.has_model) {
            self.has_model = true;
            deltas.push(Delta::Model(model.into_owned()));
        }
    }

    /// Reads the end of a response.
    fn finish(
        &mut self,
        response: &mut Response<'_>,
        status: Option<&str>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        let output = response.output.take().unwrap_or_default();
        let reasoning = response.reasoning.map(RawValue::get);
        if let Some(Ok(text)) = reasoning.map(serde_json::from_str::<String>)
            && !output.iter().any(|item| is_reasoning(item))
        {
            self.items.reasoning(&text, deltas);
        }
        self.items.rest(&output, deltas)?;
        self.items.end(deltas)?;
        let usage = response.usage.as_ref().and_then(usage::read);
        deltas.extend(usage.map(|(usage, reported)| Delta::Usage { usage, reported }));
        let Some(reason) = response.status.as_deref().or(status) else {
            return Ok(());
        };
        let details = response.incomplete_details.as_ref();
        let mut finish = finish(reason, details, self.items.has_calls());
        // A server must not say that it is done in the middle of a call.
        if finish == Finish::ToolCalls && self.items.has_cut_call() {
            finish = Finish::Cut(Cut::Failure);
        }
        self.is_complete = finish.is_complete();
        deltas.push(Delta::Finish {
            reason: reason.to_owned(),
            finish,
        });
        Ok(())
    }
}

fn is_reasoning(item: &RawValue) -> bool {
    let item = serde_json::from_str::<Value>(item.get());
    item.is_ok_and(|item| item.get("type").is_some_and(|kind| kind == "reasoning"))
}
