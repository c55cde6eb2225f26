//! Tool calls written in pieces.

use std::sync::Arc;

use crate::event::{TextKind, TextRef};
use crate::ids::Id;
use crate::tool::context::DispatchContext;

/// A tool call whose name and arguments arrive in pieces. Its id is reserved from the first piece on: the deltas on the event
/// stream, the later [`ToolExecutionStart`](crate::EventKind::ToolExecutionStart) and the [`ToolCall`](crate::ToolCall) have the
/// same id.
///
/// The pieces are only for readers. Once the response is complete, call [`propose`](Self::propose) with the complete name and
/// arguments.
///
/// ```
/// use turnwright_core::DispatchContext;
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let ctx = DispatchContext::standalone();
/// let mut call = ctx.reporter().tool_call();
/// call.name("look_up");
/// call.push(r#"{"word":"#).await;
/// call.push(r#" "turn"}"#).await;
/// let id = call.id().to_string();
/// let proposed = call.propose("look_up", r#"{"word": "turn"}"#);
/// assert_eq!(proposed.id(), id);
/// # });
/// ```
#[derive(Debug)]
#[must_use = "a call does nothing until it is proposed"]
pub struct ToolCallWriter {
    ctx: DispatchContext,
    /// `None` once the call is proposed: its record ends the text.
    text: Option<TextRef>,
    shared_id: Arc<str>,
    id: Id,
    ordinal: u64,
}

impl ToolCallWriter {
    pub(super) fn new(ctx: &DispatchContext) -> Self {
        let (id, ordinal) = ctx.turn().journal().next_call();
        let shared_id = id.shared();
        let kind = TextKind::ToolCall {
            tool: Arc::default(),
        };
        let text = ctx.turn().hub().open_text(kind, Arc::clone(&shared_id));
        ToolCallWriter {
            ctx: ctx.clone(),
            text: Some(text),
            shared_id,
            id,
            ordinal,
        }
    }

    /// Returns the id of the call.
    #[must_use]
    pub fn id(&self) -> &Arc<str> {
        &self.shared_id
    }

    /// Sets the name of the tool, or appends to it.
    pub fn name(&mut self, piece: impl AsRef<str>) {
        if let Some(text) = &self.text {
            self.ctx.turn().hub().name_tool(text, piece.as_ref());
        }
    }

    /// Adds a piece of the arguments. Yields once if a reader lags, but does not wait for it.
    pub async fn push(&mut self, piece: impl AsRef<str>) {
        if let Some(text) = &self.text
            && self.ctx.turn().hub().push_text(text, piece.as_ref())
        {
            tokio::task::yield_now().await;
        }
    }

    /// Discards the pieces so far and starts over with the same id. Readers are notified.
    pub fn restart(&mut self) {
        if let Some(text) = &self.text {
            self.ctx.turn().hub().discard_text(text);
        }
    }

    /// Ends the pieces. Returns the id and the ordinal for the proposed call, and its context.
    pub(crate) fn into_reserved(mut self) -> (DispatchContext, Id, u64) {
        self.text = None;
        (self.ctx.clone(), self.id, self.ordinal)
    }
}

impl Drop for ToolCallWriter {
    fn drop(&mut self) {
        if let Some(text) = &self.text {
            self.ctx.turn().hub().close_text(text);
        }
    }
}
