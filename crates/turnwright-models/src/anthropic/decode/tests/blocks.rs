use serde_json::{Value, json};
use turnwright_core::{ErrorCode, ErrorKind};

use super::{body, decode, delta, end, layout, reply, start, stop, with_end};
use crate::Protocol;
use crate::decode::{Cut, Finish};

#[test]
fn text_arrives_in_the_start_and_in_deltas() {
    let reply = with_end(
        vec![
            json!({ "type": "message_start", "message": { "id": "msg_1", "model": "claude" } }),
            start(0, json!({ "type": "text", "text": "Hel" })),
            json!({ "type": "ping" }),
            delta(0, json!({ "type": "text_delta", "text": "lo" })),
            stop(0),
        ],
        "end_turn",
    );
    assert_eq!(
        (
            reply.text.as_str(),
            reply.id.as_deref(),
            reply.model.as_deref()
        ),
        ("Hello", Some("msg_1"), Some("claude"))
    );
    assert!(reply.is_complete() && reply.done);
    // One block of text without anything attached needs no state.
    assert!(reply.state.is_empty());
}

#[test]
fn call_without_pieces_of_input_has_the_input_of_its_start() {
    let call = |id: &str, input: Value| json!({ "type": "tool_use", "id": id, "name": "t", "input": input, "caller": { "type": "direct" } });
    let reply = with_end(
        vec![
            start(0, call("a", json!({}))),
            delta(0, json!({ "type": "input_json_delta", "partial_json": "" })),
            stop(0),
            start(1, call("b", json!({ "x": 1 }))),
            stop(1),
            start(2, call("c", json!({}))),
            delta(
                2,
                json!({ "type": "input_json_delta", "partial_json": "{\"y\":" }),
            ),
            delta(
                2,
                json!({ "type": "input_json_delta", "partial_json": "2}" }),
            ),
            stop(2),
            start(3, call("d", Value::Null)),
            stop(3),
        ],
        "tool_use",
    );
    let calls: Vec<_> = reply
        .tool_calls
        .iter()
        .map(|call| {
            (
                call.id.as_deref().unwrap(),
                call.arguments.as_str(),
                call.extra.is_some(),
            )
        })
        .collect();
    assert_eq!(
        calls,
        [
            ("a", "{}", false),
            ("b", "{\"x\":1}", false),
            ("c", "{\"y\":2}", false),
            ("d", "{}", false)
        ]
    );
    assert_eq!(reply.finish, Some(Finish::ToolCalls));
}

#[test]
fn caller_of_a_call_is_kept_unless_it_is_the_model() {
    let caller = json!({ "type": "code_execution_20260120", "tool_id": "srvtoolu_1" });
    let call = json!({ "type": "tool_use", "id": "a", "name": "t", "input": {}, "caller": caller });
    let message = json!({ "type": "message", "content": [call], "stop_reason": "tool_use" });
    let reply = body(&message).unwrap();
    assert_eq!(
        reply.tool_calls[0].extra.as_ref().unwrap()["caller"],
        caller
    );
}

#[test]
fn cut_off_arguments_are_kept_as_they_are() {
    let reply = with_end(
        vec![
            start(
                0,
                json!({ "type": "tool_use", "id": "a", "name": "t", "input": {} }),
            ),
            delta(
                0,
                json!({ "type": "input_json_delta", "partial_json": "{\"x\": \"y" }),
            ),
            stop(0),
        ],
        "max_tokens",
    );
    assert_eq!(reply.tool_calls[0].arguments, "{\"x\": \"y");
    assert_eq!(reply.cut(), Some(Cut::Length));
    assert!(!reply.is_complete());
}

#[test]
fn thinking_has_a_layout_with_its_signatures() {
    let reply = with_end(
        vec![
            start(
                0,
                json!({ "type": "thinking", "thinking": "", "signature": "" }),
            ),
            delta(0, json!({ "type": "thinking_delta", "thinking": "Hm." })),
            delta(0, json!({ "type": "signature_delta", "signature": "c2ln" })),
            stop(0),
            start(1, json!({ "type": "redacted_thinking", "data": "eHh4" })),
            stop(1),
            start(
                2,
                json!({ "type": "thinking", "thinking": "", "signature": "ZW1w" }),
            ),
            stop(2),
            start(3, json!({ "type": "text", "text": "" })),
            stop(3),
            start(4, json!({ "type": "text", "text": "Yes." })),
            stop(4),
        ],
        "end_turn",
    );
    assert_eq!(
        (reply.reasoning.as_str(), reply.text.as_str()),
        ("Hm.", "Yes.")
    );
    let expected = json!([
        { "reasoning": { "bytes": 3, "fields": { "signature": "c2ln" } } },
        { "raw": { "type": "redacted_thinking", "data": "eHh4" } },
        { "reasoning": { "bytes": 0, "fields": { "signature": "ZW1w" } } },
        { "text": { "bytes": 4 } },
    ]);
    assert_eq!(*layout(&reply), expected);
}

#[test]
fn citations_belong_to_their_block() {
    let citation = |page: u64| json!({ "type": "page_location", "start_page_number": page });
    let reply = with_end(
        vec![
            start(0, json!({ "type": "text", "text": "", "citations": [] })),
            delta(
                0,
                json!({ "type": "citations_delta", "citation": citation(1) }),
            ),
            delta(0, json!({ "type": "text_delta", "text": "One" })),
            delta(
                0,
                json!({ "type": "citations_delta", "citation": citation(2) }),
            ),
            stop(0),
            start(1, json!({ "type": "text", "text": ", two" })),
            stop(1),
        ],
        "end_turn",
    );
    let expected = json!([
        { "text": { "bytes": 3, "fields": { "citations": [citation(1), citation(2)] } } },
        { "text": { "bytes": 5 } },
    ]);
    assert_eq!(*layout(&reply), expected);
    assert_eq!(
        Protocol::Anthropic.describe(&reply)["other"],
        json!(["citation:page_location", "citation:page_location"])
    );
}

#[test]
fn blocks_of_provider_tools_are_kept_with_their_streamed_input() {
    let result = json!({ "type": "web_search_tool_result", "tool_use_id": "s", "content": [{ "encrypted_content": "ZW5j" }] });
    let reply = with_end(
        vec![
            start(
                0,
                json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} }),
            ),
            delta(
                0,
                json!({ "type": "input_json_delta", "partial_json": "{\"query\":" }),
            ),
            delta(
                0,
                json!({ "type": "input_json_delta", "partial_json": "\"x\"}" }),
            ),
            stop(0),
            start(1, result.clone()),
            stop(1),
            start(2, json!({ "type": "compaction", "content": null })),
            delta(2, json!({ "type": "compaction_delta", "content": "So " })),
            delta(2, json!({ "type": "compaction_delta", "content": "far." })),
            stop(2),
        ],
        "pause_turn",
    );
    let expected = json!([
        { "raw": { "type": "server_tool_use", "id": "s", "name": "web_search", "input": { "query": "x" } } },
        { "raw": result },
        { "raw": { "type": "compaction", "content": "So far." } },
    ]);
    assert_eq!(*layout(&reply), expected);
    assert!(reply.tool_calls.is_empty());
    assert_eq!(reply.finish, Some(Finish::Paused));
    assert_eq!(
        Protocol::Anthropic.describe(&reply)["state"],
        json!(["ZW5j"])
    );
}

#[test]
fn incomplete_blocks_of_provider_tools_are_not_sent_back() {
    let events = [
        start(0, json!({ "type": "text", "text": "a" })),
        stop(0),
        start(
            1,
            json!({ "type": "server_tool_use", "id": "s", "name": "web_search", "input": {} }),
        ),
        delta(
            1,
            json!({ "type": "input_json_delta", "partial_json": "{\"query\":" }),
        ),
    ];
    let cut = with_end(events.to_vec(), "max_tokens");
    assert_eq!(*layout(&cut), Value::Null);
    assert_eq!(*layout(&reply(&events)), Value::Null);
}

#[test]
fn interleaved_text_has_no_layout() {
    let reply = with_end(
        vec![
            start(0, json!({ "type": "text", "text": "a" })),
            start(1, json!({ "type": "text", "text": "b" })),
            delta(0, json!({ "type": "text_delta", "text": "c" })),
        ],
        "end_turn",
    );
    assert_eq!(reply.text, "abc");
    assert_eq!(*layout(&reply), Value::Null);
}

#[test]
fn huge_indexes_and_many_blocks_are_bounded() {
    let far = with_end(
        vec![start(u64::MAX, json!({ "type": "text", "text": "a" }))],
        "end_turn",
    );
    assert_eq!(far.text, "a");
    let many = |count: u64, block: Value| {
        let events: Vec<Value> = (0..count)
            .map(|index| start(index, block.clone()))
            .collect();
        decode(&events)
    };
    let call = json!({ "type": "tool_use", "id": "a", "name": "t", "input": {} });
    assert_eq!(many(1_000, call.clone()).unwrap().tool_calls.len(), 1_000);
    let error = many(1_001, call).unwrap_err();
    assert_eq!(
        (error.code(), error.kind()),
        (ErrorCode::WIRE_ERROR, ErrorKind::Internal)
    );
    assert!(error.message().contains("1000 calls"), "{error}");
    let error = many(10_001, json!({ "type": "text", "text": "a" })).unwrap_err();
    assert!(error.message().contains("10000 blocks"), "{error}");
}

#[test]
fn call_without_its_end_is_never_complete() {
    let call = || {
        start(
            0,
            json!({ "type": "tool_use", "id": "c", "name": "f", "input": {} }),
        )
    };
    let input = || {
        delta(
            0,
            json!({ "type": "input_json_delta", "partial_json": "{}" }),
        )
    };
    let [reason, done] = end("tool_use");
    let complete = [call(), input(), stop(0), reason.clone(), done.clone()];
    assert!(reply(&complete).is_complete());
    for events in [
        vec![call(), reason.clone(), done.clone()],
        vec![call(), input(), reason.clone(), done.clone()],
        // Opened after the stop reason.
        vec![reason.clone(), call(), done.clone()],
        vec![reason.clone(), call(), input(), done.clone()],
        vec![reason.clone(), call()],
        vec![reason.clone(), call(), stop(0), done.clone()],
        vec![reason.clone(), call(), input(), stop(0), done.clone()],
        // Another block in its place, or two calls of which one ends.
        vec![call(), call(), stop(0), reason.clone(), done.clone()],
        vec![call(), input(), reason, stop(0), done],
    ] {
        let reply = reply(&events);
        assert!(!reply.is_complete(), "{events:?}");
        assert_eq!(reply.finish_reason.as_deref(), Some("tool_use"));
    }
}

#[test]
fn results_of_provider_tools_are_content_of_third_parties() {
    use turnwright_core::trust::TrustTier::{ThirdPartyPrivate, ThirdPartyPublic};
    let tiers = |kind: &str| {
        let reply = with_end(vec![start(0, json!({ "type": kind })), stop(0)], "end_turn");
        reply.provider_content.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(tiers("web_search_tool_result"), [ThirdPartyPublic]);
    assert_eq!(tiers("web_fetch_tool_result"), [ThirdPartyPublic]);
    assert_eq!(tiers("mcp_tool_result"), [ThirdPartyPrivate]);
    assert_eq!(tiers("code_execution_tool_result"), [ThirdPartyPrivate]);
    for own in ["text", "thinking", "redacted_thinking", "server_tool_use"] {
        assert_eq!(tiers(own), [], "{own}");
    }
}
