//! Streams a response to the readers of the turn.

use std::sync::Arc;

use turnwright_core::dispatch::{MessageWriter, ThoughtWriter};
use turnwright_core::event::Delta as Piece;
use turnwright_core::{DispatchContext, Reporter};

use super::decode::Delta;

/// The part of a response that was streamed to readers.
#[derive(Debug)]
pub(super) struct LiveOutput {
    reporter: Reporter,
    thought: Option<ThoughtWriter>,
    message: Option<MessageWriter>,
    calls: Vec<Option<PartialCall>>,
}

#[derive(Debug)]
struct PartialCall {
    id: Arc<str>,
    tool: Arc<str>,
    shown: usize,
}

/// The longest name of a tool.
const MAX_NAME: usize = 64;

/// The most calls of one response that are streamed. The others appear with the complete response.
const MAX_CALLS: usize = 1_000;

impl LiveOutput {
    pub(super) fn new(ctx: &DispatchContext) -> Self {
        LiveOutput {
            reporter: ctx.reporter(),
            thought: None,
            message: None,
            calls: Vec::new(),
        }
    }

    /// Streams a piece.
    pub(super) async fn show(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) | Delta::Refusal(text) => {
                let reporter = &self.reporter;
                let message = self.message.get_or_insert_with(|| reporter.message());
                message.push(text).await;
            }
            Delta::Reasoning { text, .. } => {
                let reporter = &self.reporter;
                let thought = self.thought.get_or_insert_with(|| reporter.thought());
                thought.push(text).await;
            }
            Delta::Call {
                slot,
                id,
                name,
                arguments,
                ..
            } => {
                let (id, name) = (id.as_deref(), name.as_deref());
                self.show_call(*slot, id, name, arguments).await;
            }
            _ => {}
        }
    }

    async fn show_call(
        &mut self,
        slot: usize,
        id: Option<&str>,
        name: Option<&str>,
        arguments: &str,
    ) {
        if slot >= MAX_CALLS || !self.reporter.is_heard() {
            return;
        }
        if self.calls.len() <= slot {
            self.calls.resize_with(slot + 1, || None);
        }
        let Some(place) = self.calls.get_mut(slot) else {
            return;
        };
        let call = place.get_or_insert_with(|| PartialCall {
            id: match id {
                Some(id) if !id.is_empty() => id.into(),
                _ => slot.to_string().into(),
            },
            tool: Arc::from(""),
            shown: 0,
        });
        if let Some(name) = name.filter(|_| call.tool.len() < MAX_NAME) {
            call.tool = format!("{}{name}", call.tool).into();
        }
        let piece = Piece::new(Arc::clone(&call.id), call.shown, arguments);
        call.shown += piece.text.len();
        self.reporter.tool_call(&call.tool, piece).await;
    }

    /// The writers of reasoning and text. `has_reasoning` creates the first even if nothing was streamed.
    pub(super) fn into_writers(
        self,
        has_reasoning: bool,
    ) -> (Option<ThoughtWriter>, Option<MessageWriter>) {
        let reporter = self.reporter;
        let streamed = self
            .thought
            .filter(|thought| has_reasoning || !thought.text().is_empty());
        let thought = streamed.or_else(|| has_reasoning.then(|| reporter.thought()));
        (thought, self.message)
    }

    /// Discards what was streamed, before another attempt.
    pub(super) async fn restart(&mut self) {
        if let Some(thought) = &mut self.thought {
            thought.restart().await;
        }
        if let Some(message) = &mut self.message {
            message.restart().await;
        }
        for call in std::mem::take(&mut self.calls).into_iter().flatten() {
            self.reporter.discard(&call.id).await;
        }
    }
}
