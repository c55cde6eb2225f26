//! Gemini.

use serde_json::{Value, json};

use super::WORD;

/// Calls are sent complete, without ids.
pub(super) fn calls(tool: &str, _: usize, arguments: &[Value]) -> Vec<String> {
    let parts = arguments.iter().enumerate().map(|(index, arguments)| {
        let mut part = json!({ "functionCall": { "name": tool, "args": arguments } });
        if index == 0 {
            part["thoughtSignature"] = "Qm3vT0pXzR8kLw".repeat(8).into();
        }
        part
    });
    vec![chunk(&parts.collect(), None), last()]
}

pub(super) fn answer(deltas: usize) -> Vec<String> {
    let piece = chunk(&json!([{ "text": WORD }]), None);
    let mut events: Vec<String> = std::iter::repeat_n(piece, deltas).collect();
    events.push(last());
    events
}

fn last() -> String {
    chunk(&json!([{ "text": "" }]), Some("STOP"))
}

fn chunk(parts: &Value, finish_reason: Option<&str>) -> String {
    let content = json!({ "role": "model", "parts": parts });
    let mut candidate = json!({ "content": content, "index": 0 });
    let mut usage = json!({
        "promptTokenCount": 321,
        "totalTokenCount": 321,
        "promptTokensDetails": [{ "modality": "TEXT", "tokenCount": 321 }],
    });
    if let Some(reason) = finish_reason {
        candidate["finishReason"] = reason.into();
        usage["candidatesTokenCount"] = 45.into();
        usage["cachedContentTokenCount"] = 128.into();
        usage["totalTokenCount"] = 366.into();
    }
    let chunk = json!({
        "candidates": [candidate],
        "usageMetadata": usage,
        "modelVersion": "m",
        "responseId": "C4mXq0wT7vJb2nRk9sLdPz",
    });
    format!("data: {chunk}\r\n\r\n")
}
