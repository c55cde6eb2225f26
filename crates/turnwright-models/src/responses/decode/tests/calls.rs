use serde_json::json;
use turnwright_core::ErrorCode;

use super::{added, call, completed, delta, done, error_of, incomplete, stream, streamed};
use crate::decode::{Cut, Finish};

#[test]
fn calls_are_assembled_in_order() {
    let begins =
        |id: &str| json!({ "type": "function_call", "call_id": id, "name": "f", "arguments": "" });
    let reply = streamed(&[
        added(0, begins("a")),
        added(1, begins("b")),
        delta("function_call_arguments", 1, "{\"y\""),
        delta("function_call_arguments", 0, "{\"x\":1}"),
        done(1, call("b", "{\"y\":2}")),
        done(0, call("a", "{\"x\":1}")),
        done(2, call("c", "{}")),
        completed(),
    ]);
    let calls: Vec<_> = reply
        .tool_calls
        .iter()
        .map(|call| {
            (
                call.id.as_deref().unwrap(),
                call.name.as_str(),
                call.arguments.as_str(),
            )
        })
        .collect();
    assert_eq!(
        calls,
        [
            ("a", "f", "{\"x\":1}"),
            ("b", "f", "{\"y\":2}"),
            ("c", "f", "{}")
        ]
    );
    assert_eq!(reply.finish, Some(Finish::ToolCalls));
    // Calls alone need no layout: their ids are stored with them.
    assert!(reply.state.is_empty());
    assert_eq!(reply.tool_calls[0].extra.as_ref().unwrap()["id"], "fc_a");
}

#[test]
fn calls_without_arguments_are_calls() {
    for arguments in ["", "{}"] {
        let reply = streamed(&[
            delta("function_call_arguments", 0, ""),
            done(0, call("a", arguments)),
            completed(),
        ]);
        assert_eq!(reply.tool_calls[0].arguments, arguments);
        assert!(reply.is_complete());
    }
}

#[test]
fn arguments_may_be_an_object_and_spaced_differently() {
    let mut item = call("a", "");
    item["arguments"] = json!({ "x": [1] });
    let reply = streamed(&[done(0, item), completed()]);
    assert_eq!(reply.tool_calls[0].arguments, "{\"x\":[1]}");
    let reply = streamed(&[
        delta("function_call_arguments", 0, "{ \"x\": 1 }"),
        done(0, call("a", "{\"x\":1}")),
        completed(),
    ]);
    assert_eq!(reply.tool_calls[0].arguments, "{ \"x\": 1 }");
}

#[test]
fn arguments_that_contradict_their_deltas_are_an_error() {
    let error = error_of(&stream(&[
        delta("function_call_arguments", 0, "{\"x\":1}"),
        done(0, call("a", "{\"x\":2}")),
    ]));
    assert_eq!(error.code(), ErrorCode::WIRE_ERROR);
    assert!(error.message().contains("arguments"), "{error}");
}

#[test]
fn truncated_calls_never_count_as_complete() {
    let mut cut = call("a", "{\"x\":");
    cut["status"] = "incomplete".into();
    let cases = [
        vec![done(0, cut.clone()), incomplete("max_output_tokens")],
        // The server is wrong, or the item was lost.
        vec![done(0, cut), completed()],
        vec![
            delta("function_call_arguments", 0, "{\"x\":1}"),
            completed(),
        ],
        vec![
            added(0, call("a", "")),
            delta("output_text", 0, "Hi"),
            completed(),
        ],
    ];
    for events in cases {
        let reply = streamed(&events);
        assert_eq!(reply.tool_calls.len(), 1);
        assert!(!reply.is_complete(), "{events:?}");
        assert!(matches!(reply.cut(), Some(Cut::Length | Cut::Failure)));
        assert_eq!(reply.tool_calls[0].extra, None);
    }
}

#[test]
fn calls_with_text_keep_the_order_of_items() {
    let reply = streamed(&[
        done(1, call("a", "{}")),
        done(0, super::message("m1", "Let me see.")),
        completed(),
    ]);
    assert_eq!(reply.state["layout"][1], "call");
    assert_eq!(reply.state["layout"][0]["text"]["bytes"], 11);
}
