use serde_json::json;

use super::assert_rejected;
use crate::server::model::protocol::Protocol;

#[test]
fn invalid_requests_are_rejected() {
    assert_rejected(
        Protocol::ChatCompletions,
        &[
            ("model", |body| body["model"] = json!(null)),
            ("too short", |body| body["messages"] = json!([])),
            ("invalid value `function`", |body| {
                body["messages"][0]["role"] = json!("function");
            }),
            ("invalid part `input_text`", |body| {
                body["messages"][0]["content"] = json!([{ "type": "input_text", "text": "a" }]);
            }),
            ("arguments: not JSON", |body| {
                body["messages"][1]["tool_calls"][0]["function"]["arguments"] = json!("{\"a\":");
            }),
            ("used twice", |body| {
                body["messages"][1]["tool_calls"][1]["id"] =
                    body["messages"][1]["tool_calls"][0]["id"].clone();
            }),
            ("did not have response messages: call_0_1", |body| {
                body["messages"].as_array_mut().unwrap().remove(3);
            }),
            ("did not have response messages: again", |body| {
                body["messages"].as_array_mut().unwrap().pop();
            }),
            ("was answered already", |body| {
                let again = body["messages"][2].clone();
                body["messages"].as_array_mut().unwrap().insert(3, again);
            }),
            ("must be a response to a preceding message", |body| {
                body["messages"].as_array_mut().unwrap().insert(
                    0,
                    json!({
                        "role": "tool", "tool_call_id": "x", "content": "y",
                    }),
                );
            }),
            ("expected `content` or `tool_calls`", |body| {
                body["messages"]
                    .as_array_mut()
                    .unwrap()
                    .push(json!({ "role": "assistant" }));
            }),
            ("names must be unique", |body| {
                body["tools"][1] = body["tools"][0].clone();
            }),
            ("not a valid name", |body| {
                body["tools"][0]["function"]["name"] = json!("a b");
            }),
        ],
    );
}
