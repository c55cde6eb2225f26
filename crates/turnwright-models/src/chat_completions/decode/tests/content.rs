use serde_json::{Value, json};

use super::super::{DETAILS, FIELD};
use super::{body, delta, finish, message, streamed};
use crate::decode::Cut;

#[test]
fn text_deltas_are_joined() {
    let reply = streamed(&[
        delta(json!({ "role": "assistant", "content": "" })),
        delta(json!({ "content": "Hel" })),
        delta(json!({ "content": null })),
        delta(json!({ "content": "lo \u{1F600}" })),
        finish("stop"),
    ]);
    assert_eq!(reply.text, "Hello \u{1F600}");
    assert_eq!(reply.finish_reason.as_deref(), Some("stop"));
    assert!(reply.done && reply.is_complete());
}

#[test]
fn content_parts_are_joined() {
    let parts = json!([
        { "type": "thinking", "thinking": [{ "type": "text", "text": "Hm" }, { "type": "text", "text": "." }] },
        { "type": "reference", "reference_ids": [1] },
        { "type": "text", "text": "Yes" },
        { "type": "text", "text": "!" },
        { "type": "refusal", "refusal": "No." },
        "?",
        null,
    ]);
    let of_body = body(&message(json!({ "content": parts })));
    for reply in [of_body, streamed(&[delta(json!({ "content": parts }))])] {
        assert_eq!(reply.text, "Yes!?");
        assert_eq!(reply.reasoning, "Hm.");
        assert_eq!(reply.state[FIELD], "thinking");
        assert_eq!(reply.refusal, "No.");
    }
    let one = body(&message(
        json!({ "content": { "type": "text", "text": "Yes" } }),
    ));
    assert_eq!(one.text, "Yes");
}

#[test]
fn reasoning_is_read_from_either_field() {
    let reply = streamed(&[
        delta(json!({ "reasoning_content": "a", "content": null })),
        delta(json!({ "reasoning_content": "b" })),
        delta(json!({ "reasoning_content": "", "content": "c" })),
    ]);
    assert_eq!((reply.reasoning.as_str(), reply.text.as_str()), ("ab", "c"));
    assert_eq!(reply.state[FIELD], "reasoning_content");
    let reply = body(&message(
        json!({ "reasoning": "a", "reasoning_content": null }),
    ));
    assert_eq!(reply.reasoning, "a");
    assert_eq!(reply.state[FIELD], "reasoning");
}

#[test]
fn reasoning_in_several_fields_counts_once() {
    let details = json!([{ "type": "reasoning.text", "text": "a", "index": 0 }]);
    let content =
        json!({ "reasoning": "a", "reasoning_content": "a", "reasoning_details": details });
    for reply in [body(&message(content.clone())), streamed(&[delta(content)])] {
        assert_eq!(reply.reasoning, "a");
        assert_eq!(reply.state[DETAILS], details);
    }
}

#[test]
fn refusal_deltas_are_joined() {
    let reply = streamed(&[
        delta(json!({ "refusal": "I " })),
        delta(json!({ "refusal": "can't." })),
        finish("stop"),
    ]);
    assert_eq!(reply.refusal, "I can't.");
}

#[test]
fn only_the_first_choice_is_used() {
    let reply = streamed(&[
        json!({ "choices": [{ "index": 1, "delta": { "content": "other" }, "finish_reason": "length" }] }),
        json!({ "choices": [
            { "index": 1, "delta": { "content": "other" } },
            { "index": 0, "delta": { "content": "first" }, "finish_reason": "stop" },
        ] }),
    ]);
    assert_eq!(reply.text, "first");
    assert!(reply.is_complete());
}

#[test]
fn choice_without_index_is_the_first() {
    let reply = streamed(&[json!({ "choices": [{ "delta": { "content": "a" } }] })]);
    assert_eq!(reply.text, "a");
}

#[test]
fn message_next_to_a_delta_is_ignored() {
    let chunk = |new: &str, all: &str| json!({ "choices": [{ "delta": { "content": new }, "message": { "content": all } }] });
    let reply = streamed(&[chunk("a", "a"), chunk("b", "ab")]);
    assert_eq!(reply.text, "ab");
    assert_eq!(body(&chunk("", "ab")).text, "ab");
}

#[test]
fn message_in_a_stream_and_delta_in_a_body_are_accepted() {
    assert_eq!(streamed(&[message(json!({ "content": "a" }))]).text, "a");
    assert_eq!(body(&delta(json!({ "content": "a" }))).text, "a");
}

#[test]
fn empty_finish_reason_counts_as_missing() {
    let reply = streamed(&[delta(json!({ "content": "a" })), finish("")]);
    assert_eq!(reply.finish_reason, None);
    assert!(!reply.is_complete());
}

#[test]
fn only_a_known_finish_reason_makes_a_reply_complete() {
    for reason in [
        "stop",
        "STOP",
        "tool_calls",
        "function_call",
        "tool_use",
        "end_turn",
        "eos",
    ] {
        assert!(streamed(&[finish(reason)]).is_complete(), "{reason}");
    }
    for reason in [
        "length",
        "content_filter",
        "error",
        " length ",
        " stop",
        "stop\n",
        " ",
        "1",
        "stopped",
        "content_filtered",
        "guardrail_intervened",
        "server_error",
        "something_new",
    ] {
        assert!(!streamed(&[finish(reason)]).is_complete(), "{reason:?}");
    }
    let number = json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": 1 }] });
    let reply = streamed(&[number]);
    assert_eq!(reply.finish_reason.as_deref(), Some("1"));
    assert!(!reply.is_complete());
    assert!(!streamed(&[]).is_complete());
    let cut = |reason: &str| streamed(&[finish(reason)]).cut();
    assert_eq!(cut(" length "), Some(Cut::Length));
    assert_eq!(cut("something_new"), None);
}

#[test]
fn worse_of_two_finish_reasons_wins() {
    for (first, second, counts) in [
        ("length", "stop", "length"),
        ("stop", "length", "length"),
        ("something_new", "stop", "something_new"),
        ("something_new", "length", "length"),
        ("stop", "tool_calls", "tool_calls"),
    ] {
        let reply = streamed(&[finish(first), finish(second)]);
        assert_eq!(reply.finish_reason.as_deref(), Some(counts));
    }
}

#[test]
fn output_after_the_finish_reason_makes_the_reply_incomplete() {
    let call = || {
        let piece =
            json!({ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{}" } });
        delta(json!({ "tool_calls": [piece] }))
    };
    let read = |chunks: &[Value], end: &str| {
        let events = chunks.iter().map(|chunk| format!("data: {chunk}\n\n"));
        let stream = events.collect::<String>() + end;
        super::decode(None, stream.as_bytes()).unwrap()
    };
    let done = "data: [DONE]\n\n";
    assert!(read(&[call(), finish("stop")], "").is_complete());
    assert!(!read(&[finish("stop"), call()], "").is_complete());
    assert!(!read(&[finish("stop"), delta(json!({ "content": "a" }))], "").is_complete());
    assert!(read(&[finish("stop"), delta(json!({ "content": "a" }))], done).is_complete());
    // The end mark is not enough for a call that began after the finish reason. White space of an earlier call may follow it.
    assert!(!read(&[finish("stop"), call()], done).is_complete());
    let more = delta(json!({ "tool_calls": [{ "index": 0, "function": { "arguments": " " } }] }));
    assert!(read(&[call(), finish("stop"), more], done).is_complete());
    assert!(read(&[finish("stop"), call(), finish("stop")], "").is_complete());
    // An empty delta does not continue the output.
    let usage = json!({ "choices": [], "usage": { "prompt_tokens": 1, "completion_tokens": 1 } });
    let blank = delta(json!({ "content": "", "tool_calls": [] }));
    assert!(read(&[call(), finish("stop"), blank, usage], "").is_complete());
}

#[test]
fn unknown_and_repeated_fields_are_tolerated() {
    let chunk = r#"{"a":[{}],"choices":[{"b":1,"index":0,"delta":{"content":"x","content":"y","c":{}}}],"id":"1","id":"2"}"#;
    let reply = super::decode(None, format!("data: {chunk}\n\n").as_bytes()).unwrap();
    assert_eq!(reply.text, "y");
    assert_eq!(reply.id.as_deref(), Some("2"));
}

#[test]
fn id_and_model_are_emitted_once() {
    let chunk = |id: &str| json!({ "id": id, "model": "m", "choices": [] });
    let reply = streamed(&[chunk(""), chunk("a"), chunk("b")]);
    assert_eq!(reply.id.as_deref(), Some("a"));
    assert_eq!(reply.model.as_deref(), Some("m"));
}

#[test]
fn reasoning_under_two_names_is_kept_once() {
    let both = |content: &str, other: &str| {
        delta(json!({ "reasoning_content": content, "reasoning": other }))
    };
    // The same text, even if it is split differently.
    for chunks in [
        [both("a", "a"), both("b", "b")],
        [both("a", "ab"), both("b", "")],
    ] {
        let reply = streamed(&[&chunks[..], &[finish("stop")]].concat());
        assert_eq!(reply.reasoning, "ab");
        assert_eq!(
            reply.state,
            *json!({ "reasoning_field": "reasoning_content" })
                .as_object()
                .unwrap()
        );
    }
}

#[test]
fn debug_of_deltas_and_replies_hides_content() {
    let content = json!({ "content": "secret", "reasoning": "secret", "refusal": "secret",
        "reasoning_details": [{ "text": "secret" }],
        "tool_calls": [{ "id": "a", "function": { "name": "f", "arguments": "secret" }, "x": "secret" }] });
    let text = message(content).to_string();
    let deltas = super::deltas_of(&text);
    assert_eq!(deltas.len(), 6);
    let shown = format!(
        "{deltas:?} {:?}",
        super::decode(None, text.as_bytes()).unwrap()
    );
    assert!(!shown.contains("secret"), "{shown}");
    assert!(shown.contains("6 bytes"), "{shown}");
}

#[test]
fn sources_that_the_server_names_are_content_of_third_parties() {
    use turnwright_core::trust::TrustTier::{ThirdPartyPrivate, ThirdPartyPublic};
    let of = |annotations: Value| {
        let message = json!({ "content": "a", "annotations": annotations });
        let reply = body(&json!({ "choices": [{ "message": message, "finish_reason": "stop" }] }));
        reply.provider_content.into_iter().collect::<Vec<_>>()
    };
    assert_eq!(of(json!([])), []);
    assert_eq!(of(json!([{ "type": "url_citation" }])), [ThirdPartyPublic]);
    assert_eq!(
        of(json!([{ "type": "file_citation" }])),
        [ThirdPartyPrivate]
    );
    let choices = json!([{ "message": { "content": "a" }, "finish_reason": "stop" }]);
    let reply = body(&json!({ "choices": choices, "citations": ["https://soup.example/"] }));
    assert!(reply.provider_content.contains(&ThirdPartyPublic));
}
