use serde_json::{Value, json};

use super::{body, delta, finish, streamed};

fn usage(usage: &Value) -> (u64, u64, Option<u64>, u64) {
    let reply = body(&json!({ "choices": [], "usage": usage }));
    let usage = reply.usage.unwrap();
    assert_eq!(usage.requests, 1);
    (
        usage.input_tokens,
        usage.output_tokens,
        reply.reported_usage.unwrap().cached,
        usage.reasoning_tokens,
    )
}

#[test]
fn usage_in_a_separate_chunk_is_read() {
    let reply = streamed(&[
        delta(json!({ "content": "a" })),
        finish("stop"),
        json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": 1 } }),
    ]);
    let usage = reply.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (3, 1));
    assert!(reply.is_complete());
}

#[test]
fn last_usage_wins() {
    let chunk = |output: u64| json!({ "choices": [], "usage": { "prompt_tokens": 3, "completion_tokens": output } });
    let reply = streamed(&[
        chunk(1),
        chunk(2),
        json!({ "choices": [], "usage": null }),
        chunk(5),
    ]);
    assert_eq!(reply.usage.unwrap().output_tokens, 5);
    assert_eq!(reply.usage.unwrap().requests, 1);
}

#[test]
fn usage_in_x_groq_is_read() {
    let reply = streamed(&[
        json!({ "choices": [], "x_groq": { "id": "a", "usage": { "prompt_tokens": 3, "completion_tokens": 1 } } }),
        json!({ "choices": [], "x_groq": { "id": "a" } }),
    ]);
    assert_eq!(reply.usage.unwrap().total_tokens(), 4);
}

#[test]
fn cached_tokens_are_read_under_all_names() {
    let with = |name: &str, value: Value| {
        let mut counts = json!({ "prompt_tokens": 10, "completion_tokens": 1 });
        counts[name] = value;
        usage(&counts).2
    };
    assert_eq!(
        with("prompt_tokens_details", json!({ "cached_tokens": 7 })),
        Some(7)
    );
    assert_eq!(
        with("prompt_tokens_details", json!({ "cached_tokens": 0 })),
        Some(0)
    );
    assert_eq!(
        with("prompt_tokens_details", json!({ "cached_tokens": null })),
        None
    );
    assert_eq!(with("prompt_tokens_details", json!(null)), None);
    assert_eq!(with("prompt_cache_hit_tokens", json!(7)), Some(7));
    assert_eq!(with("cache_read_input_tokens", json!(7)), Some(7));
    assert_eq!(with("cached_tokens", json!(7)), Some(7));
    assert_eq!(with("other", json!(7)), None);
}

#[test]
fn reasoning_tokens_are_read_from_details_or_top_level() {
    let details = json!({ "prompt_tokens": 1, "completion_tokens": 5, "completion_tokens_details": { "reasoning_tokens": 4 } });
    assert_eq!(usage(&details).3, 4);
    let separate = json!({ "prompt_tokens": 1, "completion_tokens": 5, "reasoning_tokens": 4 });
    assert_eq!(usage(&separate).3, 4);
}

#[test]
fn invalid_usage_numbers_are_tolerated() {
    let count = |number: &str| {
        let text = format!(
            r#"{{"choices":[],"usage":{{"prompt_tokens":{number},"completion_tokens":1}}}}"#
        );
        let reply = super::decode(None, text.as_bytes()).unwrap();
        reply.usage.unwrap().input_tokens
    };
    assert_eq!(count("12.0"), 12);
    assert_eq!(count("12.9"), 12);
    assert_eq!(count("\"12\""), 12);
    assert_eq!(count("-5"), 0);
    assert_eq!(count("1e3"), 1_000);
    assert_eq!(count("1e300"), u64::MAX);
    assert_eq!(count("99999999999999999999999"), u64::MAX);
    assert_eq!(count("-1e300"), 0);
    assert_eq!(count("null"), 0);
    assert_eq!(count("\"NaN\""), 0);
    assert_eq!(count("{\"a\":1}"), 0);
}

#[test]
fn unreadable_usage_is_none() {
    for usage in [
        json!({}),
        json!([]),
        json!("free"),
        json!(0),
        json!({ "cost": 1 }),
    ] {
        let reply =
            body(&json!({ "choices": [{ "message": { "content": "a" } }], "usage": usage }));
        assert_eq!(reply.usage, None);
        assert_eq!(reply.text, "a");
    }
}

#[test]
fn reply_to_value_has_the_common_fields() {
    let reply = body(&json!({ "choices": [{ "message": { "content": "a" } }] }));
    let empty = json!({ "text": "a", "reasoning": "", "refusal": "", "tool_calls": [], "finish_reason": null, "usage": null });
    assert_eq!(crate::Protocol::ChatCompletions.describe(&reply), empty);
    let reply = body(&json!({
        "choices": [{ "message": { "tool_calls": [{ "function": { "name": "f", "arguments": {} } }] }, "finish_reason": "stop" }],
        "usage": { "prompt_tokens": 2, "completion_tokens": 1 },
    }));
    let full = json!({
        "text": "", "reasoning": "", "refusal": "",
        "tool_calls": [{ "id": "", "name": "f", "arguments": "{}" }],
        "finish_reason": "stop",
        "usage": { "input": 2, "output": 1, "cached": null },
    });
    assert_eq!(crate::Protocol::ChatCompletions.describe(&reply), full);
}
