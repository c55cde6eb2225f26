//! A response as it comes, shown to whoever reads the turn.

use std::sync::Arc;

use turnwright_core::dispatch::{MessageWriter, ThoughtWriter};
use turnwright_core::turn::Delta as Piece;
use turnwright_core::{DispatchContext, Reporter};

use super::decode::Delta;

/// What is shown of a response while it comes.
#[derive(Debug)]
pub(super) struct Live {
    reporter: Reporter,
    thought: Option<ThoughtWriter>,
    message: Option<MessageWriter>,
    calls: Vec<Option<LiveCall>>,
}

#[derive(Debug)]
struct LiveCall {
    id: Arc<str>,
    tool: Arc<str>,
    shown: usize,
}

/// The most of a tool's name that is shown while it comes: no tool has a longer one.
const MOST_OF_A_NAME: usize = 64;

/// The most calls of one response that are shown while they come. The others are there when the response is.
const MOST_SHOWN: usize = 1_000;

impl Live {
    pub(super) fn new(ctx: &DispatchContext) -> Self {
        Live {
            reporter: ctx.reporter(),
            thought: None,
            message: None,
            calls: Vec::new(),
        }
    }

    /// Shows a piece.
    pub(super) async fn show(&mut self, delta: &Delta) {
        match delta {
            Delta::Text(text) | Delta::Refusal(text) => {
                let reporter = &self.reporter;
                let message = self.message.get_or_insert_with(|| reporter.message());
                message.push_str(text).await;
            }
            Delta::Reasoning { text, .. } => {
                let reporter = &self.reporter;
                let thought = self.thought.get_or_insert_with(|| reporter.thought());
                thought.push_str(text).await;
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
        if slot >= MOST_SHOWN || !self.reporter.is_heard() {
            return;
        }
        if self.calls.len() <= slot {
            self.calls.resize_with(slot + 1, || None);
        }
        let Some(place) = self.calls.get_mut(slot) else {
            return;
        };
        let call = place.get_or_insert_with(|| LiveCall {
            id: match id {
                Some(id) if !id.is_empty() => id.into(),
                _ => slot.to_string().into(),
            },
            tool: Arc::from(""),
            shown: 0,
        });
        if let Some(name) = name.filter(|_| call.tool.len() < MOST_OF_A_NAME) {
            call.tool = format!("{}{name}", call.tool).into();
        }
        let piece = Piece::new(Arc::clone(&call.id), call.shown, arguments);
        call.shown += piece.text.len();
        self.reporter.tool_call(&call.tool, piece).await;
    }

    /// The writers of what was thought and said. A thought is made where there is something to keep of one.
    pub(super) fn into_writers(
        self,
        thinks: bool,
    ) -> (Option<ThoughtWriter>, Option<MessageWriter>) {
        let reporter = self.reporter;
        let kept = self.thought.filter(|it| thinks || !it.text().is_empty());
        let thought = kept.or_else(|| thinks.then(|| reporter.thought()));
        (thought, self.message)
    }

    /// What was shown is void: the request is made again.
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
