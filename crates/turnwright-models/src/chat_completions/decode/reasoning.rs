//! Reasoning, which servers send under several names.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::reasoning_details::ReasoningDetails;
use crate::decode::Delta;

/// The keys of the provider state of a response.
pub(in crate::chat_completions) const FIELD: &str = "reasoning_field";
pub(in crate::chat_completions) const DETAILS: &str = "reasoning_details";

/// The fields that can hold reasoning.
pub(in crate::chat_completions) const REASONING_CONTENT: &str = "reasoning_content";
pub(in crate::chat_completions) const REASONING: &str = "reasoning";
pub(in crate::chat_completions) const THINKING: &str = "thinking";

/// The reasoning of a response: where it was found, and what the server expects back.
#[derive(Default)]
pub(super) struct Reasoning {
    /// The field in which reasoning first appeared.
    field: Option<&'static str>,
    pub(super) details: ReasoningDetails,
}

impl Reasoning {
    /// Reads the two fields of a message. If a server sends both, they are the same text under two names, for clients that
    /// know only one of them.
    pub(super) fn read(
        &mut self,
        content: Option<Cow<'_, str>>,
        other: Option<Cow<'_, str>>,
        deltas: &mut Vec<Delta>,
    ) {
        match (content, other) {
            (Some(text), _) => self.add(REASONING_CONTENT, text.into_owned(), deltas),
            (None, Some(text)) => self.add(REASONING, text.into_owned(), deltas),
            (None, None) => {}
        }
    }

    /// Adds reasoning that was found in this field.
    pub(super) fn add(&mut self, field: &'static str, text: String, deltas: &mut Vec<Delta>) {
        self.field.get_or_insert(field);
        deltas.push(Delta::Reasoning(text));
    }

    /// Returns what the server expects back.
    pub(super) fn take_state(&mut self) -> Map<String, Value> {
        let mut state = Map::new();
        if let Some(field) = self.field {
            state.insert(FIELD.to_owned(), field.into());
        }
        let details = std::mem::take(&mut self.details).into_items();
        if !details.is_empty() {
            state.insert(DETAILS.to_owned(), details.into());
        }
        state
    }
}
