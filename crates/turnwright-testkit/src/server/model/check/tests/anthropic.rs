use serde_json::json;

use super::conversation::Conversation;
use super::{Change, assert_rejected, script};
use crate::server::model::protocol::Protocol;
use crate::server::model::{Script, text};

#[test]
fn invalid_messages_are_rejected() {
    assert_rejected(
        Protocol::Anthropic,
        &[
            ("first message must use the \"user\" role", |body| {
                drop(body["messages"].as_array_mut().unwrap().remove(0));
            }),
            ("messages.2.role", |body| {
                body["messages"][2]["role"] = json!("tool");
            }),
            ("messages.0.content", |body| {
                body["messages"][0]["content"] = json!("");
            }),
            ("messages.0.content.0.text", |body| {
                body["messages"][0]["content"] = json!([{ "type": "text", "text": " " }]);
            }),
            ("messages.2.content.0.content.0.text", |body| {
                body["messages"][2]["content"][0]["content"] =
                    json!([{ "type": "text", "text": "" }]);
            }),
            ("no results directly after them: toolu_0_1", |body| {
                drop(body["messages"][2]["content"].as_array_mut().unwrap().pop());
            }),
            ("no results directly after them: again", |body| {
                drop(body["messages"].as_array_mut().unwrap().pop());
            }),
            // The results in two messages.
            ("no results directly after them: toolu_0_1", |body| {
                let second = body["messages"][2]["content"].as_array_mut().unwrap().pop();
                let message = json!({ "role": "user", "content": [second] });
                body["messages"].as_array_mut().unwrap().insert(3, message);
            }),
            ("in the order of their calls", |body| {
                body["messages"][2]["content"]
                    .as_array_mut()
                    .unwrap()
                    .swap(0, 1);
            }),
            ("`tool_result` blocks must come first", |body| {
                let text = json!({ "type": "text", "text": "Here." });
                body["messages"][2]["content"]
                    .as_array_mut()
                    .unwrap()
                    .insert(0, text);
            }),
            ("`toolu_0_0` is due, not `toolu_x`", |body| {
                body["messages"][2]["content"][0]["tool_use_id"] = json!("toolu_x");
            }),
            ("messages.1.content.1.id", |body| {
                body["messages"][1]["content"][1]["id"] = json!("call:1");
            }),
            ("messages.1.content.1.input", |body| {
                body["messages"][1]["content"][1]["input"] = json!("{}");
            }),
            ("messages.1.content.3.type", |body| {
                body["messages"][1]["content"]
                    .as_array_mut()
                    .unwrap()
                    .push(json!({ "type": "image" }));
            }),
            ("is_error", |body| {
                body["messages"][2]["content"][0]["is_error"] = json!("yes");
            }),
        ],
    );
}

#[test]
fn invalid_thinking_is_rejected() {
    assert_rejected(
        Protocol::Anthropic,
        &[
            (
                "Expected `thinking` or `redacted_thinking`, but found `tool_use`",
                |body| {
                    drop(
                        body["messages"][1]["content"]
                            .as_array_mut()
                            .unwrap()
                            .remove(0),
                    );
                },
            ),
            // The second message has hidden thinking: no text, but a signature.
            ("messages.3.content.0.type: Expected `thinking`", |body| {
                drop(
                    body["messages"][3]["content"]
                        .as_array_mut()
                        .unwrap()
                        .remove(0),
                );
            }),
            ("other content than it was issued for", |body| {
                body["messages"][1]["content"][0]["thinking"] = json!("I did look.");
            }),
            ("messages.1.content.0.signature", |body| {
                drop(
                    body["messages"][1]["content"][0]
                        .as_object_mut()
                        .unwrap()
                        .remove("signature"),
                );
            }),
            ("not issued by this server", |body| {
                body["messages"][1]["content"][0]["signature"] = json!("sig-elsewhere-0-0");
            }),
            ("redacted_thinking", |body| {
                body["messages"][1]["content"][0] =
                    json!({ "type": "redacted_thinking", "data": "enc-elsewhere-0-0" });
            }),
            ("`temperature` may not be set", |body| {
                body["temperature"] = json!(0.5);
            }),
            ("forces tool use", |body| {
                body["tool_choice"] = json!({ "type": "any" });
            }),
            ("less than `max_tokens`", |body| {
                body["thinking"]["budget_tokens"] = json!(4096);
            }),
        ],
    );
}

#[test]
fn other_invalid_fields_are_rejected() {
    assert_rejected(
        Protocol::Anthropic,
        &[
            ("max_tokens: is required", |body| {
                drop(body.as_object_mut().unwrap().remove("max_tokens"));
            }),
            ("max_output_tokens: is not a known property", |body| {
                body["max_output_tokens"] = json!(1);
            }),
            ("system.0.text", |body| {
                body["system"][0]["text"] = json!("");
            }),
            ("input_schema.type: is required", |body| {
                body["tools"][0]["input_schema"] = json!({});
            }),
            ("tools.0.input_schema.type: must be", |body| {
                body["tools"][0]["input_schema"]["type"] = json!("string");
            }),
            ("tools.0.input_schema", |body| {
                body["tools"][0]["input_schema"]["anyOf"] = json!([]);
            }),
            ("not found in provided tools", |body| {
                body["thinking"] = json!({ "type": "disabled" });
                body["tool_choice"] = json!({ "type": "tool", "name": "other" });
            }),
            ("while providing tools", |body| {
                body.as_object_mut().unwrap().remove("tools");
                body["tool_choice"] = json!({ "type": "auto" });
            }),
            ("Found 5", |body| {
                let mark = || json!({ "type": "ephemeral" });
                body["cache_control"] = mark();
                body["tools"][0]["cache_control"] = mark();
                body["messages"][2]["content"][0]["cache_control"] = mark();
                body["messages"][2]["content"][1]["cache_control"] = mark();
            }),
            ("cannot be set on thinking", |body| {
                body["messages"][1]["content"][0]["cache_control"] = json!({ "type": "ephemeral" });
            }),
        ],
    );
}

#[test]
fn headers_are_required() {
    for (number, status, message) in [(0, 401, "x-api-key"), (1, 400, "anthropic-version")] {
        let mut conversation = Conversation::new(Protocol::Anthropic, true);
        conversation.ask("Hello?");
        conversation.headers.remove(number);
        let played = script().player().answer(&conversation.request());
        assert_eq!(played.answer.status, status);
        assert!(played.problem.unwrap().contains(message));
    }
}

#[test]
fn key_may_be_a_bearer_token_and_the_version_decides_about_sampling() {
    for (version, sampling, accepted) in [
        ("2023-06-01", false, true),
        ("2023-06-01", true, true),
        ("2026-10-21", false, true),
        ("2026-10-21", true, false),
        ("newest", false, false),
    ] {
        let mut conversation = Conversation::new(Protocol::Anthropic, true);
        conversation.headers = vec![
            ("authorization".to_owned(), "Bearer k".to_owned()),
            ("anthropic-version".to_owned(), version.to_owned()),
        ];
        conversation.ask("Hello?");
        if sampling {
            conversation.body["thinking"] = json!({ "type": "disabled" });
            conversation.body["temperature"] = json!(1.0);
        }
        let checked = conversation.check(&script().player());
        assert_eq!(checked.is_ok(), accepted, "{version}: {checked:?}");
    }
}

#[test]
fn blocks_of_the_servers_own_tools_come_back_complete() {
    let search =
        json!({ "type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {} });
    let found = json!({
        "type": "web_search_tool_result", "tool_use_id": "srvtoolu_1",
        "content": [{ "type": "web_search_result", "encrypted_content": "$STATE" }],
    });
    let reply = text("Blue.", 1)
        .with_block(Protocol::Anthropic, search)
        .with_block(Protocol::Anthropic, found);
    let replies = || {
        Script::new([reply.clone(), text("Yes.", 1)])
            .player()
            .name("here")
    };
    let said = || {
        let mut conversation = Conversation::new(Protocol::Anthropic, true);
        conversation.ask("Is the sky blue?");
        conversation.play(&replies()).unwrap();
        conversation.ask("Sure?");
        conversation
    };
    said().check(&replies()).unwrap();
    let changes: [(&str, Change); 2] = [
        ("without a corresponding result block", |body| {
            drop(
                body["messages"][1]["content"]
                    .as_array_mut()
                    .unwrap()
                    .remove(1),
            );
        }),
        ("Invalid `encrypted_content`", |body| {
            body["messages"][1]["content"][1]["content"][0]["encrypted_content"] =
                json!("enc-elsewhere-0-0");
        }),
    ];
    for (message, change) in changes {
        let mut conversation = said();
        change(&mut conversation.body);
        let problem = conversation.check(&replies()).unwrap_err();
        assert!(problem.contains(message), "{problem}");
    }
}
