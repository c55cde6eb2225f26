//! Ollama.

use serde_json::{Value, json};

use super::{WORD, call_id};

/// Calls are sent complete.
pub(super) fn calls(tool: &str, first: usize, arguments: &[Value]) -> Vec<String> {
    let calls = arguments.iter().enumerate().map(|(index, arguments)| {
        json!({
            "id": call_id(first + index),
            "function": { "index": index, "name": tool, "arguments": arguments },
        })
    });
    let calls: Vec<Value> = calls.collect();
    vec![
        line(&json!({ "tool_calls": calls }), json!({ "done": false })),
        last(),
    ]
}

pub(super) fn answer(deltas: usize) -> Vec<String> {
    let piece = line(&json!({ "content": WORD }), json!({ "done": false }));
    let mut lines: Vec<String> = std::iter::repeat_n(piece, deltas).collect();
    lines.push(last());
    lines
}

fn last() -> String {
    let end = json!({
        "done": true,
        "done_reason": "stop",
        "total_duration": 3_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": 321,
        "prompt_eval_duration": 1_000_000,
        "eval_count": 45,
        "eval_duration": 1_000_000,
    });
    line(&json!({}), end)
}

fn line(message: &Value, mut line: Value) -> String {
    let mut shown = json!({ "role": "assistant", "content": "" });
    for (name, value) in message.as_object().into_iter().flatten() {
        shown[name] = value.clone();
    }
    line["model"] = "m".into();
    line["created_at"] = "2026-02-02T02:40:00.123456789Z".into();
    line["message"] = shown;
    format!("{line}\n")
}
