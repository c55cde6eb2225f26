//! Broken streams, random events and random deltas: nothing panics, nothing exceeds its limits, and the split into pieces does not
//! affect the result.
//!
//! For a long run:
//!
//! ```text
//! TURNWRIGHT_WIRE_CASES=1000000 cargo test --release -p turnwright-models --test it fuzz -- --nocapture
//! ```
//!
//! A failure prints the seed and the case. `TURNWRIGHT_SEED` repeats the same cases.

mod random_deltas;
mod random_events;

use std::collections::BTreeMap;
use std::env;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde_json::Value;
use turnwright_core::{Error, ErrorCode};
use turnwright_models::Protocol;
use turnwright_models::decode::{Decoder, Delta, Reply};

use crate::rng::Rng;
use crate::wire::{collect, decode_pieces, recorded};

const CASES: u64 = 300;
const SEED: u64 = 0x7769_7265;
const THREADS: u64 = 2;
/// Longer recordings are skipped: many short cases find more than few long ones.
const LONGEST: usize = 6_000;

type Tally = BTreeMap<String, u64>;

/// Streams and bodies to start from, if there are no recordings.
const SEEDS: [&str; 6] = [
    "data: {\"id\":\"a\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n",
    "\u{FEFF}: hi\r\n\r\ndata: {\"choices\":[{\"delta\":{\"reasoning\":\"ä\",\"reasoning_details\":[{\"type\":\"reasoning.text\",\"index\":0,\"text\":\"ä\"}]}}]}\r\n\r\ndata: {\"choices\":[{\"delta\":{\"content\":[{\"type\":\"thinking\",\"thinking\":[{\"type\":\"text\",\"text\":\"x\"}]},{\"type\":\"text\",\"text\":\"y\"}]}}]}\r\n\r\n",
    "data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\"}},{\"id\":\"b\",\"function\":{\"name\":\"g\",\"arguments\":{\"y\": [1, 2]}},\"extra_content\":{\"z\":1}}]}}]}\r\rdata: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\":1}\"}}]},\"finish_reason\":\"tool_calls\"}]}\r\r",
    "event: error\ndata: {\"error\":{\"message\":\"no\",\"code\":429}}\n\n",
    "{\"id\":\"a\",\"choices\":[{\"index\":0,\"message\":{\"content\":\"Hello\",\"refusal\":null,\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}],\"function_call\":{\"name\":\"f\",\"arguments\":\"{}\"}},\"finish_reason\":\"length\"}],\"x_groq\":{\"usage\":{\"prompt_tokens\":1e400}}}",
    "<html><title>502</title></html>",
];

/// Tokens that are inserted.
const TOKENS: [&str; 32] = [
    "\n\n",
    "\r\n",
    "\r",
    "\n",
    "data:",
    "data: ",
    "event: error\n",
    ":",
    "id:",
    "\u{FEFF}",
    "[DONE]",
    "data: [DONE]\n\n",
    "null",
    "{}",
    "[]",
    "\"\"",
    "1e400",
    "-1",
    "{\"error\":\"no\"}",
    "\"index\":0,",
    "\"id\":\"b\",",
    "\"name\":\"g\",",
    "\"content\":",
    "\"delta\":",
    "\\ud800",
    "\\",
    "\"",
    "{",
    "}",
    "[",
    "]",
    ",",
];

/// Random bytes decode the same for any split, within limits.
fn random_bytes(protocol: Protocol) {
    let recorded = recorded(protocol).unwrap_or_default();
    let mut corpus: Vec<Vec<u8>> = SEEDS.map(|text| text.as_bytes().to_vec()).to_vec();
    let recorded = recorded.into_iter().map(|item| item.body.into_bytes());
    corpus.extend(recorded.filter(|body| body.len() < LONGEST));
    let tally = run(|rng, tally| {
        let bytes = bytes(&corpus, rng);
        judge_bytes(protocol, &bytes, rng, tally);
    });
    crate::say(format_args!("{protocol}: {tally:?}"));
    assert!(tally["E_WIRE_ERROR"] > 0, "{tally:?}");
    // Without recordings, only one protocol has streams to start from.
    let has_corpus = corpus.len() > SEEDS.len() || protocol == Protocol::ChatCompletions;
    assert!(!has_corpus || tally["read"] > 0, "{tally:?}");
}

#[test]
fn random_bytes_of_chat_completions_decode_the_same_for_any_split() {
    random_bytes(Protocol::ChatCompletions);
}

#[test]
fn random_bytes_of_responses_decode_the_same_for_any_split() {
    random_bytes(Protocol::Responses);
}

#[test]
fn random_bytes_of_anthropic_decode_the_same_for_any_split() {
    random_bytes(Protocol::Anthropic);
}

#[test]
fn random_bytes_of_gemini_decode_the_same_for_any_split() {
    random_bytes(Protocol::Gemini);
}

#[test]
fn random_bytes_of_ollama_decode_the_same_for_any_split() {
    random_bytes(Protocol::Ollama);
}

fn run(judge: impl Fn(&mut Rng, &mut Tally) + Sync) -> Tally {
    let seed = number_from("TURNWRIGHT_SEED").unwrap_or(SEED);
    let cases = number_from("TURNWRIGHT_WIRE_CASES").unwrap_or(CASES);
    let judge = &judge;
    let tally = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                scope.spawn(move || {
                    let mut tally = Tally::new();
                    for case in (thread..cases).step_by(THREADS as usize) {
                        let rng = &mut Rng::of_case(seed, case);
                        let judged = AssertUnwindSafe(|| judge(rng, &mut tally));
                        if catch_unwind(judged).is_err() {
                            panic!("TURNWRIGHT_SEED={seed}, case {case}");
                        }
                    }
                    tally
                })
            })
            .collect();
        let mut tally = Tally::new();
        for thread in threads {
            for (what, count) in thread.join().unwrap() {
                *tally.entry(what).or_default() += count;
            }
        }
        tally
    });
    crate::say(format_args!(
        "TURNWRIGHT_SEED={seed} TURNWRIGHT_WIRE_CASES={cases}: {tally:?}"
    ));
    tally
}

fn number_from(variable: &str) -> Option<u64> {
    env::var(variable).ok().map(|text| {
        text.parse()
            .unwrap_or_else(|_| panic!("{variable} is not a number: {text}"))
    })
}

fn judge_bytes(protocol: Protocol, bytes: &[u8], rng: &mut Rng, tally: &mut Tally) {
    let types = [
        None,
        Some("text/event-stream"),
        Some("application/json"),
        Some("text/html"),
    ];
    let content_type = *rng.pick(&types);
    let limit = *rng.pick(&[60, 600, 3_000, 100_000, 100_000, 100_000]);
    let decoder = || {
        protocol
            .decoder(content_type)
            .max_event(limit)
            .max_body(2 * limit)
    };
    let (deltas, ended) = decode_pieces(decoder(), [bytes]);
    let (in_pieces, ended_in_pieces) = decode_pieces(decoder(), rng.cut(bytes));
    let shown = || {
        format!(
            "{content_type:?} {limit} {:?}",
            String::from_utf8_lossy(bytes)
        )
    };
    assert!(
        deltas == in_pieces,
        "{}\n{deltas:?}\n{in_pieces:?}",
        shown()
    );
    let ended_in_pieces = ended_in_pieces.map_err(|error| error.to_string());
    let as_text = ended.clone().map_err(|error| error.to_string());
    assert_eq!(as_text, ended_in_pieces, "{}", shown());

    let mut sizes = deltas.iter().map(size);
    let total: usize = sizes.clone().sum();
    assert!(total <= bytes.len(), "{}", shown());
    assert!(sizes.all(|size| size <= 2 * limit), "{}", shown());
    let done = deltas.iter().filter(|delta| **delta == Delta::Done).count();
    assert!(done <= 1, "{}", shown());
    stays_failed(decoder(), bytes, rng);

    let how = match &ended {
        Ok(_) => "read",
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
    let mut reply = collect(deltas);
    if let Ok(state) = ended {
        reply.state = state;
        if reply.is_complete() {
            *tally.entry("complete".to_owned()).or_default() += 1;
            assert!(has_its_layout(&reply), "{}", shown());
        }
    }
    assert!(protocol.describe(&reply).is_object());
}

/// Returns `true` if the blocks of the layout of a reply have the lengths of its texts.
fn has_its_layout(reply: &Reply) -> bool {
    let Some(parts) = reply.state.get("layout").and_then(Value::as_array) else {
        return true;
    };
    let sum = |name: &str| {
        let blocks = parts.iter().filter_map(|part| part[name]["bytes"].as_u64());
        blocks.sum::<u64>() as usize
    };
    let calls = parts.iter().filter(|part| **part == "call").count();
    sum("text") == reply.text.len() + reply.refusal.len()
        && sum("reasoning") == reply.reasoning.len()
        && calls == reply.tool_calls.len()
}

fn message_of(ended: &Result<(), Error>) -> Option<String> {
    ended.as_ref().err().map(ToString::to_string)
}

/// After an error, every call returns that error and no output.
fn stays_failed(mut decoder: Decoder, bytes: &[u8], rng: &mut Rng) {
    let mut deltas = Vec::new();
    let mut failed: Option<String> = None;
    let mut count = 0;
    for piece in rng.cut(bytes).into_iter().chain(SEEDS.map(str::as_bytes)) {
        let pushed = message_of(&decoder.push(piece, &mut deltas));
        if failed.is_some() {
            assert_eq!(pushed, failed);
            assert_eq!(deltas.len(), count);
        }
        failed = pushed;
        count = deltas.len();
    }
    let ended = message_of(&decoder.finish(&mut deltas));
    if failed.is_some() {
        assert_eq!(ended, failed);
        assert_eq!(deltas.len(), count);
    }
}

/// Returns the size of a delta's text; 0 for raw values.
fn size(delta: &Delta) -> usize {
    match delta {
        Delta::Id(text) | Delta::Model(text) | Delta::Text(text) => text.len(),
        Delta::Reasoning(text) | Delta::Refusal(text) => text.len(),
        Delta::Finish { reason, .. } => reason.len(),
        Delta::Call {
            id,
            name,
            arguments,
            ..
        } => {
            let of = |text: &Option<String>| text.as_ref().map_or(0, String::len);
            of(id) + of(name) + arguments.len()
        }
        _ => 0,
    }
}

/// Returns a broken stream, or random bytes.
fn bytes(corpus: &[Vec<u8>], rng: &mut Rng) -> Vec<u8> {
    if rng.chance(5) {
        let length = rng.below(400);
        return (0..length).map(|_| rng.next() as u8).collect();
    }
    if rng.chance(10) {
        let count = rng.below(40);
        let tokens = (0..count).map(|_| *rng.pick(&TOKENS));
        return tokens.collect::<String>().into_bytes();
    }
    let mut bytes = rng.pick(corpus).clone();
    for _ in 0..rng.below(4) {
        mutate(&mut bytes, corpus, rng);
    }
    bytes
}

fn mutate(bytes: &mut Vec<u8>, corpus: &[Vec<u8>], rng: &mut Rng) {
    let at = rng.below(bytes.len() + 1);
    let to = (at + 1 + rng.below(200)).min(bytes.len());
    match rng.below(6) {
        0 if at < bytes.len() => bytes[at] ^= 1 << rng.below(8),
        1 => bytes.truncate(at),
        2 => {
            bytes.drain(at..to);
        }
        3 => {
            let again = bytes[at..to].to_vec();
            bytes.splice(at..at, again);
        }
        4 => {
            let other = rng.pick(corpus);
            let from = rng.below(other.len());
            let until = (from + 1 + rng.below(600)).min(other.len());
            bytes.splice(at..to, other[from..until].iter().copied());
        }
        _ => {
            bytes.splice(at..at, rng.pick(&TOKENS).bytes());
        }
    }
}
