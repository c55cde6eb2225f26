//! Random events: blocks in any order, with any index and content.
//!
//! `TURNWRIGHT_WIRE_CASES` sets the number of cases.

use serde_json::{Value, json};
use turnwright_models::Protocol;

use crate::rng::Rng;
use crate::wire::{collect, decode_pieces};

const CASES: u64 = 300;

#[test]
fn random_events_are_decoded_without_loss_and_for_any_split() {
    let cases = std::env::var("TURNWRIGHT_WIRE_CASES").map_or(CASES, |text| text.parse().unwrap());
    let (mut complete, mut layouts) = (0, 0);
    for case in 0..cases {
        let rng = &mut Rng::of_case(7, case);
        let events: Vec<Value> = (0..rng.below(30)).map(|_| event(rng)).collect();
        let text: String = events
            .iter()
            .map(|event| format!("data: {event}\n\n"))
            .collect();
        let bytes = text.as_bytes();
        let mut decoder = Protocol::Anthropic.decoder(Some("text/event-stream"));
        let mut deltas = Vec::new();
        let pushed = decoder.push(bytes, &mut deltas);
        let ended = pushed.and_then(|()| decoder.finish(&mut deltas));
        let state = decoder.take_state();
        let (split, ended_split) = decode_pieces(
            Protocol::Anthropic.decoder(Some("text/event-stream")),
            rng.cut(bytes),
        );
        assert!(split == deltas, "case {case}: {text}");
        assert_eq!(ended.is_err(), ended_split.is_err(), "case {case}");
        let reply = collect(deltas);
        complete += u64::from(reply.is_complete());
        let sent = |name: &str, field: &str| -> usize {
            let texts = events
                .iter()
                .flat_map(|event| [&event[name][field], &event["content_block"][field]]);
            texts.filter_map(Value::as_str).map(str::len).sum()
        };
        assert!(reply.text.len() <= sent("delta", "text"), "case {case}");
        assert!(
            reply.reasoning.len() <= sent("delta", "thinking"),
            "case {case}"
        );
        let Some(layout) = state.get("layout").and_then(Value::as_array) else {
            continue;
        };
        layouts += 1;
        let of = |kind: &str| -> u64 {
            layout
                .iter()
                .filter_map(|part| part[kind]["bytes"].as_u64())
                .sum()
        };
        assert_eq!(of("text"), reply.text.len() as u64, "case {case}: {text}");
        assert_eq!(
            of("reasoning"),
            reply.reasoning.len() as u64,
            "case {case}: {text}"
        );
        let calls = layout.iter().filter(|part| **part == "call").count();
        assert_eq!(calls, reply.tool_calls.len(), "case {case}: {text}");
    }
    crate::say(format_args!(
        "{cases} cases: {complete} complete, {layouts} with a layout"
    ));
    assert!(complete > 0 && layouts > 0);
}

fn event(rng: &mut Rng) -> Value {
    let indexes = [
        json!(0),
        json!(1),
        json!(2),
        json!(u64::MAX),
        json!(-1),
        json!("1"),
        Value::Null,
    ];
    let index = if rng.chance(80) {
        json!(rng.below(3))
    } else {
        rng.pick(&indexes).clone()
    };
    let texts = ["", "a", "äö", "{\"x\":", "1}", "\n"];
    let text = *rng.pick(&texts);
    let kinds = [
        "text",
        "thinking",
        "tool_use",
        "server_tool_use",
        "redacted_thinking",
        "new_block",
    ];
    match rng.below(10) {
        0 => {
            json!({ "type": "message_start", "message": { "id": "m", "model": "c", "content": [], "usage": { "input_tokens": 1 } } })
        }
        1..=3 => {
            let kind = *rng.pick(&kinds);
            json!({ "type": "content_block_start", "index": index, "content_block": { "type": kind, "text": text, "thinking": text, "id": "i", "name": "n", "input": {}, "data": text, "citations": null } })
        }
        4..=6 => {
            let delta = match rng.below(6) {
                0 | 1 => json!({ "type": "text_delta", "text": text }),
                2 => json!({ "type": "thinking_delta", "thinking": text }),
                3 => json!({ "type": "signature_delta", "signature": text }),
                4 => json!({ "type": "input_json_delta", "partial_json": text }),
                _ => json!({ "type": "citations_delta", "citation": { "type": "page" } }),
            };
            json!({ "type": "content_block_delta", "index": index, "delta": delta })
        }
        7 => json!({ "type": "content_block_stop", "index": index }),
        8 if rng.chance(30) => {
            let reason = *rng.pick(&[
                "end_turn",
                "tool_use",
                "max_tokens",
                "refusal",
                "pause_turn",
                "new",
            ]);
            json!({ "type": "message_delta", "delta": { "stop_reason": reason }, "usage": { "output_tokens": 3 } })
        }
        8 => json!({ "type": "ping" }),
        _ if rng.chance(10) => {
            json!({ "type": "error", "error": { "type": "overloaded_error", "message": "Overloaded" } })
        }
        _ if rng.chance(20) => json!({ "type": "message_stop" }),
        _ => json!({ "type": "new_event", "index": index }),
    }
}
