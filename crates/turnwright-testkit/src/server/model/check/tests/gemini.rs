use serde_json::json;

use super::conversation::Conversation;
use super::{assert_rejected, open_exchange, script};
use crate::server::model::protocol::Protocol;
use crate::server::model::{Script, text};

#[test]
fn invalid_requests_are_rejected() {
    assert_rejected(
        Protocol::Gemini,
        &[
            ("messages: is not a known property", |body| {
                body["messages"] = json!([]);
            }),
            (
                "generationConfig.max_output_tokens: is not a known property",
                |body| {
                    body["generationConfig"] = json!({ "max_output_tokens": 1 });
                },
            ),
            ("contents: must be at least 1 item", |body| {
                body["contents"] = json!([]);
            }),
            ("contents.0.role", |body| {
                body["contents"][0]["role"] = json!("assistant");
            }),
            ("must alternate", |body| {
                body["contents"]
                    .as_array_mut()
                    .unwrap()
                    .push(json!({ "role": "user", "parts": [{ "text": "a" }] }));
            }),
            ("must be the user's", |body| {
                drop(body["contents"].as_array_mut().unwrap().pop());
            }),
            ("contents.0.parts.0", |body| {
                body["contents"][0]["parts"][0] = json!({});
            }),
            ("contents.0.parts.0", |body| {
                body["contents"][0]["parts"][0]["inlineData"] = json!({});
            }),
            (
                "contents.0.parts.0.functionCall: is not a known property",
                |body| {
                    body["contents"][0]["parts"][0] = json!({ "functionCall": { "name": "look" } });
                },
            ),
            ("number of function response parts", |body| {
                drop(body["contents"][2]["parts"].as_array_mut().unwrap().pop());
            }),
            ("the name of a function response", |body| {
                body["contents"][2]["parts"]
                    .as_array_mut()
                    .unwrap()
                    .swap(0, 1);
            }),
            ("the id of a function response", |body| {
                body["contents"][2]["parts"][0]["functionResponse"]["id"] = json!("made-up");
            }),
            ("contents.2.parts.0.functionResponse.response", |body| {
                body["contents"][2]["parts"][0]["functionResponse"]["response"] = json!("42");
            }),
            ("before other parts", |body| {
                body["contents"][2]["parts"]
                    .as_array_mut()
                    .unwrap()
                    .insert(0, json!({ "text": "Here." }));
            }),
            ("not as `parameters`", |body| {
                let declaration = &mut body["tools"][0]["functionDeclarations"][0];
                declaration["parameters"] = declaration["parametersJsonSchema"].clone();
            }),
            ("parametersJsonSchema.type", |body| {
                body["tools"][0]["functionDeclarations"][0]["parametersJsonSchema"] =
                    json!({ "type": "string" });
            }),
            ("functionCallingConfig.mode", |body| {
                body["toolConfig"] = json!({ "functionCallingConfig": { "mode": "any" } });
            }),
            ("is not allowed here", |body| {
                let config = json!({ "mode": "ANY", "allowedFunctionNames": ["other"] });
                body["toolConfig"] = json!({ "functionCallingConfig": config });
            }),
        ],
    );
}

#[test]
fn signatures_must_return_on_their_parts() {
    assert_rejected(
        Protocol::Gemini,
        &[
            ("missing a thought_signature", |body| {
                let parts = body["contents"][1]["parts"].as_array_mut().unwrap();
                for part in parts {
                    part.as_object_mut().unwrap().remove("thoughtSignature");
                }
            }),
            ("other content than it was issued for", |body| {
                let parts = body["contents"][1]["parts"].as_array_mut().unwrap();
                let signed = parts
                    .iter()
                    .position(|part| part.get("thoughtSignature").is_some())
                    .unwrap();
                let signature = parts[signed]
                    .as_object_mut()
                    .unwrap()
                    .remove("thoughtSignature")
                    .unwrap();
                parts[signed + 1]["thoughtSignature"] = signature;
            }),
            ("did not come with this part", |body| {
                body["contents"][1]["parts"][0]["thoughtSignature"] = json!("thought-here-0-0");
            }),
            ("not issued by this server", |body| {
                let parts = body["contents"][1]["parts"].as_array_mut().unwrap();
                let signed = parts
                    .iter_mut()
                    .find(|part| part.get("thoughtSignature").is_some())
                    .unwrap();
                signed["thoughtSignature"] = json!("thought-elsewhere-0-0");
            }),
        ],
    );
    let (mut conversation, player) = open_exchange(Protocol::Gemini, true);
    let parts = conversation.body["contents"][1]["parts"]
        .as_array_mut()
        .unwrap();
    let signed = parts
        .iter_mut()
        .find(|part| part.get("thoughtSignature").is_some())
        .unwrap();
    signed["thoughtSignature"] = json!("skip_thought_signature_validator");
    conversation.check(&player).unwrap();
}

#[test]
fn signature_of_a_text_must_return_and_that_of_an_earlier_turn_may_not() {
    for streamed in [true, false] {
        let player = Script::new([text("One.", 2), text("Two.", 2)])
            .player()
            .name("here");
        let mut conversation = Conversation::new(Protocol::Gemini, streamed);
        conversation.ask("Count.");
        conversation.play(&player).unwrap();
        conversation.ask("Go on.");
        let complete = conversation.body.clone();
        let parts = conversation.body["contents"][1]["parts"]
            .as_array_mut()
            .unwrap();
        for part in parts.iter_mut() {
            part.as_object_mut().unwrap().remove("thoughtSignature");
        }
        let problem = conversation.check(&player).unwrap_err();
        assert!(
            problem.contains("the text came with a thought signature"),
            "{problem}"
        );
        conversation.body = complete;
        conversation.check(&player).unwrap();
    }
}

#[test]
fn key_must_be_in_the_header() {
    for query in ["?key=k", "&key=k"] {
        let mut conversation = Conversation::new(Protocol::Gemini, query == "&key=k");
        conversation.ask("Hello?");
        conversation.query = query.to_owned();
        let problem = conversation.check(&script().player()).unwrap_err();
        assert!(problem.contains("`x-goog-api-key`"), "{problem}");
    }
    let mut conversation = Conversation::new(Protocol::Gemini, true);
    conversation.ask("Hello?");
    conversation.headers.clear();
    assert_eq!(
        script()
            .player()
            .answer(&conversation.request())
            .answer
            .status,
        403
    );
}
