//! Replies in each protocol.

mod forms;
mod pieces;
pub(super) mod read;

use proptest::prelude::*;
use serde_json::json;

use super::asked::Asked;
use super::protocol::Protocol;
use super::reply::cut;
use super::{Call, Reply, Script, reasoning, text};

proptest! {
    #[test]
    fn pieces_add_up_to_the_text(text in any::<String>(), pieces in 0_usize..40) {
        let cut = cut(&text, pieces);
        prop_assert_eq!(&cut.concat(), &text);
        prop_assert!(cut.len() <= pieces.max(1));
        prop_assert!(cut.iter().all(|piece| !piece.is_empty()));
    }
}

#[test]
fn script_is_read_from_json() {
    let file = json!([
        { "text": "Hello", "pieces": 2 },
        { "reasoning": "Hm.", "calls": [{ "name": "look", "arguments": "{\"a\":" }], "finish": "length" },
        { "text": "Bye", "usage": { "input": 2, "output": 1, "cached": 1 } },
    ]);
    let script: Script = serde_json::from_value(file).unwrap();
    let built = Script::new([
        text("Hello", 2),
        reasoning("Hm.")
            .with_call(Call::new("look", "{\"a\":"))
            .finish("length"),
    ]);
    assert_eq!(built.replies(), &script.replies()[..2]);
}

#[test]
fn arguments_in_a_file_may_be_an_object_or_missing() {
    let read = |call| serde_json::from_value::<Call>(call).unwrap().arguments();
    assert_eq!(
        read(json!({ "name": "a", "arguments": { "b": 1 } })),
        r#"{"b":1}"#
    );
    assert_eq!(read(json!({ "name": "a" })), "{}");
    assert_eq!(
        read(json!({ "name": "a", "arguments": "not json" })),
        "not json"
    );
}

#[test]
fn stream_starts_with_the_role_and_ends_with_reason_and_usage() {
    let reply = Reply::default().with_text("Hi").usage(3, 1);
    let events = reply.events(&Asked::streamed(Protocol::ChatCompletions));
    let events: Vec<_> = events.into_iter().map(|event| event.data).collect();
    assert_eq!(events.len(), 5);
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    assert_eq!(events[1]["choices"][0]["delta"]["content"], "H");
    assert_eq!(events[3]["choices"][0]["finish_reason"], "stop");
    assert_eq!(events[4]["choices"], json!([]));
    assert_eq!(events[4]["usage"]["total_tokens"], 4);
}
