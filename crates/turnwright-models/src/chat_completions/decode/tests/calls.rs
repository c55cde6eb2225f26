use proptest::prelude::*;
use serde_json::{Value, json};

use super::{body, called, calls, delta, finish, ids, message, streamed};

#[test]
fn fragments_are_assigned_by_index() {
    let reply = streamed(&[
        calls(
            json!([{ "index": 0, "id": "a", "type": "function", "function": { "name": "f", "arguments": "" } }]),
        ),
        calls(
            json!([{ "index": 1, "id": "b", "type": "function", "function": { "name": "g", "arguments": "" } }]),
        ),
        calls(json!([{ "index": 0, "function": { "arguments": "{\"x\"" } }])),
        calls(json!([{ "index": 1, "function": { "arguments": "{}" } }])),
        calls(json!([{ "index": 0, "function": { "arguments": ":1}" } }])),
        finish("tool_calls"),
    ]);
    assert_eq!(called(&reply), [("f", "{\"x\":1}"), ("g", "{}")]);
    assert_eq!(ids(&reply), [Some("a"), Some("b")]);
    assert!(reply.is_complete());
}

#[test]
fn arguments_that_go_on_after_the_finish_reason_are_incomplete() {
    let begun = calls(
        json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{\"cents\": 1" } }]),
    );
    let rest = calls(json!([{ "index": 0, "function": { "arguments": "0}" } }]));
    let events = [begun, finish("tool_calls"), rest, finish("tool_calls")];
    assert!(!streamed(&events[..3]).is_complete());
    assert!(streamed(&events).is_complete());
}

#[test]
fn fragments_without_index_are_assigned_by_id() {
    let reply = streamed(&[
        calls(json!([{ "id": "a", "function": { "name": "f", "arguments": "{\"x\"" } }])),
        calls(json!([{ "id": "b", "function": { "name": "f", "arguments": "{\"y\"" } }])),
        calls(json!([{ "id": "a", "function": { "arguments": ":1}" } }])),
        calls(json!([{ "id": "b", "function": { "arguments": ":2}" } }])),
    ]);
    assert_eq!(called(&reply), [("f", "{\"x\":1}"), ("f", "{\"y\":2}")]);
}

#[test]
fn fragment_without_index_and_id_continues_the_last_call() {
    let reply = streamed(&[
        calls(json!([{ "function": { "name": "f", "arguments": "{\"x\"" } }])),
        calls(json!([{ "function": { "arguments": ":1}" } }])),
        calls(json!([{ "function": { "name": "g", "arguments": "" } }])),
        calls(json!([{ "function": { "arguments": "{}" } }])),
    ]);
    assert_eq!(called(&reply), [("f", "{\"x\":1}"), ("g", "{}")]);
    assert_eq!(ids(&reply), [None, None]);
}

#[test]
fn without_index_and_id_complete_arguments_end_a_call() {
    let reply = streamed(&[
        calls(json!([{ "function": { "name": "f", "arguments": "{\"x\":\"}\"}" } }])),
        calls(json!([{ "function": { "name": "f", "arguments": "{\"x\":2}" } }])),
    ]);
    assert_eq!(called(&reply), [("f", "{\"x\":\"}\"}"), ("f", "{\"x\":2}")]);
}

#[test]
fn without_index_and_id_list_items_are_separate_calls() {
    let reply = streamed(&[
        calls(json!([
            { "function": { "name": "f", "arguments": "" } },
            { "function": { "name": "f", "arguments": "" } },
        ])),
        calls(
            json!([{ "function": { "arguments": "{}" } }, { "function": { "arguments": "[]" } }]),
        ),
    ]);
    assert_eq!(called(&reply), [("f", "{}"), ("f", "[]")]);
}

#[test]
fn repeated_name_and_id_continue_the_call() {
    for index in [json!(0), json!(null)] {
        let piece = |arguments: &str| {
            calls(
                json!([{ "index": index, "id": "a", "function": { "name": "f", "arguments": arguments } }]),
            )
        };
        let reply = streamed(&[piece("{\"x\""), piece(":1"), piece("}"), piece("")]);
        assert_eq!(called(&reply), [("f", "{\"x\":1}")]);
        assert_eq!(ids(&reply), [Some("a")]);
    }
}

#[test]
fn repeated_name_without_id_continues_the_call() {
    for index in [json!(0), json!(null)] {
        let piece = |arguments: &str| {
            calls(json!([{ "index": index, "function": { "name": "f", "arguments": arguments } }]))
        };
        let reply = streamed(&[piece(""), piece("{\"x\""), piece(":1}"), piece("")]);
        assert_eq!(called(&reply), [("f", "{\"x\":1}")]);
    }
}

#[test]
fn name_may_be_split_or_follow_the_arguments() {
    let reply = streamed(&[
        calls(json!([{ "index": 0, "id": "a", "function": { "name": "get_" } }])),
        calls(json!([{ "index": 0, "function": { "name": "weather", "arguments": "" } }])),
        calls(json!([{ "index": 0, "function": { "name": "get_weather", "arguments": "{}" } }])),
        calls(json!([{ "index": 1, "function": { "arguments": "{}" } }])),
        calls(json!([{ "index": 1, "function": { "name": "late" } }])),
    ]);
    assert_eq!(called(&reply), [("get_weather", "{}"), ("late", "{}")]);
}

#[test]
fn new_id_and_name_with_the_same_index_start_a_call() {
    let reply = streamed(&[
        calls(json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{}" } }])),
        calls(json!([{ "index": 0, "id": "b", "function": { "name": "f", "arguments": "{" } }])),
        calls(json!([{ "index": 0, "function": { "arguments": "}" } }])),
        calls(json!([{ "index": 0, "id": "a", "function": { "arguments": " " } }])),
    ]);
    assert_eq!(called(&reply), [("f", "{} "), ("f", "{}")]);
    assert_eq!(ids(&reply), [Some("a"), Some("b")]);
}

#[test]
fn new_name_with_the_same_index_starts_a_call_after_arguments() {
    let reply = streamed(&[
        calls(json!([{ "index": 0, "function": { "name": "f", "arguments": "{}" } }])),
        calls(json!([{ "index": 0, "function": { "name": "g", "arguments": "" } }])),
        calls(json!([{ "index": 0, "function": { "arguments": "{}" } }])),
    ]);
    assert_eq!(called(&reply), [("f", "{}"), ("g", "{}")]);
}

#[test]
fn new_id_in_every_fragment_does_not_start_calls() {
    let reply = streamed(&[
        calls(json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{" } }])),
        calls(json!([{ "index": 0, "id": "b", "function": { "arguments": "}" } }])),
    ]);
    assert_eq!(called(&reply), [("f", "{}")]);
    assert_eq!(ids(&reply), [Some("a")]);
}

#[test]
fn id_may_be_late_empty_or_numeric() {
    let reply = streamed(&[
        calls(json!([{ "index": 0, "id": "", "function": { "name": "f" } }])),
        calls(json!([{ "index": 0, "id": null, "function": { "arguments": "{" } }])),
        calls(json!([{ "index": 0, "id": 7, "function": { "arguments": "}" } }])),
    ]);
    assert_eq!(called(&reply), [("f", "{}")]);
    assert_eq!(ids(&reply), [Some("7")]);
}

#[test]
fn index_may_be_missing_in_some_fragments() {
    let reply = streamed(&[
        calls(json!([{ "id": "a", "function": { "name": "f", "arguments": "{" } }])),
        calls(json!([{ "index": 0, "function": { "arguments": "\"x\"" } }])),
        calls(json!([{ "index": 0, "id": "a", "function": { "arguments": ":1" } }])),
        calls(json!([{ "function": { "arguments": "}" } }])),
    ]);
    assert_eq!(called(&reply), [("f", "{\"x\":1}")]);
}

#[test]
fn index_may_be_a_string_or_a_float() {
    let pieces = [json!(1), json!("1"), json!(1.0)];
    let chunks = pieces.map(|index| {
        calls(json!([{ "index": index, "id": "a", "function": { "name": "f", "arguments": "1" } }]))
    });
    assert_eq!(called(&streamed(&chunks)), [("f", "111")]);
}

#[test]
fn complete_calls_in_one_chunk_are_accepted() {
    let reply = streamed(&[calls(json!([
        { "index": 0, "id": "a", "function": { "name": "f", "arguments": "{}" } },
        { "index": 1, "id": "b", "function": { "name": "g", "arguments": "{\"x\":1}" } },
    ]))]);
    assert_eq!(called(&reply), [("f", "{}"), ("g", "{\"x\":1}")]);
}

#[test]
fn calls_of_a_complete_message_are_never_merged() {
    let call = json!({ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{}" } });
    let reply = body(&message(
        json!({ "tool_calls": [call, call, { "function": { "name": "f" } }] }),
    ));
    assert_eq!(called(&reply), [("f", "{}"), ("f", "{}"), ("f", "")]);
}

#[test]
fn arguments_may_be_an_object_or_null_or_missing() {
    let call = |arguments: &str| {
        let text = format!(
            r#"{{"choices":[{{"message":{{"tool_calls":[{{"id":"a","function":{{"name":"f","arguments":{arguments}}}}}]}}}}]}}"#
        );
        let reply = super::decode(None, text.as_bytes()).unwrap();
        reply.tool_calls[0].arguments.clone()
    };
    assert_eq!(
        call(r#"{ "a" : [ 1.5, 12345678901234567890 ], "b": "x \" y" }"#),
        r#"{"a":[1.5,12345678901234567890],"b":"x \" y"}"#
    );
    assert_eq!(call("null"), "");
    assert_eq!(call("[1, 2]"), "[1,2]");
    assert_eq!(call(r#""{\"a\":\"\u00e9\"}""#), "{\"a\":\"é\"}");
    let deep = "[".repeat(5_000) + &"]".repeat(5_000);
    let text = Value::from(deep.as_str()).to_string();
    assert_eq!(call(&text), deep, "as text they may be anything");
    let complete = format!(
        r#"{{"choices":[{{"message":{{"tool_calls":[{{"function":{{"arguments":{deep}}}}}]}}}}]}}"#
    );
    let error = super::decode(None, complete.as_bytes()).unwrap_err();
    assert!(error.message().contains("recursion limit"), "{error}");
    let reply = body(&message(
        json!({ "tool_calls": [{ "id": "a", "function": { "name": "f" } }] }),
    ));
    assert_eq!(called(&reply), [("f", "")]);
}

#[test]
fn unknown_call_fields_are_kept() {
    let reply = streamed(&[
        calls(json!([{
            "index": 0, "id": "a", "type": "function", "function": { "name": "f", "arguments": "" },
            "extra_content": { "google": { "thought_signature": "abc" } }, "other": null,
        }])),
        calls(json!([{ "index": 0, "function": { "arguments": "{}" } }])),
    ]);
    let extra = reply.tool_calls[0].extra.clone().unwrap();
    assert_eq!(
        Value::Object(extra),
        json!({ "extra_content": { "google": { "thought_signature": "abc" } } })
    );
}

#[test]
fn deprecated_function_call_is_a_call() {
    let reply = streamed(&[
        delta(json!({ "function_call": { "name": "f", "arguments": "" } })),
        delta(json!({ "function_call": { "arguments": "{\"x\"" } })),
        delta(json!({ "function_call": { "arguments": ":1}" } })),
        finish("function_call"),
    ]);
    assert_eq!(called(&reply), [("f", "{\"x\":1}")]);
    let reply = body(&message(
        json!({ "function_call": { "name": "f", "arguments": "{}" } }),
    ));
    assert_eq!(called(&reply), [("f", "{}")]);
}

#[test]
fn deprecated_function_call_next_to_tool_calls_is_ignored() {
    let reply = body(&message(json!({
        "tool_calls": [{ "id": "a", "function": { "name": "f", "arguments": "{}" } }],
        "function_call": { "name": "f", "arguments": "{}" },
    })));
    assert_eq!(called(&reply), [("f", "{}")]);
    let reply = body(&message(
        json!({ "function_call": null, "tool_calls": null }),
    ));
    assert_eq!(called(&reply), []);
}

#[test]
fn truncated_arguments_are_kept() {
    let reply = streamed(&[
        calls(
            json!([{ "index": 0, "id": "a", "function": { "name": "f", "arguments": "{\"x\":\"ab" } }]),
        ),
        finish("length"),
    ]);
    assert_eq!(called(&reply), [("f", "{\"x\":\"ab")]);
    assert!(!reply.is_complete());
}

proptest! {
    #[test]
    fn non_string_arguments_become_compact_json(text in "\\PC{0,20}", number in any::<f64>(), list in prop::collection::vec(any::<i64>(), 0..5)) {
        let value = json!({ "text": text, "number": number, "list": list, "nested": { "quote\"": ["\\", text] } });
        let body = json!({ "choices": [{ "message": { "tool_calls": [{ "function": { "name": "t", "arguments": value } }] }, "finish_reason": "tool_calls" }] });
        let body = serde_json::to_string_pretty(&body).unwrap();
        let reply = super::decode(None, body.as_bytes()).unwrap();
        prop_assert_eq!(&reply.tool_calls[0].arguments, &value.to_string());
    }
}

#[test]
fn number_of_calls_is_limited() {
    use turnwright_core::ErrorKind;
    let list = |count: usize| vec![json!({}); count];
    let complete = |count: usize| {
        json!({ "choices": [{ "message": { "tool_calls": list(count) }, "finish_reason": "stop" }] }).to_string()
    };
    let decode = |text: &str| super::decode(None, text.as_bytes());
    assert_eq!(decode(&complete(1_000)).unwrap().tool_calls.len(), 1_000);
    assert!(decode(&complete(1_001)).is_err());
    let call = |index: usize| json!({ "index": index, "id": format!("c{index}"), "function": { "name": "t", "arguments": "{}" } });
    let stream: String = (0..1_001)
        .map(|index| {
            format!(
                "data: {}\n\n",
                json!({ "choices": [{ "delta": { "tool_calls": [call(index)] } }] })
            )
        })
        .collect();
    let error = decode(&stream).unwrap_err();
    assert_eq!(
        error.kind(),
        ErrorKind::Internal,
        "it is not asked for again"
    );
    assert!(error.message().contains("1000 calls"), "{error}");
}
