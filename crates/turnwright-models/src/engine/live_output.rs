//! Streams a response to the readers of the turn.

use tokio::time::Instant;
use turnwright_core::DispatchContext;
use turnwright_core::Message;
use turnwright_core::dispatch::Reporter;
use turnwright_core::dispatch::{TextWriter, ToolCallWriter};
use turnwright_core::record::Thought;

use crate::decode::Delta;

/// The part of a response that was streamed to readers.
#[derive(Debug)]
pub(super) struct LiveOutput {
    reporter: Reporter,
    thought: Option<TextWriter<Thought>>,
    message: Option<TextWriter<Message>>,
    /// Indexed by slot. A retry reuses the slots, so a call keeps its id.
    calls: Vec<Option<ToolCallWriter>>,
    first_piece: Option<Instant>,
}

/// What was streamed, after the end of the response.
pub(super) struct Streamed {
    pub(super) thought: Option<TextWriter<Thought>>,
    pub(super) message: Option<TextWriter<Message>>,
    pub(super) calls: Vec<Option<ToolCallWriter>>,
}

impl LiveOutput {
    pub(super) fn new(ctx: &DispatchContext) -> Self {
        LiveOutput {
            reporter: ctx.reporter(),
            thought: None,
            message: None,
            calls: Vec::new(),
            first_piece: None,
        }
    }

    /// Returns when the first piece of the response arrived.
    pub(super) fn first_piece(&self) -> Option<Instant> {
        self.first_piece
    }

    /// Streams a piece.
    pub(super) async fn show(&mut self, delta: &Delta) {
        if self.first_piece.is_none() && delta.is_content() {
            self.first_piece = Some(Instant::now());
        }
        match delta {
            Delta::Text(text) | Delta::Refusal(text) => {
                let reporter = &self.reporter;
                let message = self.message.get_or_insert_with(|| reporter.message());
                message.push(text).await;
            }
            Delta::Reasoning(text) => {
                let reporter = &self.reporter;
                let thought = self.thought.get_or_insert_with(|| reporter.thought());
                thought.push(text).await;
            }
            Delta::TextWasReasoning => {
                if let Some(message) = &mut self.message {
                    let text = message.text();
                    message.restart();
                    let reporter = &self.reporter;
                    let thought = self.thought.get_or_insert_with(|| reporter.thought());
                    thought.push(text).await;
                }
            }
            Delta::Call {
                slot,
                name,
                arguments,
                ..
            } => self.show_call(*slot, name.as_deref(), arguments).await,
            _ => {}
        }
    }

    async fn show_call(&mut self, slot: usize, name: Option<&str>, arguments: &str) {
        if !self.reporter.may_have_readers() {
            return;
        }
        if self.calls.len() <= slot {
            self.calls.resize_with(slot + 1, || None);
        }
        let Some(place) = self.calls.get_mut(slot) else {
            return;
        };
        let reporter = &self.reporter;
        let call = place.get_or_insert_with(|| reporter.tool_call());
        if let Some(name) = name {
            call.name(name);
        }
        call.push(arguments).await;
    }

    /// Returns the writers of what was streamed. `has_state` creates one for a thought if nothing was streamed but calls,
    /// so that a record holds the state of the response.
    pub(super) fn into_streamed(self, has_state: bool) -> Streamed {
        let message = self.message.filter(|message| !message.is_empty());
        let thought = self.thought.filter(|thought| !thought.is_empty());
        let needed = has_state && message.is_none() && thought.is_none();
        Streamed {
            thought: thought.or_else(|| needed.then(|| self.reporter.thought())),
            message,
            calls: self.calls,
        }
    }

    /// Discards what was streamed, before another attempt.
    pub(super) fn restart(&mut self) {
        self.first_piece = None;
        if let Some(thought) = &mut self.thought {
            thought.restart();
        }
        if let Some(message) = &mut self.message {
            message.restart();
        }
        for call in self.calls.iter_mut().flatten() {
            call.restart();
        }
    }
}
