use serde_json::{Value, json};
use turnwright_core::{ErrorCode, ErrorKind};

use super::{added, call, completed, decode, delta, done, error_of, message, stream, streamed};

fn is_too_large(text: &str) -> bool {
    let error = error_of(text);
    error.code() == ErrorCode::WIRE_ERROR && error.kind() == ErrorKind::Internal
}

#[test]
fn numbers_of_calls_items_and_parts_are_limited() {
    let calls = |count: u64| -> Vec<Value> {
        (0..count)
            .map(|at| done(at, call(&format!("c{at}"), "{}")))
            .collect()
    };
    assert_eq!(
        decode(&stream(&calls(1_000))).unwrap().tool_calls.len(),
        1_000
    );
    assert!(is_too_large(&stream(&calls(1_001))));
    let opened: Vec<Value> = (0..1_001)
        .map(|at| added(at, call(&format!("c{at}"), "")))
        .collect();
    assert!(is_too_large(&stream(&opened)));
    let items: Vec<Value> = (0..10_001)
        .map(|at| done(at, json!({ "type": "web_search_call" })))
        .collect();
    assert!(is_too_large(&stream(&items)));
    let texts: Vec<Value> = (0..10_001)
        .map(|at| delta("output_text", at, "x"))
        .collect();
    assert!(is_too_large(&stream(&texts)));
    let parts = vec![json!({ "type": "output_text", "text": "" }); 10_001];
    let item = json!({ "type": "message", "content": parts });
    assert!(is_too_large(&json!({ "output": [item] }).to_string()));
}

#[test]
fn thousands_of_open_items_are_read_quickly_and_completely() {
    let begins = (0..3_000).map(|at| delta("output_text", at, "x"));
    let ends = (0..3_000).rev().map(|at| done(at, message("m", "xy")));
    let events: Vec<Value> = begins.chain(ends).chain([completed()]).collect();
    assert_eq!(streamed(&events).text.len(), 6_000);
}

#[test]
fn huge_and_invalid_indexes_are_accepted() {
    for index in [
        json!(u64::MAX),
        json!(-1),
        json!(1.5),
        json!("7"),
        json!("x"),
        Value::Null,
    ] {
        let mut event = done(0, message("m1", "Hi"));
        event["output_index"] = index.clone();
        let mut piece = delta("output_text", 0, "H");
        piece["output_index"] = index;
        assert_eq!(streamed(&[piece, event, completed()]).text, "Hi");
    }
}

#[test]
fn wrong_types_are_errors_or_absent() {
    assert!(decode("data: {\"type\":{}}\n\n").is_err());
    assert!(
        decode("data: {\"type\":\"response.output_text.delta\",\"output_index\":{}}\n\n").is_err()
    );
    assert!(decode("data: []\n\n").is_err());
    assert!(decode("[]").is_err());
    assert!(decode("{\"output\":{}}").is_err());
    assert!(decode("{\"output\":[],\"status\":5.5}").is_err());
    let item = json!({
        "type": "message", "id": 7, "content": [{ "type": "output_text", "text": 5, "annotations": {} }, 7, { "type": "x" }],
    });
    let thought =
        json!({ "type": "reasoning", "summary": "Hm", "content": [{ "text": [] }, null] });
    let asked = json!({ "type": "function_call", "call_id": 5, "name": null, "arguments": null });
    let reply = streamed(&[done(0, thought), done(1, item), done(2, asked), completed()]);
    assert_eq!((reply.text.as_str(), reply.reasoning.as_str()), ("", "Hm"));
    assert_eq!(reply.tool_calls[0].id.as_deref(), Some("5"));
    let usage = json!({ "output": [], "usage": { "input_tokens": "x" } });
    assert_eq!(decode(&usage.to_string()).unwrap().usage, None);
}
