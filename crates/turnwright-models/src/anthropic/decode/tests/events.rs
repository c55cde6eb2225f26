use serde_json::json;
use turnwright_core::{ErrorCode, ErrorKind};

use super::{body, decode, delta, reply, start, stop, with_end};
use crate::Protocol;
use crate::decode::{Cut, Finish};

#[test]
fn later_usage_replaces_earlier_usage() {
    let message = json!({ "usage": { "input_tokens": 10, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7, "output_tokens": 1 } });
    let events = [
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "message_delta", "delta": {}, "usage": { "input_tokens": 12, "output_tokens": 30, "output_tokens_details": { "thinking_tokens": 20 } } }),
    ];
    let usage = reply(&events).usage.unwrap();
    assert_eq!((usage.input_tokens, usage.cached_input_tokens), (119, 100));
    assert_eq!((usage.output_tokens, usage.reasoning_tokens), (30, 20));
    // Counts can be any JSON.
    let events = [
        json!({ "type": "message_start", "message": { "usage": { "input_tokens": u64::MAX, "cache_read_input_tokens": "9", "output_tokens": [] } } }),
    ];
    assert_eq!(reply(&events).usage.unwrap().input_tokens, u64::MAX);
}

#[test]
fn stop_reasons_are_classified() {
    let cases = [
        ("end_turn", Finish::Stop),
        ("stop_sequence", Finish::Stop),
        ("tool_use", Finish::ToolCalls),
        ("pause_turn", Finish::Paused),
        ("refusal", Finish::Declined),
        ("max_tokens", Finish::Cut(Cut::Length)),
        ("model_context_window_exceeded", Finish::Cut(Cut::Length)),
        ("something_new", Finish::Unknown),
    ];
    for (reason, finish) in cases {
        let reply = with_end(vec![], reason);
        assert_eq!(
            (reply.finish, reply.finish_reason.as_deref()),
            (Some(finish), Some(reason))
        );
    }
}

#[test]
fn refusal_and_stop_sequence_come_with_the_stop_reason() {
    let details = json!({ "type": "refusal", "category": "cyber", "explanation": "No." });
    let message = json!({ "content": [], "stop_reason": "refusal", "stop_details": details });
    assert_eq!(body(&message).unwrap().refusal, "No.");
    let message = json!({ "content": [], "stop_reason": "stop_sequence", "stop_sequence": "###" });
    let reply = body(&message).unwrap();
    assert_eq!(Protocol::Anthropic.describe(&reply)["stop_sequence"], "###");
    assert!(reply.is_complete() && reply.text.is_empty() && reply.state.is_empty());
}

#[test]
fn container_of_provider_tools_is_state() {
    let message =
        json!({ "content": [], "stop_reason": "end_turn", "container": { "id": "container_1" } });
    assert_eq!(body(&message).unwrap().state["container"], "container_1");
}

#[test]
fn error_events_are_classified() {
    let cases = [
        ("overloaded_error", ErrorKind::Unavailable),
        ("api_error", ErrorKind::Unavailable),
        ("rate_limit_error", ErrorKind::RateLimited),
        ("timeout_error", ErrorKind::Timeout),
        ("authentication_error", ErrorKind::Denied),
        ("permission_error", ErrorKind::Denied),
        ("billing_error", ErrorKind::Denied),
        ("not_found_error", ErrorKind::NotFound),
        ("invalid_request_error", ErrorKind::InvalidArguments),
    ];
    for (kind, expected) in cases {
        let event = json!({ "type": "error", "error": { "type": kind, "message": "Sorry." } });
        let body_error = body(&event).unwrap_err();
        let event_error =
            decode(&[start(0, json!({ "type": "text", "text": "a" })), event]).unwrap_err();
        for error in [body_error, event_error] {
            assert_eq!(
                (error.code(), error.kind()),
                (ErrorCode::MODEL_SERVER_ERROR, expected),
                "{kind}"
            );
            assert!(error.message().ends_with("Sorry."), "{error}");
        }
    }
}

#[test]
fn unknown_events_and_fields_are_ignored() {
    let reply = with_end(
        vec![
            json!({ "type": "new_event", "index": 5, "delta": { "text": "no" } }),
            delta(7, json!({ "type": "new_delta", "more": [1] })),
            delta(
                7,
                json!({ "type": "input_json_delta", "partial_json": "{}" }),
            ),
            start(0, json!({ "type": "text", "text": "a", "new_field": null })),
            delta(0, json!({ "type": "new_delta", "thinking": "no" })),
            stop(9),
            start(1, json!("no block")),
        ],
        "end_turn",
    );
    assert_eq!((reply.text.as_str(), reply.reasoning.as_str()), ("a", ""));
}

#[test]
fn type_of_an_event_may_be_only_in_its_name() {
    let text = "event: content_block_delta\ndata: {\"index\":0,\"delta\":{\"text\":\"Hi\"}}\n\nevent: message_stop\ndata: {}\n\n";
    let reply = Protocol::Anthropic.decode(None, text.as_bytes()).unwrap();
    assert!(reply.done && reply.text == "Hi");
}

#[test]
fn truncated_stream_is_not_complete() {
    let events = [
        start(
            0,
            json!({ "type": "thinking", "thinking": "Hm", "signature": "" }),
        ),
        start(
            1,
            json!({ "type": "tool_use", "id": "a", "name": "t", "input": {} }),
        ),
    ];
    let reply = reply(&events);
    assert!(!reply.is_complete() && !reply.done);
    assert_eq!(reply.tool_calls[0].arguments, "");
}

#[test]
fn fields_of_the_wrong_type_are_errors_or_ignored() {
    for event in [
        delta(0, json!({ "type": "text_delta", "text": ["a"] })),
        json!({ "type": "content_block_delta", "index": 0, "delta": "text" }),
        json!({ "type": "message_delta", "delta": { "stop_reason": {} } }),
        json!({ "type": "message_start", "message": { "content": "text" } }),
    ] {
        assert_eq!(decode(&[event]).unwrap_err().code(), ErrorCode::WIRE_ERROR);
    }
    let reply = reply(&[
        start(0, json!({ "type": "text", "text": 5 })),
        start(
            1,
            json!({ "type": "tool_use", "id": 1, "name": null, "input": [] }),
        ),
    ]);
    assert_eq!((reply.text.as_str(), reply.tool_calls.len()), ("", 1));
}

#[test]
fn responses_of_other_protocols_are_named() {
    let cases = [
        (json!({ "choices": [] }), "Chat Completions"),
        (
            json!({ "object": "response", "output": [] }),
            "OpenAI Responses",
        ),
        (json!({ "candidates": [] }), "Gemini"),
        (
            json!({ "message": { "role": "assistant" }, "done": true }),
            "Ollama",
        ),
    ];
    for (other, name) in cases {
        let error = body(&other).unwrap_err();
        assert!(
            error.message().contains(&format!("this looks like {name}")),
            "{error}"
        );
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let text = format!("data: {other}\n\n");
        let error = Protocol::Anthropic
            .decode(None, text.as_bytes())
            .unwrap_err();
        assert!(error.message().contains(name), "{error}");
    }
    let error = body(&json!({ "status": "ok" })).unwrap_err();
    assert!(error.message().contains("base URL"), "{error}");
}
