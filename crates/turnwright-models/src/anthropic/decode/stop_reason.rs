//! Stop reasons.

use crate::decode::{Cut, Finish};

/// Returns how a response with this stop reason ended.
pub(super) fn finish(reason: &str) -> Finish {
    match reason {
        "end_turn" | "stop_sequence" => Finish::Stop,
        "tool_use" => Finish::ToolCalls,
        "pause_turn" => Finish::Paused,
        "refusal" => Finish::Declined,
        "max_tokens" | "model_context_window_exceeded" => Finish::Cut(Cut::Length),
        _ => Finish::Unknown,
    }
}
