//! Random events of the Responses protocol, whose texts may contradict each other.

use serde_json::{Value, json};
use turnwright_models::Protocol;

use super::{judge_bytes, run};
use crate::rng::Rng;

#[test]
fn random_events_decode_the_same_for_any_split_within_limits() {
    let tally = run(|rng, tally| {
        let count = rng.below(30);
        let events = (0..count).map(|_| format!("data: {}\n\n", event(rng)));
        let bytes = events.collect::<String>().into_bytes();
        judge_bytes(Protocol::Responses, &bytes, rng, tally);
    });
    assert!(
        tally["with deltas"] > 0 && tally["complete"] > 0,
        "{tally:?}"
    );
}

/// Returns a random event of a few items.
fn event(rng: &mut Rng) -> Value {
    let index = match rng.below(12) {
        0 => json!(u64::MAX),
        1 => Value::Null,
        _ => json!(rng.below(4)),
    };
    let text = *rng.pick(&["", "a", "ab", "abc", "ä", "{\"x\":1}", "{\"x\""]);
    let part = rng.below(2);
    let kinds = [
        "output_text",
        "refusal",
        "reasoning_summary_text",
        "reasoning_text",
    ];
    let named = |what: &str| format!("response.{what}.delta");
    match rng.below(10) {
        0..=2 => {
            let kind = named(rng.pick::<&str>(&kinds));
            json!({ "type": kind, "output_index": index, "content_index": part, "delta": text })
        }
        3 => {
            let kind = named("function_call_arguments");
            json!({ "type": kind, "output_index": index, "delta": text })
        }
        4 => {
            json!({ "type": "response.output_item.added", "output_index": index, "item": item(rng, text) })
        }
        5..=7 => {
            json!({ "type": "response.output_item.done", "output_index": index, "item": item(rng, text) })
        }
        8 => json!({ "type": "response.in_progress", "response": { "id": text } }),
        _ => {
            let output: Vec<Value> = (0..rng.below(3)).map(|_| item(rng, text)).collect();
            let status = *rng.pick(&["completed", "completed", "incomplete", "failed"]);
            json!({ "type": format!("response.{status}"), "response": { "status": status, "output": output } })
        }
    }
}

fn item(rng: &mut Rng, text: &str) -> Value {
    let id = *rng.pick(&["i1", "i2", "i3"]);
    match rng.below(5) {
        0 | 1 => json!({ "type": "message", "id": id, "content": [
            { "type": "output_text", "text": text },
            { "type": "refusal", "refusal": text },
        ] }),
        2 => {
            json!({ "type": "reasoning", "id": id, "summary": [{ "text": text }], "content": [{ "text": text }] })
        }
        3 => {
            json!({ "type": "function_call", "id": id, "call_id": id, "name": "f", "arguments": text })
        }
        _ => json!({ "type": "web_search_call", "id": id }),
    }
}
