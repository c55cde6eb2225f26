use serde_json::{Map, Value, json};
use turnwright_core::Media;
use turnwright_core::media::MediaKind;
use turnwright_core::spool::MemoryReader;

use crate::anthropic::AnthropicCodec;
use crate::engine::{
    Assistant, Block, Call, CallResult, Codec as _, EncodedMedia, Item, Layout, Part, Piece, Role,
    User, UserPart, WireMessage,
};

fn write(item: Item<'_>) -> Vec<WireMessage> {
    let mut messages = Vec::new();
    AnthropicCodec::default().write(item, &mut messages);
    messages
}

fn only(item: Item<'_>) -> (Value, WireMessage) {
    let mut messages = write(item);
    assert_eq!(messages.len(), 1);
    let message = messages.remove(0);
    (serde_json::from_str(&message.json).unwrap(), message)
}

#[expect(clippy::needless_pass_by_value, reason = "callers pass `json!`")]
fn fields(value: Value) -> Map<String, Value> {
    value.as_object().unwrap().clone()
}

fn call(arguments: &str, own: Value) -> Piece {
    Piece::Call(Call {
        id: "toolu_1".to_owned(),
        has_own_id: true,
        name: "t".to_owned(),
        arguments: arguments.to_owned(),
        fields: fields(own),
    })
}

fn thinking(text: &str, attached: Value) -> Piece {
    Piece::Reasoning {
        text: text.to_owned(),
        fields: fields(attached),
    }
}

fn text(text: &str) -> Piece {
    Piece::Text {
        text: text.to_owned(),
        fields: Map::new(),
    }
}

fn response(pieces: Vec<Piece>, state: Map<String, Value>) -> Item<'static> {
    Item::Assistant(Assistant {
        pieces,
        state,
        is_own: true,
    })
}

#[test]
fn blocks_keep_their_order_and_what_is_attached_to_them() {
    let citations = json!([{ "type": "page_location" }]);
    let pieces = vec![
        thinking("Hm.", json!({ "signature": "c2ln" })),
        Piece::Text {
            text: "See.".to_owned(),
            fields: fields(json!({ "citations": citations })),
        },
        Piece::Raw(json!({ "type": "server_tool_use", "id": "s" })),
        thinking("", json!({ "signature": "ZW1w" })),
        call(
            r#"{"n": 12345678901234567890123, "f": 1.10}"#,
            json!({ "caller": { "type": "x" }, "id": "no" }),
        ),
    ];
    let (_, message) = only(response(pieces, Map::new()));
    let expected = concat!(
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Hm.","signature":"c2ln"},"#,
        r#"{"type":"text","text":"See.","citations":[{"type":"page_location"}]},{"type":"server_tool_use","id":"s"},"#,
        r#"{"type":"thinking","thinking":"","signature":"ZW1w"},"#,
        r#"{"type":"tool_use","id":"toolu_1","name":"t","input":{"n": 12345678901234567890123, "f": 1.10},"caller":{"type":"x"}}]}"#
    );
    assert_eq!(message.json, expected);
    assert!(!message.has_foreign_calls && message.role == Role::Assistant);
}

#[test]
fn blocks_that_the_api_rejects_are_left_out() {
    let pieces = vec![thinking("unsigned", json!({})), text("\n\n"), text("Yes.")];
    let (value, _) = only(response(pieces, Map::new()));
    assert_eq!(
        value["content"],
        json!([{ "type": "text", "text": "Yes." }])
    );
    assert!(
        write(response(
            vec![thinking("unsigned", json!({})), text(" ")],
            Map::new()
        ))
        .is_empty()
    );
    let parts = vec![UserPart::Text(" ".to_owned())];
    assert!(write(Item::User(User { parts, name: None })).is_empty());
}

#[test]
fn lost_thinking_takes_redacted_thinking_with_it() {
    let mut layout = Layout::default();
    let attached = fields(json!({ "signature": "c2ln" }));
    layout.push(Part::Reasoning(Block {
        bytes: 5,
        fields: attached,
    }));
    let redacted = json!({ "type": "redacted_thinking", "data": "eHh4" });
    layout.push(Part::Raw(redacted.clone()));
    layout.push(Part::Call);
    let mut state = Map::new();
    layout.store(&mut state);
    let pieces = vec![Piece::Raw(redacted), call("{}", json!({}))];
    let (value, message) = only(response(pieces, state));
    assert_eq!(value["content"].as_array().unwrap().len(), 1);
    assert!(message.has_foreign_calls);
}

#[test]
fn calls_of_another_server_are_marked() {
    let item = Item::Assistant(Assistant {
        pieces: vec![call("{}", json!({}))],
        state: Map::new(),
        is_own: false,
    });
    assert!(only(item).1.has_foreign_calls);
    let item = Item::Assistant(Assistant {
        pieces: vec![text("Hi.")],
        state: Map::new(),
        is_own: false,
    });
    assert!(!only(item).1.has_foreign_calls);
}

fn image() -> UserPart {
    let bytes = MemoryReader::new("abc");
    let media = Media::user_attachment(MediaKind::Image, "image/png", "a.png", bytes);
    UserPart::Media(EncodedMedia {
        media: media.build().unwrap(),
        mime: "image/png".to_owned(),
        data: "YWJj".to_owned(),
    })
}

#[test]
fn results_are_one_message_in_order_with_errors_and_media() {
    let result = |id: &str, parts, is_error| CallResult {
        id: id.to_owned(),
        has_own_id: true,
        name: "t".to_owned(),
        parts,
        is_error,
    };
    let words = |text: &str| UserPart::Text(text.to_owned());
    let (value, message) = only(Item::Results(vec![
        result("a", vec![words("One.")], false),
        result("b", vec![words("Two."), image()], true),
        result("c", vec![words("Three.")], true),
        result("d", vec![words("")], false),
    ]));
    let source = json!({ "type": "base64", "media_type": "image/png", "data": "YWJj" });
    let expected = json!({ "role": "user", "content": [
        { "type": "tool_result", "tool_use_id": "a", "content": [{ "type": "text", "text": "One." }] },
        // The API accepts only text in errors.
        { "type": "tool_result", "tool_use_id": "b", "content": [{ "type": "text", "text": "Two." }, { "type": "image", "source": source }] },
        { "type": "tool_result", "tool_use_id": "c", "content": [{ "type": "text", "text": "Three." }], "is_error": true },
        { "type": "tool_result", "tool_use_id": "d" },
    ] });
    assert_eq!(value, expected);
    assert_eq!(message.role, Role::Tool);
    // An image counts as an image, not as text.
    assert!(message.tokens("claude") > 1_000);
}

#[test]
fn system_prompt_is_a_block() {
    let (value, message) = only(Item::System("Be brief."));
    assert_eq!(value, json!({ "type": "text", "text": "Be brief." }));
    assert_eq!(message.role, Role::System);
}
