use serde_json::json;

use super::assert_rejected;
use crate::server::model::protocol::Protocol;

#[test]
fn invalid_requests_are_rejected() {
    assert_rejected(
        Protocol::ChatCompletions,
        &[
            ("model", |body| body["model"] = json!(null)),
            ("messages: must be at least 1 item", |body| {
                body["messages"] = json!([]);
            }),
            ("messages.0.role", |body| {
                body["messages"][0]["role"] = json!("function");
            }),
            ("messages.0.content.0.type", |body| {
                body["messages"][0]["content"] = json!([{ "type": "input_text", "text": "a" }]);
            }),
            ("arguments: not JSON", |body| {
                body["messages"][1]["tool_calls"][0]["function"]["arguments"] = json!("{\"a\":");
            }),
            ("used twice", |body| {
                body["messages"][1]["tool_calls"][1]["id"] =
                    body["messages"][1]["tool_calls"][0]["id"].clone();
            }),
            ("no results directly after them: call_0_1", |body| {
                body["messages"].as_array_mut().unwrap().remove(3);
            }),
            ("no results directly after them: again", |body| {
                body["messages"].as_array_mut().unwrap().pop();
            }),
            ("`call_0_1` is due, not `call_0_0`", |body| {
                let again = body["messages"][2].clone();
                body["messages"].as_array_mut().unwrap().insert(3, again);
            }),
            ("the result of `x` does not follow its call", |body| {
                body["messages"].as_array_mut().unwrap().insert(
                    0,
                    json!({
                        "role": "tool", "tool_call_id": "x", "content": "y",
                    }),
                );
            }),
            ("messages.6", |body| {
                body["messages"]
                    .as_array_mut()
                    .unwrap()
                    .push(json!({ "role": "assistant" }));
            }),
            ("names must be unique", |body| {
                body["tools"][1] = body["tools"][0].clone();
            }),
            ("tools.0.function.name", |body| {
                body["tools"][0]["function"]["name"] = json!("a b");
            }),
        ],
    );
}
