//! Chat Completions.

use serde_json::{Value, json};

use super::{WORD, call_id, pieces};

pub(super) fn calls(tool: &str, first: usize, arguments: &[Value]) -> Vec<String> {
    let mut events = vec![chunk(
        &json!({ "role": "assistant", "content": null }),
        None,
    )];
    for (index, arguments) in arguments.iter().map(Value::to_string).enumerate() {
        let begins = json!({ "tool_calls": [{
            "index": index,
            "id": call_id(first + index),
            "type": "function",
            "function": { "name": tool, "arguments": "" },
        }] });
        events.push(chunk(&begins, None));
        for piece in pieces(&arguments) {
            let continues =
                json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] });
            events.push(chunk(&continues, None));
        }
    }
    end(&mut events, "tool_calls");
    events
}

pub(super) fn answer(deltas: usize) -> Vec<String> {
    let mut events = vec![chunk(&json!({ "role": "assistant", "content": "" }), None)];
    let piece = chunk(&json!({ "content": WORD }), None);
    events.extend(std::iter::repeat_n(piece, deltas));
    end(&mut events, "stop");
    events
}

fn end(events: &mut Vec<String>, reason: &str) {
    events.push(chunk(&json!({}), Some(reason)));
    let usage = json!({
        "prompt_tokens": 321,
        "completion_tokens": 45,
        "total_tokens": 366,
        "prompt_tokens_details": { "cached_tokens": 128, "audio_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": 0, "audio_tokens": 0 },
    });
    events.push(event(&json!([]), &usage));
    events.push("data: [DONE]\n\n".to_owned());
}

fn chunk(delta: &Value, finish_reason: Option<&str>) -> String {
    let choice = json!({
        "index": 0,
        "delta": delta,
        "logprobs": null,
        "finish_reason": finish_reason,
    });
    event(&json!([choice]), &Value::Null)
}

fn event(choices: &Value, usage: &Value) -> String {
    let chunk = json!({
        "id": "chatcmpl-C4mXq0wT7vJb2nRk9sLdPzYhEaUf1",
        "object": "chat.completion.chunk",
        "created": 1_770_000_000,
        "model": "m",
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
        "choices": choices,
        "usage": usage,
    });
    format!("data: {chunk}\n\n")
}
