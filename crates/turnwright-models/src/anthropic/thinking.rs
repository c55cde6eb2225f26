//! Decides how a request asks for thinking, and how many tokens the response may have.

use serde_json::{Value, json};
use turnwright_core::settings::ReasoningEffort;

use super::models::Known;
use super::quirks::{ADAPTIVE_THINKING, BUDGETED_THINKING, NO_EFFORT};
use crate::engine::{RequestParts, Role, WireMessage};

/// The smallest token budget for thinking that the API accepts.
const MIN_BUDGET: u64 = 1_024;

/// The tokens that a response has besides its thinking, by default.
const ANSWER: u64 = 8_192;

/// How a request asks for thinking.
pub(super) struct Thinking {
    /// The parameter `thinking`.
    pub(super) parameter: Option<Value>,
    /// The effort in `output_config`.
    pub(super) effort: Option<String>,
    /// The parameter `max_tokens`.
    pub(super) max_tokens: u64,
}

impl Thinking {
    /// Decides it from the options, the settings, the model and the messages.
    pub(super) fn of(request: &RequestParts<'_>, warnings: &mut Vec<String>) -> Self {
        let model = Known::new(request.model);
        let effort = request.settings.reasoning_effort.as_ref();
        let parameter = if request.options.has("thinking") {
            request.options.get("thinking").cloned()
        } else {
            effort.and_then(|effort| for_effort(effort, model, request))
        };
        let has_effort = model.has_effort() && !request.quirks.has(NO_EFFORT);
        let effort = effort.filter(|_| has_effort);
        let mut thinking = Thinking {
            parameter,
            effort: effort.and_then(|effort| level(effort, model)),
            max_tokens: 0,
        };
        if let Some(why) = thinking.why_not(request.messages) {
            warnings.push(why.to_owned());
            let disables = model.must_disable_thinking();
            thinking.parameter = disables.then(|| json!({ "type": "disabled" }));
        }
        thinking.fit_tokens(model, request.settings.max_output_tokens, warnings);
        thinking
    }

    /// Returns `true` if the model is asked to think.
    pub(super) fn is_on(&self) -> bool {
        matches!(self.kind(), Some("enabled" | "adaptive"))
    }

    fn kind(&self) -> Option<&str> {
        self.parameter.as_ref()?.get("type")?.as_str()
    }

    /// Returns why the model cannot be asked to think: the API rejects calls that wait for their results if their
    /// thinking is missing.
    fn why_not(&self, messages: &[&WireMessage]) -> Option<&'static str> {
        if !self.is_on() {
            return None;
        }
        let mut open = open_exchange(messages).filter(|message| message.role == Role::Assistant);
        let first = open.next()?;
        if first.has_foreign_calls || open.any(|message| message.has_foreign_calls) {
            return Some(
                "the request asks for no thinking: the open tool calls came from another server, or their thinking is lost",
            );
        }
        let is_manual = self.kind() == Some("enabled");
        (is_manual && !starts_with_thinking(first)).then_some(
            "the request asks for no thinking: the model did not think before the open tool calls",
        )
    }

    /// Sets `max_tokens`, which must exceed the budget for thinking.
    fn fit_tokens(&mut self, model: Known<'_>, limit: Option<u64>, warnings: &mut Vec<String>) {
        let budget = self
            .parameter
            .as_mut()
            .and_then(|thinking| thinking.get_mut("budget_tokens"));
        let Some((slot, budget)) =
            budget.and_then(|slot| slot.as_u64().map(|tokens| (slot, tokens)))
        else {
            self.max_tokens = limit.unwrap_or_else(|| model.max_tokens());
            return;
        };
        let Some(limit) = limit else {
            self.max_tokens = model.max_tokens().max(budget.saturating_add(ANSWER));
            return;
        };
        self.max_tokens = limit;
        if budget < limit {
            return;
        }
        if limit <= MIN_BUDGET {
            warnings.push(format!(
                "the request asks for no thinking: `max_output_tokens` must be more than {MIN_BUDGET} for it (got {limit})"
            ));
            self.parameter = None;
            return;
        }
        let fitting = (limit / 2).max(MIN_BUDGET);
        warnings.push(format!(
            "the thinking budget is reduced from {budget} to {fitting} tokens: it must be less than `max_output_tokens` ({limit})"
        ));
        *slot = fitting.into();
    }
}

/// Returns the parameter for a reasoning effort.
fn for_effort(
    effort: &ReasoningEffort,
    model: Known<'_>,
    request: &RequestParts<'_>,
) -> Option<Value> {
    if *effort == ReasoningEffort::None {
        let disables = model.must_disable_thinking();
        return disables.then(|| json!({ "type": "disabled" }));
    }
    let quirks = request.quirks;
    let is_adaptive = model.has_adaptive_thinking() && !quirks.has(BUDGETED_THINKING);
    if is_adaptive || quirks.has(ADAPTIVE_THINKING) {
        return Some(json!({ "type": "adaptive" }));
    }
    let budget = match effort.as_str() {
        "minimal" => MIN_BUDGET,
        "low" => 2_048,
        "medium" => 8_192,
        "high" => 16_384,
        _ => 32_768,
    };
    // An effort leaves the details to the model, so the budget may be smaller.
    let limit = request.settings.max_output_tokens.unwrap_or(u64::MAX);
    let budget = if budget < limit {
        budget
    } else {
        (limit / 2).max(MIN_BUDGET)
    };
    Some(json!({ "type": "enabled", "budget_tokens": budget }))
}

/// Returns the level of an effort.
fn level(effort: &ReasoningEffort, model: Known<'_>) -> Option<String> {
    let level = match effort.as_str() {
        "none" => return None,
        "minimal" => "low",
        "xhigh" if !model.has_xhigh() => "high",
        level => level,
    };
    Some(level.to_owned())
}

/// Returns the messages since the last user message that is not next to results: the calls that the model made since
/// then, and their results. Empty if no results are at the end.
pub(super) fn open_exchange<'m>(
    messages: &'m [&'m WireMessage],
) -> impl Iterator<Item = &'m WireMessage> {
    let mut start = messages.len();
    while let Some(before) = messages.get(..start).filter(|before| !before.is_empty()) {
        // A run of messages that are not of the model, and the responses before it.
        let run = before
            .iter()
            .rev()
            .take_while(|message| message.role != Role::Assistant);
        let length = run.clone().count();
        // A response at the end was paused: it is part of the exchange.
        if length > 0 && !run.clone().any(|message| message.role == Role::Tool) {
            break;
        }
        let responses = before.iter().rev().skip(length);
        let responses = responses.take_while(|message| message.role == Role::Assistant);
        start -= length + responses.count();
    }
    messages.iter().skip(start).copied()
}

/// Returns `true` if the first block of a response is thinking.
fn starts_with_thinking(message: &WireMessage) -> bool {
    let start = r#"{"role":"assistant","content":[{"type":""#;
    let block = message.json.strip_prefix(start).unwrap_or_default();
    block.starts_with("thinking\"") || block.starts_with("redacted_thinking\"")
}
