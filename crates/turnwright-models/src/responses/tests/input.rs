use serde_json::{Value, json};

use crate::engine::tests::{assistant, call, reasoning, result, text, user};
use crate::engine::{CallResult, Item, Piece, UserPart};
use crate::responses::{ResponsesCodec, quirks};

type Draft = crate::engine::tests::Draft<ResponsesCodec>;

fn input_of(pieces: Vec<Piece>) -> Vec<Value> {
    let body = Draft::default().with(assistant(pieces)).body();
    body["input"].as_array().unwrap().clone()
}

#[test]
fn items_go_back_as_they_came() {
    let message = json!({ "id": "msg_1", "phase": "final_answer" });
    let annotation = json!({ "type": "url_citation" });
    let search = json!({ "type": "web_search_call", "id": "ws_1" });
    let items = input_of(vec![
        reasoning(
            "abc",
            json!({ "id": "rs_1", "encrypted_content": "e", "format": "f", "summary": [1, 1], "content": [1] }),
        ),
        Piece::Raw(search.clone()),
        reasoning("", json!({ "id": "rs_2", "encrypted_content": "e" })),
        text(
            "Well.",
            json!({ "message": message, "annotations": [annotation] }),
        ),
        text("No.", json!({ "more": true, "refusal": true })),
        call("call_1", json!({ "id": "fc_1" })),
    ]);
    let summary = |text: &str| json!({ "type": "summary_text", "text": text });
    let expected = json!([
        {
            "type": "reasoning", "id": "rs_1", "encrypted_content": "e", "format": "f",
            "summary": [summary("a"), summary("b")], "content": [{ "type": "reasoning_text", "text": "c" }],
        },
        search,
        { "type": "reasoning", "id": "rs_2", "encrypted_content": "e", "summary": [] },
        {
            "type": "message", "role": "assistant", "id": "msg_1", "status": "completed", "phase": "final_answer",
            "content": [
                { "type": "output_text", "text": "Well.", "annotations": [annotation] },
                { "type": "refusal", "refusal": "No." },
            ],
        },
        { "type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}" },
    ]);
    assert_eq!(Value::from(items), expected);
}

#[test]
fn responses_of_other_servers_are_plain() {
    let items = input_of(vec![text("Hi", json!({})), call("x1", json!({}))]);
    let expected = json!([
        { "type": "message", "role": "assistant", "content": "Hi" },
        { "type": "function_call", "call_id": "x1", "name": "f", "arguments": "{}" },
    ]);
    assert_eq!(Value::from(items), expected);
}

#[test]
fn content_is_a_list_for_servers_that_expect_one() {
    let mut draft = Draft::default()
        .with(user("Hi"))
        .with(assistant(vec![text("Ho", json!({}))]));
    draft.quirks = quirks::CONTENT_PARTS;
    let body = draft.body();
    assert_eq!(body["input"][0]["content"], "Hi");
    let part = json!({ "type": "output_text", "text": "Ho", "annotations": [] });
    assert_eq!(body["input"][1]["content"], json!([part]));
}

#[test]
fn reasoning_precedes_what_it_led_to() {
    let message = || text("Hi", json!({ "message": { "id": "msg_1" } }));
    let thought = |id: &str| reasoning("", json!({ "id": id, "encrypted_content": "e" }));
    let ids = |pieces: Vec<Piece>| -> Vec<String> {
        let items = input_of(pieces);
        items
            .iter()
            .map(|item| item["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(vec![message(), thought("rs_1")]), ["rs_1", "msg_1"]);
    let pieces = vec![
        thought("rs_1"),
        message(),
        call("c", json!({ "id": "fc_1" })),
        thought("rs_2"),
    ];
    assert_eq!(ids(pieces), ["rs_1", "rs_2", "msg_1", "fc_1"]);
    assert_eq!(
        ids(vec![
            message(),
            thought("rs_1"),
            call("c", json!({ "id": "fc_1" }))
        ]),
        ["msg_1", "rs_1", "fc_1"]
    );
    // Servers reject reasoning that leads to nothing.
    assert_eq!(ids(vec![thought("rs_1")]), Vec::<String>::new());
}

#[test]
fn reasoning_that_the_server_cannot_use_is_left_out_with_the_ids_after_it() {
    let items = input_of(vec![
        reasoning("", json!({ "id": "rs_1" })),
        text("Hi", json!({ "message": { "id": "msg_1" } })),
        call("c", json!({ "id": "fc_1" })),
    ]);
    assert_eq!(items.len(), 2);
    assert!(items.iter().all(|item| item.get("id").is_none()));
    // Text of servers that do not take it back.
    assert_eq!(
        input_of(vec![reasoning("Hm.", json!({})), text("Hi", json!({}))]).len(),
        1
    );
}

#[test]
fn results_follow_in_the_order_of_the_calls() {
    let both = |id: &str| CallResult {
        parts: vec![
            UserPart::Text("one".to_owned()),
            UserPart::Text("two".to_owned()),
        ],
        ..result(id, "")
    };
    let custom = CallResult {
        parts: vec![
            UserPart::Text("see".to_owned()),
            UserPart::Custom(json!({ "type": "input_image", "file_id": "f" })),
        ],
        ..result("c", "")
    };
    let body = Draft::default()
        .with(Item::Results(vec![both("b"), both("a"), custom]))
        .body();
    let expected = json!([
        { "type": "function_call_output", "call_id": "b", "output": "one\n\ntwo" },
        { "type": "function_call_output", "call_id": "a", "output": "one\n\ntwo" },
        { "type": "function_call_output", "call_id": "c", "output": [
            { "type": "input_text", "text": "see" },
            { "type": "input_image", "file_id": "f" },
        ] },
    ]);
    assert_eq!(body["input"], expected);
}
