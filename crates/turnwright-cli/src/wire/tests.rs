use std::path::Path;

use serde_json::json;

use super::{decoded, name_of};
use crate::terminal::with_fields;

#[test]
fn a_recording_is_named_by_the_end_of_its_path() {
    let names = [
        ("/a/wire/chat_completions/openai/x.json", "openai/x.json"),
        ("openai/x.json", "openai/x.json"),
        ("./x.json", "x.json"),
        ("-", "-"),
        ("../../x.json", "x.json"),
    ];
    for (path, name) in names {
        assert_eq!(name_of(Path::new(path)), name);
    }
}

#[test]
fn a_decoded_line_names_its_file_first() {
    let choice = json!({ "message": { "content": "Hi" }, "finish_reason": "stop" });
    let exchange = json!({
        "request": { "method": "POST", "path": "/v1/chat/completions", "body": {} },
        "response": { "status": 200, "body": { "choices": [choice] } },
    });
    let exchange = serde_json::from_value(exchange).unwrap();
    let decoded = decoded(None, Ok(&exchange));
    let line = with_fields(json!({ "file": "f", "index": 3 }), decoded);
    let names: Vec<&str> = line
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let expected = [
        "file",
        "index",
        "text",
        "reasoning",
        "refusal",
        "tool_calls",
        "finish_reason",
        "usage",
    ];
    assert_eq!(names, expected);
}
