//! Turns events into deltas of a reply.

use serde_json::{Map, Value};
use turnwright_core::{Error, ErrorKind};

use super::blocks::Blocks;
use super::usage::Counts;
use crate::decode::{
    Cut, Delta, Fields, Finish, FrameReader, looks_like, reported, wrong_protocol,
};

/// The key of the container in the state of a response.
pub(in crate::anthropic) const CONTAINER: &str = "container";

/// Reads the events of one message.
#[derive(Default)]
pub(in crate::anthropic) struct MessageReader {
    blocks: Blocks,
    counts: Counts,
    container: Option<String>,
    /// Whether an event of the protocol arrived.
    has_begun: bool,
    /// Whether the start of the message arrived.
    has_started: bool,
}

impl FrameReader for MessageReader {
    fn frame(&mut self, name: &str, data: &str, deltas: &mut Vec<Delta>) -> Result<bool, Error> {
        let data = data.trim();
        if name == "error" {
            return Err(server_error(data));
        }
        // Some gateways add the end mark of another protocol.
        if matches!(data, "" | "[DONE]") {
            return Ok(false);
        }
        let event = Fields::parse("an event of the response", data)?;
        self.event(name, event, data, deltas)
    }

    fn body(&mut self, text: &str, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        let mut message = Fields::parse("the response", text)?;
        if message.presence("error") || message.text("type")?.as_deref() == Some("error") {
            return Err(server_error(text));
        }
        let Some(content) = message.list("content")? else {
            return Err(wrong_protocol("the response has no `content`", text));
        };
        self.start(&mut message, deltas)?;
        for block in content {
            self.blocks.add(block, deltas)?;
        }
        self.end_of(message, deltas)
    }

    fn take_state(&mut self) -> Map<String, Value> {
        let mut state = Map::new();
        std::mem::take(&mut self.blocks)
            .into_layout()
            .store(&mut state);
        if let Some(container) = self.container.take() {
            state.insert(CONTAINER.to_owned(), container.into());
        }
        state
    }
}

impl MessageReader {
    fn event(
        &mut self,
        name: &str,
        mut event: Fields,
        data: &str,
        deltas: &mut Vec<Delta>,
    ) -> Result<bool, Error> {
        let index = event.index("index")?.unwrap_or(0);
        let kind = event.text("type")?;
        match kind.as_deref().unwrap_or(name) {
            "content_block_delta" => {
                let delta = event.object("delta")?.unwrap_or_default();
                self.blocks.extend(index, delta, deltas)?;
            }
            "content_block_start" => {
                let block = event.value("content_block").unwrap_or_default();
                self.blocks.start(index, block, deltas)?;
            }
            "content_block_stop" => self.blocks.stop(index, deltas),
            "message_start" => {
                if let Some(mut message) = event.object("message")? {
                    message.list("content")?;
                    self.start(&mut message, deltas)?;
                    self.end_of(message, deltas)?;
                }
            }
            "message_delta" => {
                let usage = event.value("usage");
                deltas.extend(usage.and_then(|usage| self.counts.read(&usage)));
                let end = event.object("delta")?.unwrap_or_default();
                self.end_of(end, deltas)?;
            }
            "message_stop" => {
                self.blocks.close(deltas);
                deltas.push(Delta::Done);
                return Ok(true);
            }
            "error" => return Err(server_error(data)),
            "ping" => {}
            _ if event.presence("error") => return Err(server_error(data)),
            _ if !self.has_begun && looks_like(data).is_some() => {
                return Err(wrong_protocol("the stream has no `message_start`", data));
            }
            // The API may add events.
            _ => return Ok(false),
        }
        self.has_begun = true;
        Ok(false)
    }

    fn start(&mut self, message: &mut Fields, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        if !std::mem::replace(&mut self.has_started, true) {
            deltas.extend(message.text("id")?.map(Delta::Id));
            deltas.extend(message.text("model")?.map(Delta::Model));
        }
        let usage = message.value("usage");
        deltas.extend(usage.and_then(|usage| self.counts.read(&usage)));
        Ok(())
    }

    /// Reads how the message ended.
    fn end_of(&mut self, mut end: Fields, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        // The container in which tools of the provider ran.
        if let Some(Value::String(id)) = end.value("container").as_ref().and_then(|it| it.get("id"))
        {
            self.container = Some(id.clone());
        }
        let Some(reason) = end.text("stop_reason")? else {
            return Ok(());
        };
        // Nothing follows the stop reason.
        self.blocks.close(deltas);
        deltas.extend(end.text("stop_sequence")?.map(|value| Delta::Detail {
            name: "stop_sequence",
            value,
        }));
        let details = end.value("stop_details").filter(|_| reason == "refusal");
        let explanation = details
            .as_ref()
            .and_then(|details| details.get("explanation")?.as_str());
        if let Some(text) = explanation.filter(|text| !text.is_empty()) {
            deltas.push(Delta::Refusal(text.to_owned()));
        }
        let finish = match finish(&reason) {
            // A server must not say that it is done in the middle of a call.
            complete if complete.is_complete() && self.blocks.has_cut_call() => {
                Finish::Cut(Cut::Failure)
            }
            finish => finish,
        };
        deltas.push(Delta::Finish { finish, reason });
        Ok(())
    }
}

/// Returns how a response with this stop reason ended.
fn finish(reason: &str) -> Finish {
    match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "pause_turn" => Finish::Paused,
        "refusal" => Finish::Declined,
        "max_tokens" | "model_context_window_exceeded" => Finish::Cut(Cut::Length),
        _ => Finish::Unknown,
    }
}

/// Returns the error that an `error` event or body reports.
fn server_error(text: &str) -> Error {
    let error = reported(text);
    match serde_json::from_str(text).ok().as_ref().and_then(kind_of) {
        Some(kind) => error.with_kind(kind),
        None => error,
    }
}

/// Returns what the type of an error means. Only some errors are worth another attempt.
fn kind_of(body: &Value) -> Option<ErrorKind> {
    let error = body.get("error").unwrap_or(body);
    match error.get("type")?.as_str()? {
        "overloaded_error" | "api_error" => Some(ErrorKind::Unavailable),
        "rate_limit_error" => Some(ErrorKind::RateLimited),
        "timeout_error" => Some(ErrorKind::Timeout),
        "authentication_error" | "permission_error" | "billing_error" => Some(ErrorKind::Denied),
        "not_found_error" => Some(ErrorKind::NotFound),
        "invalid_request_error" | "request_too_large" => Some(ErrorKind::InvalidArguments),
        _ => None,
    }
}
