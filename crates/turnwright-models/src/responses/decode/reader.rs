//! Turns events into deltas of a reply.

use serde_json::{Map, Value};
use turnwright_core::{Error, ErrorCode, ErrorKind};

use super::RESPONSE_ID;
use super::items::Items;
use super::places::Place;
use super::streamed_text::Kind;
use crate::decode::{
    Cut, Delta, EXCERPT, Fields, Finish, FrameReader, ReportedUsage, count, excerpt, looks_like,
    reported, wrong_protocol,
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
                let event = Fields::parse("an event of the response", data)?;
                self.event(event, name, data, deltas)
            }
        }
    }

    fn body(&mut self, text: &str, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        let first_line = text.lines().next().unwrap_or_default();
        let mut response =
            Fields::parse("the response", text).map_err(|error| match looks_like(first_line) {
                Some(_) => wrong_protocol(error.message(), first_line),
                None => error,
            })?;
        let status = response.text("status")?;
        let has_error = response
            .0
            .get("error")
            .is_some_and(|error| !error.is_null());
        let is_own = output(&response).is_some() || looks_like(text).is_none();
        let has_failed = fails(&response) || status.as_deref() == Some("failed");
        if has_failed && (is_own || has_error) {
            return Err(failure(text));
        }
        if output(&response).is_none() {
            return Err(wrong_protocol("the response has no `output`", text));
        }
        self.begin(&mut response, deltas)?;
        self.finish(response, status, deltas)
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
        mut event: Fields,
        name: &str,
        data: &str,
        deltas: &mut Vec<Delta>,
    ) -> Result<bool, Error> {
        let kind = event.text("type")?;
        let kind = kind.as_deref().unwrap_or(name);
        let id = event.text("item_id")?;
        let place = Place {
            index: event.index("output_index")?,
            id: id.as_deref(),
        };
        let text = match kind {
            "response.output_text.delta" => Some(Kind::Text),
            "response.refusal.delta" => Some(Kind::Refusal),
            "response.reasoning_summary_text.delta" => Some(Kind::Summary),
            // Two names of one event, of different servers.
            "response.reasoning_text.delta" | "response.reasoning.delta" => Some(Kind::Content),
            _ => None,
        };
        match kind {
            _ if let Some(kind) = text => {
                // The position of a part in its item.
                let part = event
                    .index("content_index")?
                    .or(event.index("summary_index")?);
                let delta = event.any_text("delta");
                self.items
                    .text(place, (kind, part.unwrap_or(0)), &delta, deltas)?;
            }
            "response.function_call_arguments.delta" => {
                let delta = event.any_text("delta");
                self.items.arguments(place, &delta, deltas)?;
            }
            "response.output_item.added" => {
                if let Some(item) = event.value("item") {
                    self.items.added(place, item, deltas)?;
                }
            }
            "response.output_item.done" => {
                if let Some(item) = event.value("item") {
                    self.items.done(place, item, deltas)?;
                }
            }
            "response.completed" | "response.incomplete" | "response.done" => {
                let mut response = event.object("response")?.unwrap_or_default();
                if fails(&response) {
                    return Err(failure(data));
                }
                let of_event = kind
                    .trim_start_matches("response.")
                    .replace("done", "completed");
                let status = response.text("status")?.unwrap_or(of_event);
                self.begin(&mut response, deltas)?;
                self.finish(response, Some(status), deltas)?;
                deltas.push(Delta::Done);
                return Ok(true);
            }
            "response.failed" | "response.cancelled" | "response.error" | "error" => {
                return Err(failure(data));
            }
            _ if event.presence("error") => return Err(failure(data)),
            _ => match event.object("response")? {
                Some(mut response) => self.begin(&mut response, deltas)?,
                None if kind.starts_with("response.") => {}
                None if kind.is_empty() => {
                    return Err(wrong_protocol("an event has no type", data));
                }
                // Other protocols have other names for their events.
                None if looks_like(data).is_some() => {
                    let what = format!("the event {} is unknown", excerpt(kind, EXCERPT));
                    return Err(wrong_protocol(&what, data));
                }
                None => {}
            },
        }
        Ok(false)
    }

    fn begin(&mut self, response: &mut Fields, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        // Some servers give the response another id in every event: the last one counts.
        if let Some(id) = response
            .text("id")?
            .filter(|id| self.id.as_ref() != Some(id))
        {
            self.id = Some(id.clone());
            deltas.push(Delta::Id(id));
        }
        if let Some(model) = response.text("model")?.filter(|_| !self.has_model) {
            self.has_model = true;
            deltas.push(Delta::Model(model));
        }
        Ok(())
    }

    /// Reads the end of a response.
    fn finish(
        &mut self,
        mut response: Fields,
        status: Option<String>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        let output = match response.value("output") {
            Some(Value::Array(items)) => items,
            _ => Vec::new(),
        };
        let is_reasoning = |item: &Value| item.get("type").is_some_and(|kind| kind == "reasoning");
        // Settings, or the text of the reasoning from mistral.rs.
        if let Some(Value::String(text)) = response.value("reasoning")
            && !output.iter().any(is_reasoning)
        {
            self.items.reasoning(&text, deltas);
        }
        self.items.rest(output, deltas)?;
        self.items.end(deltas)?;
        deltas.extend(response.value("usage").as_ref().and_then(read_usage));
        let Some(reason) = status else {
            return Ok(());
        };
        let details = response.value("incomplete_details");
        let mut finish = finish(&reason, details.as_ref(), self.items.has_calls());
        // A server must not say that it is done in the middle of a call.
        if finish == Finish::ToolCalls && self.items.has_cut_call() {
            finish = Finish::Cut(Cut::Failure);
        }
        self.is_complete = finish.is_complete();
        deltas.push(Delta::Finish { reason, finish });
        Ok(())
    }
}

/// Returns the items of a response.
fn output(response: &Fields) -> Option<&Vec<Value>> {
    response.0.get("output")?.as_array()
}

/// Returns `true` if a response reports an error, also in a field that servers use for it without `error`.
fn fails(response: &Fields) -> bool {
    let error = response.0.get("error");
    let is_error = error.is_some_and(|error| !matches!(error, Value::Null | Value::Bool(false)));
    let names = ["message", "detail", "errors"];
    is_error || (output(response).is_none() && names.iter().any(|name| response.presence(name)))
}

/// Returns how a response with this status ended. `completed` is said of responses with calls too.
fn finish(status: &str, details: Option<&Value>, has_calls: bool) -> Finish {
    match status {
        "completed" if has_calls => Finish::ToolCalls,
        "completed" => Finish::Stop,
        "incomplete" => {
            let reason = details.and_then(|details| details.get("reason")?.as_str());
            Finish::Cut(match reason {
                Some("max_output_tokens" | "max_tokens" | "length") => Cut::Length,
                Some("content_filter") => Cut::Filter,
                _ => Cut::Failure,
            })
        }
        "failed" | "cancelled" => Finish::Cut(Cut::Failure),
        _ => Finish::Unknown,
    }
}

/// Returns the usage of a response. The input includes cached tokens, and the output includes reasoning.
fn read_usage(usage: &Value) -> Option<Delta> {
    let within = |details: &str, name| count(usage.get(details)?, &[name]);
    let reported = ReportedUsage {
        input: count(usage, &["input_tokens", "prompt_tokens"]),
        output: count(usage, &["output_tokens", "completion_tokens"]),
        cached: within("input_tokens_details", "cached_tokens"),
        cache_write: within("input_tokens_details", "cache_write_tokens"),
        reasoning: within("output_tokens_details", "reasoning_tokens"),
        ..ReportedUsage::default()
    };
    reported
        .delta(0, 0)
        .filter(|_| reported.input.or(reported.output).is_some())
}

/// Returns the error that an event or a body reports.
fn failure(text: &str) -> Error {
    let value: Value = serde_json::from_str(text).unwrap_or_default();
    let of_response = value
        .get("response")
        .and_then(|response| response.get("error"));
    let is_error = |error: &&Value| !error.is_null();
    let error = of_response
        .filter(is_error)
        .or_else(|| value.get("error").filter(is_error));
    let code = |value: &Value| Some(value.get("code")?.as_str()?.to_owned());
    let code = error
        .and_then(code)
        .or_else(|| code(&value))
        .unwrap_or_default();
    let error = match of_response.filter(is_error) {
        Some(error) => reported(&error.to_string()),
        None => reported(text),
    };
    match code.as_str() {
        "context_length_exceeded" => Error::new(
            ErrorCode::CONTEXT_WINDOW_EXCEEDED,
            error.message().to_owned(),
        ),
        "rate_limit_exceeded" | "rate_limit_error" | "slow_down" => {
            error.with_kind(ErrorKind::RateLimited)
        }
        "server_error"
        | "internal_error"
        | "internal_server_error"
        | "api_error"
        | "overloaded_error"
        | "server_is_overloaded"
        | "service_unavailable"
        | "vector_store_timeout" => error.with_kind(ErrorKind::Unavailable),
        "insufficient_quota" => error.with_kind(ErrorKind::Denied),
        _ => error,
    }
}
