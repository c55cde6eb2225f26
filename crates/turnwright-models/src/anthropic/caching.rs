//! Marks for the prompt cache.
//!
//! A mark ends a prefix of the prompt (tools, system, messages) that the provider caches. The prompt of a conversation
//! only grows, so the end of each request is a prefix of the next one. The end of the previous request is marked
//! again, because the provider looks for cached prefixes only some blocks before a mark.

use serde_json::Value;

use super::options::PROMPT_CACHING;
use crate::engine::{RequestParts, Role};

/// The maximum number of marks in a request.
const MAX_MARKS: usize = 4;

/// Where a request has marks.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// The field with a comma before it, for the last block of a message.
    field: String,
    pub(super) on_tools: bool,
    pub(super) on_system: bool,
    /// The messages that are marked.
    messages: Vec<usize>,
}

impl Marks {
    /// Decides which parts of a request are marked. The ends of the messages come first: they cover the rest.
    pub(super) fn of(request: &RequestParts<'_>) -> Self {
        let options = request.options;
        let control = options.get("cache_control");
        let is_off = options.get(PROMPT_CACHING) == Some(&Value::Bool(false));
        if is_off || (control.is_none() && options.has("cache_control")) {
            return Marks::default();
        }
        let mut marks = Marks {
            field: match control {
                Some(control) => format!(r#","cache_control":{control}"#),
                None => r#","cache_control":{"type":"ephemeral"}"#.to_owned(),
            },
            ..Marks::default()
        };
        let own = |text: &str| text.matches(r#""cache_control":"#).count();
        let of_tools: usize = request.tools.iter().map(|tool| own(tool)).sum();
        let of_messages: usize = request
            .messages
            .iter()
            .map(|message| own(&message.json))
            .sum();
        let set = of_tools + of_messages + usize::from(control.is_some());
        let mut free = MAX_MARKS.saturating_sub(set);
        // With a control of the whole request, the provider marks the last message.
        let ends = ends(request).skip(usize::from(control.is_some()));
        for end in ends.take(free.min(2)) {
            marks.messages.push(end);
            free -= 1;
        }
        let has_system = request
            .messages
            .iter()
            .any(|message| message.role == Role::System);
        marks.on_system = has_system && free > 0;
        free -= usize::from(marks.on_system);
        let last_is_free = request.tools.last().is_some_and(|tool| own(tool) == 0);
        marks.on_tools = last_is_free && free > 0;
        marks
    }

    /// Returns `true` if the message at this index is marked.
    pub(super) fn on_message(&self, index: usize) -> bool {
        self.messages.contains(&index)
    }

    /// Appends JSON with a mark in its last object, which ends with `end`.
    pub(super) fn append(&self, text: &mut String, json: &str, end: &str) {
        match json.strip_suffix(end) {
            Some(start) => {
                text.push_str(start);
                text.push_str(&self.field);
                text.push_str(end);
            }
            None => text.push_str(json),
        }
    }
}

/// Returns the ends of the requests so far, last first: the last message before each response, and that of this
/// request.
fn ends(request: &RequestParts<'_>) -> impl Iterator<Item = usize> {
    let roles: Vec<Role> = request
        .messages
        .iter()
        .map(|message| message.role)
        .collect();
    let is_input = |role: &Role| matches!(role, Role::User | Role::Tool);
    (0..roles.len()).rev().filter(move |index| {
        let next = roles.get(index + 1);
        roles.get(*index).is_some_and(is_input) && !next.is_some_and(is_input)
    })
}
