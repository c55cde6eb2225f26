//! A text that is being written.

use std::sync::Arc;

use crate::event::{Delta, EventKind};

/// What a text becomes.
pub(crate) enum TextKind {
    Message,
    Thought,
    /// The arguments of a call, with the name of the tool as far as it is known.
    ToolCall {
        tool: Arc<str>,
    },
}

/// A text that is being written.
pub(super) struct OpenText {
    kind: TextKind,
    id: Arc<str>,
    /// Empty if the text is not logged.
    text: String,
    keep: bool,
    length: usize,
}

/// Maximum length of a tool name.
const MAX_NAME: usize = 64;

impl OpenText {
    pub(super) fn new(kind: TextKind, id: Arc<str>, keep: bool) -> Self {
        OpenText {
            kind,
            id,
            text: String::new(),
            keep,
            length: 0,
        }
    }

    pub(super) fn is(&self, id: &str) -> bool {
        *self.id == *id
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }

    /// Adds a piece. Returns its offset.
    pub(super) fn push(&mut self, piece: &str) -> usize {
        let offset = self.length;
        self.length += piece.len();
        if self.keep {
            self.text.push_str(piece);
        }
        offset
    }

    pub(super) fn name_tool(&mut self, name: &str) {
        if let TextKind::ToolCall { tool } = &mut self.kind
            && tool.len() < MAX_NAME
        {
            *tool = format!("{tool}{name}").into();
        }
    }

    /// Discards the text so far. Returns the id if there was any.
    pub(super) fn discard(&mut self) -> Option<Arc<str>> {
        let named = match &mut self.kind {
            TextKind::ToolCall { tool } => !std::mem::take(tool).is_empty(),
            TextKind::Message | TextKind::Thought => false,
        };
        let written = std::mem::take(&mut self.length) > 0;
        self.text.clear();
        (named || written).then(|| Arc::clone(&self.id))
    }

    pub(super) fn delta(&self, offset: usize, piece: &str) -> EventKind {
        let delta = Delta::new(Arc::clone(&self.id), offset, piece);
        match &self.kind {
            TextKind::Message => EventKind::MessageDelta(delta),
            TextKind::Thought => EventKind::ThoughtDelta(delta),
            TextKind::ToolCall { tool } => EventKind::ToolCallDelta {
                tool: Arc::clone(tool),
                delta,
            },
        }
    }

    /// Returns the text so far as one delta, if there is any.
    pub(super) fn so_far(&self) -> Option<EventKind> {
        let named = matches!(&self.kind, TextKind::ToolCall { tool } if !tool.is_empty());
        (self.keep && (named || self.length > 0)).then(|| self.delta(0, &self.text))
    }
}
