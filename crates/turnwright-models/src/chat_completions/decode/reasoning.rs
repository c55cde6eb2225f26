//! Reasoning, which servers send under several names.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::reasoning_details::ReasoningDetails;
use crate::decode::Delta;

/// The keys of the provider state of a response.
pub(in crate::chat_completions) const FIELD: &str = "reasoning_field";
pub(in crate::chat_completions) const DETAILS: &str = "reasoning_details";
/// Where the text of `reasoning` begins, if it differs from that of `reasoning_content`.
pub(in crate::chat_completions) const SECOND: &str = "second_reasoning";

/// The fields that can hold reasoning.
pub(in crate::chat_completions) const REASONING_CONTENT: &str = "reasoning_content";
pub(in crate::chat_completions) const REASONING: &str = "reasoning";
pub(in crate::chat_completions) const THINKING: &str = "thinking";

/// What stands between two different texts.
const BETWEEN: &str = "\n\n";

/// The reasoning of a response: where it was found, and what the server expects back.
#[derive(Default)]
pub(super) struct Reasoning {
    /// The field in which reasoning first appeared.
    field: Option<&'static str>,
    /// The bytes of reasoning so far.
    bytes: usize,
    /// The texts of `reasoning_content` and `reasoning`, from their first difference on.
    different: Option<(String, String)>,
    second: Option<usize>,
    pub(super) details: ReasoningDetails,
}

impl Reasoning {
    /// Reads the two fields of a message. Usually both contain the same text, for clients that know only one name. If
    /// they differ, the text of `reasoning` follows at the end.
    pub(super) fn read(
        &mut self,
        content: Option<Cow<'_, str>>,
        other: Option<Cow<'_, str>>,
        deltas: &mut Vec<Delta>,
    ) {
        let differs = matches!((&content, &other), (Some(one), Some(two)) if one != two);
        if differs {
            self.different.get_or_insert_default();
        }
        match &mut self.different {
            Some((one, two)) => {
                one.push_str(content.as_deref().unwrap_or_default());
                two.push_str(other.as_deref().unwrap_or_default());
                if let Some(text) = content {
                    self.add(REASONING_CONTENT, text.into_owned(), deltas);
                }
            }
            None => match (content, other) {
                (Some(text), _) => self.add(REASONING_CONTENT, text.into_owned(), deltas),
                (None, Some(text)) => self.add(REASONING, text.into_owned(), deltas),
                (None, None) => {}
            },
        }
    }

    /// Adds reasoning that was found in this field.
    pub(super) fn add(&mut self, field: &'static str, text: String, deltas: &mut Vec<Delta>) {
        self.field.get_or_insert(field);
        self.bytes += text.len();
        deltas.push(Delta::Reasoning(text));
    }

    /// Ends the reasoning: appends the text of `reasoning` if it differs.
    pub(super) fn end(&mut self, deltas: &mut Vec<Delta>) {
        let Some((one, two)) = self.different.take().filter(|(one, two)| one != two) else {
            return;
        };
        // The server may only have split the same text differently, and have been cut off.
        if two.is_empty() || one.starts_with(&two) {
            return;
        }
        self.add(REASONING_CONTENT, BETWEEN.to_owned(), deltas);
        self.second = Some(self.bytes);
        self.add(REASONING, two, deltas);
    }

    /// Returns what the server expects back.
    pub(super) fn take_state(&mut self) -> Map<String, Value> {
        let mut state = Map::new();
        if let Some(field) = self.field {
            state.insert(FIELD.to_owned(), field.into());
        }
        if let Some(second) = self.second {
            state.insert(SECOND.to_owned(), second.into());
        }
        let details = std::mem::take(&mut self.details).into_items();
        if !details.is_empty() {
            state.insert(DETAILS.to_owned(), details.into());
        }
        state
    }
}

/// Splits reasoning into the texts of the two fields.
pub(in crate::chat_completions) fn split(text: &str, second: Option<u64>) -> (&str, Option<&str>) {
    let at = second.and_then(|at| usize::try_from(at).ok());
    let parts = at.and_then(|at| {
        let one = text.get(..at)?.strip_suffix(BETWEEN)?;
        Some((one, text.get(at..)?))
    });
    parts.map_or((text, None), |(one, two)| (one, Some(two)))
}
