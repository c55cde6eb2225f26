use serde_json::{Value, json};
use turnwright_core::media::MediaKind;

use crate::engine::tests::{assistant, call, media, reasoning, result, text, user_of};
use crate::engine::{CallResult, Item, Piece, UserPart};
use crate::ollama::OllamaCodec;

type Draft = crate::engine::tests::Draft<OllamaCodec>;

fn messages(item: Item<'_>) -> Value {
    Draft::default().with(item).body()["messages"].clone()
}

#[test]
fn system_prompt_is_the_first_message() {
    let sent = messages(Item::System("Be \"brief\"."));
    let expected = json!([{ "role": "system", "content": "Be \"brief\"." }]);
    assert_eq!(sent, expected);
}

#[test]
fn images_are_a_list_of_bytes_in_base64() {
    let sent = messages(user_of(vec![
        UserPart::Text("One".to_owned()),
        media(MediaKind::Image, "image/png"),
        UserPart::Text("Two".to_owned()),
        UserPart::Custom(json!("b3du")),
        // Not an image in the form of the protocol.
        UserPart::Custom(json!({ "type": "image" })),
    ]));
    let images = json!(["YWJj", "b3du"]);
    let expected = json!([{ "role": "user", "content": "One\n\nTwo", "images": images }]);
    assert_eq!(sent, expected);
    let draft = Draft::default().with(user_of(vec![media(MediaKind::Image, "image/png")]));
    assert_eq!(draft.messages[0].tokens("m"), 1_000);
}

#[test]
fn response_has_its_thinking_and_calls() {
    let sent = messages(assistant(vec![
        reasoning("Hm.", json!({})),
        text("I look.", json!({})),
        call("c1", json!({})),
        call("c2", json!({})),
    ]));
    let call = |id: &str| json!({ "id": id, "function": { "name": "f", "arguments": {} } });
    let expected = json!([{
        "role": "assistant", "content": "I look.", "thinking": "Hm.", "tool_calls": [call("c1"), call("c2")],
    }]);
    assert_eq!(sent, expected);
    // Calls without text have an empty content, which the server requires.
    let sent = messages(assistant(vec![call_only()]));
    assert_eq!(sent[0]["content"], "");
    assert_eq!(sent[0].get("thinking"), None);
}

fn call_only() -> Piece {
    call("c", json!({}))
}

#[test]
fn results_are_messages_in_the_order_of_the_calls() {
    let other = CallResult {
        has_own_id: false,
        name: "g".to_owned(),
        is_error: true,
        ..result("derived", "No.")
    };
    let sent = messages(Item::Results(vec![
        result("b", "one"),
        result("a", "two"),
        other,
    ]));
    let message = |id: &str, name: &str, text: &str| json!({ "role": "tool", "content": text, "tool_name": name, "tool_call_id": id });
    let expected = json!([
        message("b", "f", "one"),
        message("a", "f", "two"),
        message("derived", "g", "No."),
    ]);
    assert_eq!(sent, expected);
}
