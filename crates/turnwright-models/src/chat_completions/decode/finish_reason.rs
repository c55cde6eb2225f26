//! Finish reasons: those of the protocol, and variants of servers.

use crate::decode::{Cut, Finish};

/// Returns how a response with this finish reason ended. Calls of a response with an unknown reason are not executed.
pub(super) fn finish(reason: &str) -> Finish {
    let is = |(name, _): &&(&str, Finish)| reason.eq_ignore_ascii_case(name);
    if let Some((_, finish)) = COMPLETE.iter().find(is) {
        return *finish;
    }
    let is = |(name, _): &&(&str, Cut)| reason.trim().eq_ignore_ascii_case(name);
    let cut = CUT.iter().find(is);
    cut.map_or(Finish::Unknown, |(_, cut)| Finish::Cut(*cut))
}

const COMPLETE: &[(&str, Finish)] = &[
    ("stop", Finish::Stop),
    ("tool_calls", Finish::ToolCalls),
    ("function_call", Finish::ToolCalls),
    ("tool_call", Finish::ToolCalls),
    ("tool_use", Finish::ToolCalls),
    ("end_turn", Finish::Stop),
    ("stop_sequence", Finish::Stop),
    ("eos", Finish::Stop),
    ("eos_token", Finish::Stop),
    ("complete", Finish::Stop),
];

const CUT: &[(&str, Cut)] = &[
    ("length", Cut::Length),
    ("model_length", Cut::Length),
    ("max_tokens", Cut::Length),
    ("max_output_tokens", Cut::Length),
    ("model_context_window_exceeded", Cut::Length),
    ("content_filter", Cut::Filter),
    ("safety", Cut::Filter),
    ("sensitive", Cut::Filter),
    ("error", Cut::Failure),
    ("insufficient_system_resource", Cut::Failure),
    ("network_error", Cut::Failure),
    ("timeout", Cut::Failure),
    ("abort", Cut::Failure),
    ("aborted", Cut::Failure),
    ("cancelled", Cut::Failure),
    ("canceled", Cut::Failure),
];
