//! Broken streams: nothing panics, nothing exceeds its limits, and the split into pieces does not affect the result.
//!
//! For a long run:
//!
//! ```text
//! TURNWRIGHT_WIRE_CASES=1000000 cargo test --release -p turnwright-models --test it responses::fuzz -- --nocapture
//! ```
//!
//! A failure prints the seed and the case. `TURNWRIGHT_SEED` repeats the same cases.

use std::collections::BTreeMap;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::{Value, json};
use turnwright_core::ErrorCode;
use turnwright_models::Protocol;
use turnwright_models::decode::{Collector, Delta};

use super::recorded::{decode_pieces, recorded};
use crate::rng::Rng;

const CASES: u64 = 2_000;
const SEED: u64 = 0x7265_7370;
const THREADS: u64 = 2;
/// Longer recordings are skipped: many short cases find more than few long ones.
const LONGEST: usize = 12_000;

type Tally = BTreeMap<String, u64>;

/// Tokens that are inserted.
const TOKENS: [&str; 24] = [
    "\n\n",
    "\r",
    "data:",
    "event: error\n",
    "data: [DONE]\n\n",
    "null",
    "{}",
    "[]",
    "\"\"",
    "1e400",
    "-1",
    "\"output_index\":9,",
    "\"output_index\":0,",
    "\"id\":\"b\",",
    "\"delta\":",
    "\"type\":",
    "\"item\":",
    "\\ud800",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
];

#[test]
fn random_bytes_decode_the_same_for_any_split_within_limits() {
    let recorded = recorded().unwrap_or_default();
    let bodies = recorded
        .into_iter()
        .map(|response| response.body.into_bytes());
    let mut corpus: Vec<Vec<u8>> = bodies.filter(|body| body.len() < LONGEST).collect();
    corpus.push(
        br#"{"id":"r","status":"completed","output":[{"type":"message","content":[]}]}"#.to_vec(),
    );
    let tally = run(|rng, tally| {
        let bytes = mutated(&corpus, rng);
        judge(&bytes, rng, tally);
    });
    assert!(tally["read"] > 0 && tally["E_WIRE_ERROR"] > 0, "{tally:?}");
}

#[test]
fn random_events_decode_the_same_for_any_split_within_limits() {
    let tally = run(|rng, tally| {
        let count = rng.below(30);
        let events = (0..count).map(|_| format!("data: {}\n\n", event(rng)));
        let bytes = events.collect::<String>().into_bytes();
        judge(&bytes, rng, tally);
    });
    assert!(
        tally["with deltas"] > 0 && tally["complete"] > 0,
        "{tally:?}"
    );
}

fn run(judge: impl Fn(&mut Rng, &mut Tally) + Sync) -> Tally {
    let seed = number_from("TURNWRIGHT_SEED").unwrap_or(SEED);
    let cases = number_from("TURNWRIGHT_WIRE_CASES").unwrap_or(CASES);
    let judge = &judge;
    let tally = std::thread::scope(|scope| {
        let work = |thread: u64| {
            let mut tally = Tally::new();
            for case in (thread..cases).step_by(THREADS as usize) {
                let rng = &mut Rng::of_case(seed, case);
                if catch_unwind(AssertUnwindSafe(|| judge(rng, &mut tally))).is_err() {
                    panic!("TURNWRIGHT_SEED={seed}, case {case}");
                }
            }
            tally
        };
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        let mut tally = Tally::new();
        for (what, count) in threads
            .into_iter()
            .flat_map(|thread| thread.join().unwrap())
        {
            *tally.entry(what).or_default() += count;
        }
        tally
    });
    crate::say(format_args!(
        "TURNWRIGHT_SEED={seed} TURNWRIGHT_WIRE_CASES={cases}: {tally:?}"
    ));
    tally
}

fn number_from(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number: {text}")),
    )
}

fn judge(bytes: &[u8], rng: &mut Rng, tally: &mut Tally) {
    let limit = *rng.pick(&[60, 600, 3_000, 100_000, 100_000, 100_000]);
    let decoder = || {
        Protocol::Responses
            .decoder(None)
            .max_event(limit)
            .max_body(2 * limit)
    };
    let (deltas, state, ended) = decode_pieces(decoder(), [bytes]);
    let (in_pieces, state_in_pieces, ended_in_pieces) = decode_pieces(decoder(), rng.cut(bytes));
    let shown = || format!("{limit} {:?}", String::from_utf8_lossy(bytes));
    assert!(
        deltas == in_pieces,
        "{}\n{deltas:?}\n{in_pieces:?}",
        shown()
    );
    assert_eq!(state, state_in_pieces, "{}", shown());
    let message =
        |ended: &Result<(), turnwright_core::Error>| ended.as_ref().err().map(ToString::to_string);
    assert_eq!(message(&ended), message(&ended_in_pieces), "{}", shown());
    // No text arrives twice.
    let total: usize = deltas.iter().map(size).sum();
    assert!(total <= bytes.len(), "{}", shown());
    let done = deltas.iter().filter(|delta| **delta == Delta::Done).count();
    assert!(done <= 1, "{}", shown());
    let how = match &ended {
        Ok(()) => "read",
        Err(error) => {
            let expected = [
                ErrorCode::WIRE_ERROR,
                ErrorCode::MODEL_SERVER_ERROR,
                ErrorCode::CONTEXT_WINDOW_EXCEEDED,
            ];
            assert!(expected.contains(&error.code()), "{error}");
            assert!(error.message().chars().count() < 5_500, "{error}");
            error.code().as_str()
        }
    };
    *tally.entry(how.to_owned()).or_default() += 1;
    if !deltas.is_empty() {
        *tally.entry("with deltas".to_owned()).or_default() += 1;
    }
    let mut collector = Collector::new();
    collector.extend(deltas);
    let mut reply = collector.into_reply();
    reply.state = state.as_object().unwrap().clone();
    if reply.is_complete() {
        *tally.entry("complete".to_owned()).or_default() += 1;
        if ended.is_ok() {
            lays_out(&reply.state, &reply, &shown);
        }
    }
    assert!(Protocol::Responses.describe(&reply).is_object());
}

/// The blocks of the layout of a complete reply have the lengths of its texts.
fn lays_out(
    state: &serde_json::Map<String, Value>,
    reply: &turnwright_models::decode::Reply,
    shown: &impl Fn() -> String,
) {
    let Some(parts) = state.get("layout").and_then(Value::as_array) else {
        return;
    };
    let sum = |name: &str| {
        let blocks = parts.iter().filter_map(|part| part[name]["bytes"].as_u64());
        blocks.sum::<u64>() as usize
    };
    assert_eq!(
        sum("text"),
        reply.text.len() + reply.refusal.len(),
        "{}",
        shown()
    );
    assert_eq!(sum("reasoning"), reply.reasoning.len(), "{}", shown());
    let calls = parts.iter().filter(|part| **part == "call").count();
    assert_eq!(calls, reply.tool_calls.len(), "{}", shown());
}

/// Returns the size of a delta's text.
fn size(delta: &Delta) -> usize {
    match delta {
        Delta::Text(text) | Delta::Reasoning(text) | Delta::Refusal(text) => text.len(),
        Delta::Call { arguments, .. } => arguments.len(),
        _ => 0,
    }
}

/// Returns a random event of a few items, whose texts may contradict each other.
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

fn mutated(corpus: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = rng.pick(corpus).clone();
    for _ in 0..rng.below(4) {
        let at = rng.below(bytes.len() + 1);
        let length = rng.below(60).min(bytes.len() - at);
        match rng.below(5) {
            0 => bytes.truncate(at),
            1 => {
                bytes.drain(at..at + length);
            }
            2 => {
                let piece = bytes[at..at + length].to_vec();
                bytes.splice(at..at, piece);
            }
            3 => {
                let token = rng.pick(&TOKENS).bytes();
                bytes.splice(at..at, token);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = rng.next() as u8;
                }
            }
        }
    }
    bytes
}
