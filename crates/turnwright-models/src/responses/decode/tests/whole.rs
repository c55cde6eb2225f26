use serde_json::{Value, json};
use turnwright_core::{ErrorCode, ErrorKind};

use super::{call, decode, delta, error_of, message, stream};
use crate::decode::Finish;

fn body(fields: Value) -> String {
    let mut body = json!({ "id": "r", "model": "m", "status": "completed", "output": [] });
    if let (Value::Object(body), Value::Object(fields)) = (&mut body, fields) {
        body.extend(fields);
    }
    body.to_string()
}

#[test]
fn bodies_decode_like_streams() {
    let usage = json!({
        "input_tokens": 10, "input_tokens_details": { "cached_tokens": 4, "cache_write_tokens": 2 },
        "output_tokens": 5, "output_tokens_details": { "reasoning_tokens": 3 },
    });
    let output = json!([message("m1", "Hi"), call("a", "{}")]);
    let reply = decode(&body(
        json!({ "output": output, "usage": usage, "error": null }),
    ))
    .unwrap();
    assert_eq!(
        (reply.text.as_str(), reply.finish),
        ("Hi", Some(Finish::ToolCalls))
    );
    assert_eq!(
        (reply.id.as_deref(), reply.model.as_deref()),
        (Some("r"), Some("m"))
    );
    let usage = reply.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.cached_input_tokens), (10, 4));
    assert_eq!((usage.output_tokens, usage.reasoning_tokens), (5, 3));
    assert_eq!(reply.reported_usage.unwrap().cache_write, Some(2));
    assert!(reply.done && reply.is_complete());
}

#[test]
fn reasoning_may_be_a_string_of_the_response() {
    let reply = decode(&body(
        json!({ "output": [message("m1", "Hi")], "reasoning": "Hm." }),
    ))
    .unwrap();
    assert_eq!(
        (reply.reasoning.as_str(), reply.text.as_str()),
        ("Hm.", "Hi")
    );
    let settings = json!({ "effort": "low" });
    let reply = decode(&body(
        json!({ "output": [message("m1", "Hi")], "reasoning": settings }),
    ))
    .unwrap();
    assert_eq!(reply.reasoning, "");
    // It is not repeated if an item has it.
    let item = json!({ "type": "reasoning", "id": "rs", "content": [{ "type": "reasoning_text", "text": "Hm." }] });
    let reply = decode(&body(json!({ "output": [item], "reasoning": "Hm." }))).unwrap();
    assert_eq!(reply.reasoning, "Hm.");
}

#[test]
fn content_may_be_a_string_and_fields_may_be_missing() {
    let item = json!({ "type": "message", "content": "Hi" });
    let reply = decode(&json!({ "output": [item, null, 5, {}] }).to_string()).unwrap();
    assert_eq!(reply.text, "Hi");
    assert!(reply.done && reply.finish.is_none());
}

#[test]
fn errors_of_servers_are_reported_with_their_kind() {
    let failed = |code: &str| {
        let error = json!({ "code": code, "message": "It broke." });
        json!({ "type": "response.failed", "response": { "status": "failed", "error": error } })
    };
    let cases = [
        (stream(&[failed("server_error")]), ErrorKind::Unavailable),
        (
            stream(&[failed("rate_limit_exceeded")]),
            ErrorKind::RateLimited,
        ),
        (stream(&[failed("invalid_prompt")]), ErrorKind::Internal),
        (stream(&[failed("insufficient_quota")]), ErrorKind::Denied),
        (
            stream(&[json!({ "type": "error", "code": "server_error", "message": "It broke." })]),
            ErrorKind::Unavailable,
        ),
        (
            stream(&[json!({ "type": "error", "error": { "code": 503, "message": "It broke." } })]),
            ErrorKind::Unavailable,
        ),
        (
            stream(&[json!({ "error": { "code": 429, "message": "It broke." } })]),
            ErrorKind::RateLimited,
        ),
        (
            "event: error\ndata: {\"message\":\"It broke.\"}\n\n".to_owned(),
            ErrorKind::Internal,
        ),
        (
            body(
                json!({ "status": "failed", "error": { "code": "server_error", "message": "It broke." } }),
            ),
            ErrorKind::Unavailable,
        ),
        (
            json!({ "code": "x", "error": "It broke." }).to_string(),
            ErrorKind::Internal,
        ),
        (
            json!({ "detail": "It broke." }).to_string(),
            ErrorKind::Internal,
        ),
    ];
    for (text, kind) in cases {
        let error = error_of(&text);
        assert_eq!(
            (error.code(), error.kind()),
            (ErrorCode::MODEL_SERVER_ERROR, kind),
            "{text}"
        );
        assert!(error.message().ends_with("It broke."), "{error}");
    }
    let error = error_of(&stream(&[
        delta("output_text", 0, "Hi"),
        failed("context_length_exceeded"),
    ]));
    assert_eq!(error.code(), ErrorCode::CONTEXT_WINDOW_EXCEEDED);
}

#[test]
fn other_protocols_are_named() {
    let cases = [
        (
            json!({ "choices": [{ "message": {} }] }).to_string(),
            "Chat Completions",
        ),
        (
            "data: {\"choices\":[{\"delta\":{}}]}\n\n".to_owned(),
            "Chat Completions",
        ),
        (
            json!({ "type": "message", "content": [] }).to_string(),
            "Anthropic",
        ),
        (
            "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n"
                .to_owned(),
            "Anthropic",
        ),
        (json!({ "candidates": [] }).to_string(), "Gemini"),
        (
            json!({ "message": { "content": "Hi" }, "done": true }).to_string(),
            "Ollama",
        ),
        (
            "{\"message\":{},\"done\":false}\n{\"message\":{},\"done\":true}\n".to_owned(),
            "Ollama",
        ),
    ];
    for (text, name) in cases {
        let error = error_of(&text);
        assert_eq!(
            (error.code(), error.kind()),
            (ErrorCode::WIRE_ERROR, ErrorKind::NotFound),
            "{text}: {error}"
        );
        assert!(
            error.message().contains(&format!("this looks like {name}")),
            "{error}"
        );
    }
    let error = error_of("{\"hello\":1}");
    assert!(
        error.message().contains("is the base URL right?"),
        "{error}"
    );
    assert!(decode("data: {\"type\":\"ping\"}\n\n").is_ok());
}
