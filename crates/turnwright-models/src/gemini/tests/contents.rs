use serde_json::{Map, Value, json};
use turnwright_core::media::MediaKind;

use crate::engine::tests::{assistant, call, media, reasoning, result, text, user, user_of};
use crate::engine::{Assistant, Call, CallResult, Item, Piece, UserPart};
use crate::gemini::GeminiCodec;

type Draft = crate::engine::tests::Draft<GeminiCodec>;

/// Returns the only content.
fn content(item: Item<'_>) -> Value {
    let body = Draft::default().with(item).body();
    let contents = body["contents"].as_array().unwrap();
    assert_eq!(contents.len(), 1);
    contents[0].clone()
}

fn signed(signature: &str) -> Value {
    json!({ "thoughtSignature": signature })
}

#[test]
fn system_prompt_is_an_instruction_and_not_a_content() {
    let body = Draft::hi().with(Item::System("Be \"brief\".")).body();
    let expected = json!({ "parts": [{ "text": "Be \"brief\"." }] });
    assert_eq!(body["systemInstruction"], expected);
    let hi = json!({ "role": "user", "parts": [{ "text": "Hi" }] });
    assert_eq!(body["contents"], json!([hi]));
}

#[test]
fn user_parts_keep_their_order() {
    let custom = json!({ "fileData": { "fileUri": "files/1" } });
    let sent = content(user_of(vec![
        UserPart::Text("One".to_owned()),
        media(MediaKind::Image, "image/png"),
        UserPart::Text("Two".to_owned()),
        media(MediaKind::Video, "video/mp4"),
        UserPart::Custom(custom.clone()),
    ]));
    let inline = |mime: &str| json!({ "inlineData": { "mimeType": mime, "data": "YWJj" } });
    let parts = json!([
        { "text": "One" }, inline("image/png"), { "text": "Two" }, inline("video/mp4"), custom,
    ]);
    assert_eq!(sent, json!({ "role": "user", "parts": parts }));
}

#[test]
fn media_is_counted_for_the_context_window() {
    let draft = Draft::default().with(user_of(vec![
        UserPart::Text("One".to_owned()),
        media(MediaKind::Image, "image/png"),
        media(MediaKind::Audio, "audio/wav"),
    ]));
    // The bytes do not count, whatever their number.
    let tokens = draft.messages[0].tokens("m");
    assert!((2_000..2_010).contains(&tokens), "{tokens}");
}

#[test]
fn signatures_go_back_on_the_parts_that_they_came_with() {
    let code = json!({ "executableCode": { "code": "1+1" }, "thoughtSignature": "s0" });
    let sent = content(assistant(vec![
        reasoning("Hm.", json!({})),
        Piece::Raw(code.clone()),
        text("So", signed("s1")),
        call("c1", signed("s2")),
        call("c2", json!({})),
        text("", signed("s3")),
    ]));
    let function = |id: &str| json!({ "name": "f", "args": {}, "id": id });
    let parts = json!([
        { "text": "Hm.", "thought": true },
        code,
        { "text": "So", "thoughtSignature": "s1" },
        { "functionCall": function("c1"), "thoughtSignature": "s2" },
        { "functionCall": function("c2") },
        { "text": "", "thoughtSignature": "s3" },
    ]);
    assert_eq!(sent, json!({ "role": "model", "parts": parts }));
}

#[test]
fn calls_of_other_servers_get_the_placeholder_signature() {
    let foreign = |is_own: bool, fields: Map<String, Value>| {
        let calls = ["a", "b"].map(|id| Call {
            id: id.to_owned(),
            has_own_id: false,
            name: "f".to_owned(),
            arguments: r#"{"x":[1,{"y":null}]}"#.to_owned(),
            fields: fields.clone(),
        });
        let sent = content(Item::Assistant(Assistant {
            pieces: calls.map(Piece::Call).into(),
            state: Map::new(),
            is_own,
        }));
        sent["parts"].clone()
    };
    let part = json!({ "functionCall": { "name": "f", "args": { "x": [1, { "y": null }] } } });
    let mut placeholder = part.clone();
    placeholder["thoughtSignature"] = "skip_thought_signature_validator".into();
    // Only the first of parallel calls is signed.
    assert_eq!(foreign(false, Map::new()), json!([placeholder, part]));
    // Older models do not sign their calls.
    assert_eq!(foreign(true, Map::new()), json!([part, part]));
}

#[test]
fn results_are_one_content_in_the_order_of_the_calls() {
    let unnamed = CallResult {
        has_own_id: false,
        name: "g".to_owned(),
        is_error: true,
        ..result("derived", "No.")
    };
    let sent = content(Item::Results(vec![
        result("b", "one"),
        result("a", "two"),
        unnamed,
    ]));
    let part = |fields: Value| json!({ "functionResponse": fields });
    let parts = json!([
        part(json!({ "name": "f", "response": { "result": "one" }, "id": "b" })),
        part(json!({ "name": "f", "response": { "result": "two" }, "id": "a" })),
        // An id that the server did not give is not sent: results are matched by name and order.
        part(json!({ "name": "g", "response": { "error": "No." } })),
    ]);
    assert_eq!(sent, json!({ "role": "user", "parts": parts }));
}

#[test]
fn consecutive_contents_of_the_user_become_one() {
    let body = Draft::default()
        .with(user("a"))
        .with(assistant(vec![text("b", json!({}))]))
        .with(user("c"))
        .with(user("]}"))
        .body();
    assert_eq!(
        body["contents"],
        json!([
            { "role": "user", "parts": [{ "text": "a" }] },
            { "role": "model", "parts": [{ "text": "b" }] },
            { "role": "user", "parts": [{ "text": "c" }, { "text": "]}" }] },
        ])
    );
}
