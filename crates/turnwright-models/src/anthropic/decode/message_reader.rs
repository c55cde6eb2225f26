//! Turns events into deltas of a reply.

use serde_json::{Map, Value};
use turnwright_core::Error;

use super::blocks::Blocks;
use super::event::{BlockDelta, End, Event, Message};
use super::server_error;
use super::stop_reason::finish;
use super::usage::Counts;
use crate::decode::{Cut, Delta, Finish, FrameReader, looks_like, parse, wrong_protocol};

/// The detail of a reply with the stop sequence that it reached.
pub(in crate::anthropic) const STOP_SEQUENCE: &str = "stop_sequence";

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
            return Err(server_error::read(data));
        }
        // Some gateways add the end mark of another protocol.
        if matches!(data, "" | "[DONE]") {
            return Ok(false);
        }
        let mut event = None;
        let event = parse("an event of the response", data, &mut event)?;
        self.event(name, event, data, deltas)
    }

    fn body(&mut self, text: &str, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        let mut message = None;
        let message = parse::<Message<'_>>("the response", text, &mut message)?;
        if message.error || message.kind.as_deref() == Some("error") {
            return Err(server_error::read(text));
        }
        let Some(content) = message.content.take() else {
            return Err(wrong_protocol("the response has no `content`", text));
        };
        self.start(message, deltas);
        for block in content {
            self.blocks.add(block, deltas)?;
        }
        self.end_of(&mut message.end, deltas);
        Ok(())
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
        event: &mut Event<'_>,
        data: &str,
        deltas: &mut Vec<Delta>,
    ) -> Result<bool, Error> {
        let index = event.index.unwrap_or(0);
        let kind = event.kind.take();
        match kind.as_deref().unwrap_or(name) {
            "content_block_delta" => {
                let delta = event.delta.take().unwrap_or_default();
                self.blocks.extend(index, delta, deltas)?;
            }
            "content_block_start" => {
                let block = event.content_block.take().unwrap_or_default();
                self.blocks.start(index, block, deltas)?;
            }
            "content_block_stop" => self.blocks.stop(index, deltas),
            "message_start" => {
                if let Some(message) = &mut event.message {
                    self.start(message, deltas);
                    self.end_of(&mut message.end, deltas);
                }
            }
            "message_delta" => {
                let usage = event.usage.as_ref();
                deltas.extend(usage.and_then(|usage| self.counts.read(usage)));
                let BlockDelta { mut end, .. } = event.delta.take().unwrap_or_default();
                self.end_of(&mut end, deltas);
            }
            "message_stop" => {
                self.blocks.close(deltas);
                deltas.push(Delta::Done);
                return Ok(true);
            }
            "error" => return Err(server_error::read(data)),
            "ping" => {}
            _ if event.error => return Err(server_error::read(data)),
            _ if !self.has_begun && looks_like(data).is_some() => {
                return Err(wrong_protocol("the stream has no `message_start`", data));
            }
            // The API may add events.
            _ => return Ok(false),
        }
        self.has_begun = true;
        Ok(false)
    }

    fn start(&mut self, message: &mut Message<'_>, deltas: &mut Vec<Delta>) {
        if !std::mem::replace(&mut self.has_started, true) {
            let id = message.id.take().map(|id| Delta::Id(id.into_owned()));
            let model = message.model.take();
            deltas.extend(id);
            deltas.extend(model.map(|model| Delta::Model(model.into_owned())));
        }
        let usage = message.usage.as_ref();
        deltas.extend(usage.and_then(|usage| self.counts.read(usage)));
    }

    fn end_of(&mut self, end: &mut End<'_>, deltas: &mut Vec<Delta>) {
        if let Some(Value::String(id)) = end.container.as_ref().and_then(|item| item.get("id")) {
            self.container = Some(id.clone());
        }
        let Some(reason) = end.stop_reason.take() else {
            return;
        };
        // Nothing follows the stop reason.
        self.blocks.close(deltas);
        if let Some(value) = end.stop_sequence.take() {
            deltas.push(Delta::Detail {
                name: STOP_SEQUENCE,
                value: value.into_owned(),
            });
        }
        let details = end.stop_details.as_ref().filter(|_| reason == "refusal");
        let explanation = details.and_then(|details| details.get("explanation")?.as_str());
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
        deltas.push(Delta::Finish {
            finish,
            reason: reason.into_owned(),
        });
    }
}
