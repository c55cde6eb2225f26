use serde_json::json;

use super::conversation::Conversation;
use super::{assert_rejected, script};
use crate::server::model::protocol::Protocol;
use crate::server::model::{Script, text};

// The input: question, reasoning, look, now, two results, look, its result.
#[test]
fn invalid_items_are_rejected() {
    assert_rejected(
        Protocol::Responses,
        &[
            ("input: must be at least 1 item", |body| {
                body["input"] = json!([]);
            }),
            ("input.0.role", |body| {
                body["input"][0]["role"] = json!("tool");
            }),
            ("input.0.content.0.type", |body| {
                body["input"][0]["content"] = json!([{ "type": "text", "text": "a" }]);
            }),
            ("no results directly after them: call_0_1", |body| {
                drop(body["input"].as_array_mut().unwrap().remove(5));
            }),
            ("no results directly after them: again", |body| {
                drop(body["input"].as_array_mut().unwrap().pop());
            }),
            ("in the order of their calls", |body| {
                body["input"].as_array_mut().unwrap().swap(4, 5);
            }),
            ("does not follow its call", |body| {
                let again = body["input"][5].clone();
                body["input"].as_array_mut().unwrap().insert(6, again);
            }),
            ("duplicate function call", |body| {
                body["input"][3]["call_id"] = body["input"][2]["call_id"].clone();
            }),
            ("input.2.arguments", |body| {
                body["input"][2]["arguments"] = json!({});
            }),
            ("'fc_elsewhere_0_0' was not issued", |body| {
                body["input"][2]["id"] = json!("fc_elsewhere_0_0");
            }),
            ("Previous response with id 'resp_x' not found", |body| {
                body["previous_response_id"] = json!("resp_x");
            }),
            ("not persisted", |body| {
                body["input"][1] = json!({ "type": "item_reference", "id": "rs_here_0" });
            }),
        ],
    );
}

#[test]
fn invalid_reasoning_is_rejected() {
    assert_rejected(
        Protocol::Responses,
        &[
            ("without its required following item", |body| {
                let question = json!({ "role": "user", "content": "Well?" });
                body["input"].as_array_mut().unwrap().insert(2, question);
            }),
            (
                "without its required 'reasoning' item: 'rs_here_0'",
                |body| {
                    drop(body["input"].as_array_mut().unwrap().remove(1));
                },
            ),
            ("not persisted", |body| {
                drop(
                    body["input"][1]
                        .as_object_mut()
                        .unwrap()
                        .remove("encrypted_content"),
                );
            }),
            ("other content than it was issued for", |body| {
                body["input"][1]["summary"] = json!([]);
            }),
            ("not issued by this server", |body| {
                body["input"][1]["encrypted_content"] = json!("enc-elsewhere-0-0");
            }),
            ("'rs_elsewhere_0' was not issued", |body| {
                body["input"][1]["id"] = json!("rs_elsewhere_0");
            }),
            ("input.1.summary", |body| {
                drop(body["input"][1].as_object_mut().unwrap().remove("summary"));
            }),
        ],
    );
}

#[test]
fn invalid_fields_and_tools_are_rejected() {
    assert_rejected(
        Protocol::Responses,
        &[
            ("messages: is not a known property", |body| {
                body["messages"] = json!([]);
            }),
            ("tools.0.strict: is required", |body| {
                drop(body["tools"][0].as_object_mut().unwrap().remove("strict"));
            }),
            ("'additionalProperties' is required", |body| {
                body["tools"][0]["strict"] = json!(true);
            }),
            ("tools.0.name", |body| {
                body["tools"][0] = json!({ "type": "function", "function": { "name": "a" } });
            }),
            ("not found in 'tools'", |body| {
                body["tool_choice"] = json!({ "type": "function", "name": "other" });
            }),
        ],
    );
}

#[test]
fn message_must_return_with_its_phase_and_its_text() {
    let player = || {
        let reply = text("Looking.", 2).phase("commentary");
        Script::new([reply, text("Done.", 1)]).player().name("here")
    };
    let said = || {
        let mut conversation = Conversation::new(Protocol::Responses, true);
        conversation.ask("Well?");
        conversation.play(&player()).unwrap();
        conversation.ask("And?");
        conversation
    };
    said().check(&player()).unwrap();
    let mut without = said();
    without.body["input"][1]
        .as_object_mut()
        .unwrap()
        .remove("phase");
    assert!(
        without
            .check(&player())
            .unwrap_err()
            .contains("other content")
    );
    let mut other = said();
    other.body["input"][1]["content"][0]["text"] = json!("Looked.");
    assert!(
        other
            .check(&player())
            .unwrap_err()
            .contains("other content")
    );
    // Without its id it is text like any other.
    other.body["input"][1].as_object_mut().unwrap().remove("id");
    other.check(&player()).unwrap();
}

#[test]
fn ciphertext_is_sent_only_on_request() {
    let player = script().player().name("here");
    let mut conversation = Conversation::new(Protocol::Responses, false);
    conversation.body.as_object_mut().unwrap().remove("include");
    conversation.ask("What was it?");
    conversation.play(&player).unwrap();
    assert_eq!(conversation.body["input"][1]["type"], "reasoning");
    assert!(
        conversation.body["input"][1]
            .get("encrypted_content")
            .is_none()
    );
    conversation.give_results();
    conversation.check(&player).unwrap_err();
    // The server has the items then.
    conversation.body["store"] = json!(true);
    conversation.check(&player).unwrap();
}
