//! Random replies, written with the quirks of many servers, are decoded to the original.

use proptest::prelude::*;
use serde_json::{Value, json};
use turnwright_models::Protocol;
use turnwright_models::decode::Reply;

use crate::rng::Rng;
use crate::wire::{collect, decode_pieces};

#[derive(Clone, Debug)]
struct ReplyParts {
    text: String,
    reasoning: String,
    refusal: String,
    /// Names and arguments.
    calls: Vec<(String, String)>,
    finish_reason: Option<String>,
    usage: Option<(u32, u32, Option<u32>)>,
}

/// How a server writes responses.
#[derive(Clone, Copy, Debug)]
struct ServerStyle {
    ending: &'static str,
    mark: bool,
    comments: bool,
    named_events: bool,
    last_blank_line: bool,
    done: bool,
    /// `reasoning_content`, `reasoning`, or both.
    reasoning: usize,
    content_parts: bool,
    calls: Calls,
    usage_apart: bool,
    content_type: Option<&'static str>,
    /// The seed for splitting texts and bytes.
    seed: u64,
}

/// How a server marks the fragments of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Calls {
    /// By index, with the id and the name in the first fragment; fragments of several calls are interleaved.
    Index,
    /// By index, without ids.
    IndexAlone,
    /// By index, with the id and the name in every fragment.
    IndexRepeated,
    /// By an id in every fragment; fragments of several calls are interleaved.
    Id,
    /// By an id in the first fragment.
    FirstId,
    /// By a name in the first fragment.
    Name,
    /// Every call has the same index.
    SameIndex,
    /// Complete calls.
    Complete,
    /// Complete calls, with objects as arguments.
    Objects,
}

const CALLS: [Calls; 9] = [
    Calls::Index,
    Calls::IndexAlone,
    Calls::IndexRepeated,
    Calls::Id,
    Calls::FirstId,
    Calls::Name,
    Calls::SameIndex,
    Calls::Complete,
    Calls::Objects,
];

fn reply_parts() -> impl Strategy<Value = ReplyParts> {
    let text = || {
        prop_oneof![
            Just(String::new()),
            "\\PC{0,30}",
            "[\\n\\r\\t\"\\\\a:{]{0,20}"
        ]
    };
    let arguments = prop_oneof![
        Just("{}".to_owned()),
        "\\PC{0,8}".prop_map(|text| json!({ "x": text, "y": [1, { "z": "}\"" }] }).to_string()),
    ];
    let calls = prop::collection::vec(("[a-z]{1,8}", arguments), 0..4);
    let reasons = ["stop", "tool_calls", "length", "content_filter"].map(str::to_owned);
    let reason = prop::option::weighted(0.9, prop::sample::select(reasons.to_vec()));
    let usage = prop::option::of((any::<u32>(), any::<u32>(), any::<Option<u32>>()));
    (text(), text(), text(), calls, reason, usage).prop_map(
        |(text, reasoning, refusal, calls, finish_reason, usage)| ReplyParts {
            text,
            reasoning,
            refusal,
            calls,
            finish_reason,
            usage,
        },
    )
}

fn style() -> impl Strategy<Value = ServerStyle> {
    let types = vec![
        None,
        Some("text/event-stream"),
        Some("text/event-stream;charset=UTF-8"),
        Some("application/json"),
        Some("application/octet-stream"),
    ];
    (
        prop::sample::select(vec!["\n", "\r\n", "\r"]),
        any::<[bool; 7]>(),
        0..3_usize,
        prop::sample::select(CALLS.to_vec()),
        prop::sample::select(types),
        any::<u64>(),
    )
        .prop_map(
            |(ending, flags, reasoning, calls, content_type, seed)| ServerStyle {
                ending,
                mark: flags[0],
                comments: flags[1],
                named_events: flags[2],
                last_blank_line: flags[3],
                done: flags[4],
                reasoning,
                content_parts: flags[5],
                calls,
                usage_apart: flags[6],
                content_type,
                seed,
            },
        )
}

/// Splits text into pieces of a few characters.
fn cut(text: &str, rng: &mut Rng) -> Vec<String> {
    let mut pieces = vec![String::new()];
    for c in text.chars() {
        if rng.chance(30) {
            pieces.push(String::new());
        }
        pieces.last_mut().unwrap().push(c);
    }
    pieces
}

fn chunk(delta: Value) -> Value {
    let mut chunk =
        json!({ "id": "x", "model": "m", "choices": [{ "index": 0, "finish_reason": null }] });
    chunk["choices"][0]["delta"] = delta;
    chunk
}

fn usage(reply_parts: &ReplyParts) -> Value {
    let Some((input, output, cached)) = reply_parts.usage else {
        return Value::Null;
    };
    let mut usage = json!({ "prompt_tokens": input, "completion_tokens": output });
    if let Some(cached) = cached {
        usage["prompt_tokens_details"] = json!({ "cached_tokens": cached });
    }
    usage
}

fn calls(reply_parts: &ReplyParts, style: ServerStyle, rng: &mut Rng) -> Vec<Value> {
    let id = |call: usize| format!("call_{call}");
    if let Calls::Complete | Calls::Objects = style.calls {
        let calls = reply_parts.calls.iter().enumerate();
        let calls: Vec<Value> = calls
            .map(|(call, (name, arguments))| {
                let arguments = match style.calls {
                    Calls::Objects => serde_json::from_str(arguments).unwrap(),
                    _ => json!(arguments),
                };
                json!({ "id": id(call), "function": { "name": name, "arguments": arguments } })
            })
            .collect();
        return if calls.is_empty() {
            Vec::new()
        } else {
            vec![json!({ "tool_calls": calls })]
        };
    }
    let mut of_calls: Vec<Vec<Value>> = Vec::new();
    for (call, (name, arguments)) in reply_parts.calls.iter().enumerate() {
        let pieces = cut(arguments, rng).into_iter().enumerate();
        let pieces = pieces.map(|(place, arguments)| {
            let mut piece = json!({ "function": { "arguments": arguments } });
            let first = place == 0;
            use Calls::{FirstId, Id, Index, IndexAlone, IndexRepeated, SameIndex};
            if let Index | IndexAlone | IndexRepeated = style.calls {
                piece["index"] = json!(call);
            }
            if style.calls == SameIndex {
                piece["index"] = json!(0);
            }
            let marks_first = matches!(style.calls, Index | FirstId | SameIndex);
            if matches!(style.calls, IndexRepeated | Id) || first && marks_first {
                piece["id"] = json!(id(call));
            }
            if first || style.calls == IndexRepeated {
                piece["function"]["name"] = json!(name);
            }
            piece
        });
        of_calls.push(pieces.collect());
    }
    let mixes = [
        Calls::Index,
        Calls::IndexAlone,
        Calls::IndexRepeated,
        Calls::Id,
    ];
    let mut mixed: Vec<Value> = Vec::new();
    if mixes.contains(&style.calls) {
        // Calls start in order, and continue in any order.
        mixed.extend(of_calls.iter_mut().map(|pieces| pieces.remove(0)));
        while of_calls.iter().any(|pieces| !pieces.is_empty()) {
            let pieces = rng.below(of_calls.len());
            if !of_calls[pieces].is_empty() {
                mixed.push(of_calls[pieces].remove(0));
            }
        }
    } else {
        mixed.extend(of_calls.into_iter().flatten());
    }
    let pieces = mixed.into_iter();
    pieces
        .map(|piece| json!({ "tool_calls": [piece] }))
        .collect()
}

fn written(reply_parts: &ReplyParts, style: ServerStyle) -> Vec<u8> {
    let mut rng = Rng::of_case(style.seed, 0);
    let mut chunks = Vec::new();
    for text in cut(&reply_parts.reasoning, &mut rng) {
        let mut delta = json!({ "content": null });
        if style.reasoning != 0 {
            delta["reasoning"] = json!(text);
        }
        if style.reasoning != 1 {
            delta["reasoning_content"] = json!(text);
        }
        chunks.push(chunk(delta));
    }
    for text in cut(&reply_parts.text, &mut rng) {
        let content = if style.content_parts {
            json!([{ "type": "text", "text": text }])
        } else {
            json!(text)
        };
        chunks.push(chunk(json!({ "content": content })));
    }
    let refusal = cut(&reply_parts.refusal, &mut rng);
    chunks.extend(
        refusal
            .into_iter()
            .map(|text| chunk(json!({ "refusal": text }))),
    );
    let calls = calls(reply_parts, style, &mut rng);
    chunks.extend(calls.into_iter().map(chunk));
    let mut last = chunk(json!({}));
    last["choices"][0]["finish_reason"] = json!(reply_parts.finish_reason);
    if style.usage_apart {
        chunks.push(last);
        chunks.push(json!({ "choices": [], "usage": usage(reply_parts) }));
    } else {
        last["usage"] = usage(reply_parts);
        chunks.push(last);
    }

    let mut text = String::new();
    if style.mark {
        text.push('\u{FEFF}');
    }
    let end = style.ending;
    for chunk in &chunks {
        if style.comments && rng.chance(30) {
            text.push_str(&format!(": still there{end}{end}"));
        }
        if style.named_events {
            text.push_str(&format!("event: message{end}"));
        }
        let space = if rng.chance(50) { " " } else { "" };
        text.push_str(&format!("data:{space}{chunk}{end}{end}"));
    }
    if style.done {
        text.push_str(&format!("data: [DONE]{end}{end}"));
    }
    if !style.last_blank_line {
        text.truncate(text.len() - 2 * end.len());
    }
    text.into_bytes()
}

/// Returns the same reply as a body that is not streamed.
fn body(reply_parts: &ReplyParts) -> Vec<u8> {
    let calls = reply_parts.calls.iter().enumerate();
    let calls = calls.map(|(call, (name, arguments))| {
        json!({ "id": format!("call_{call}"), "function": { "name": name, "arguments": arguments } })
    });
    let message = json!({
        "content": reply_parts.text,
        "reasoning_content": reply_parts.reasoning,
        "refusal": reply_parts.refusal,
        "tool_calls": calls.collect::<Vec<_>>(),
    });
    let choice = json!({ "message": message, "finish_reason": reply_parts.finish_reason });
    let body = json!({ "choices": [choice], "usage": usage(reply_parts) });
    serde_json::to_vec_pretty(&body).unwrap()
}

/// Returns the expected result.
fn expected(reply_parts: &ReplyParts, with_ids: bool) -> Value {
    let calls = reply_parts.calls.iter().enumerate();
    let calls = calls.map(|(call, (name, arguments))| {
        let id = if with_ids {
            format!("call_{call}")
        } else {
            String::new()
        };
        json!({ "id": id, "name": name, "arguments": arguments })
    });
    let usage = reply_parts.usage.map(
        |(input, output, cached)| json!({ "input": input, "output": output, "cached": cached }),
    );
    json!({
        "text": reply_parts.text,
        "reasoning": reply_parts.reasoning,
        "refusal": reply_parts.refusal,
        "tool_calls": calls.collect::<Vec<_>>(),
        "finish_reason": reply_parts.finish_reason,
        "usage": usage,
    })
}

fn read(content_type: Option<&str>, bytes: &[u8], rng: &mut Rng) -> Reply {
    let (deltas, ended) = decode_pieces(
        Protocol::ChatCompletions.decoder(content_type),
        rng.cut(bytes),
    );
    ended.unwrap();
    collect(deltas)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn reply_is_decoded_for_all_server_quirks(reply_parts in reply_parts(), style in style()) {
        let mut rng = Rng::of_case(style.seed, 1);
        let bytes = written(&reply_parts, style);
        let reply = read(style.content_type, &bytes, &mut rng);
        let with_ids = !matches!(style.calls, Calls::IndexAlone | Calls::Name);
        prop_assert_eq!(Protocol::ChatCompletions.describe(&reply), expected(&reply_parts, with_ids), "{}", String::from_utf8_lossy(&bytes));
        prop_assert_eq!(reply.done, style.done);
        let complete = matches!(reply_parts.finish_reason.as_deref(), Some("stop" | "tool_calls"));
        prop_assert_eq!(reply.is_complete(), complete);
        let reply = read(style.content_type, &body(&reply_parts), &mut rng);
        prop_assert_eq!(Protocol::ChatCompletions.describe(&reply), expected(&reply_parts, true));
        prop_assert!(reply.done);
    }
}
