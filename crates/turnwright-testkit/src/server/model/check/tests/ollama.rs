use serde_json::json;

use super::assert_rejected;
use crate::server::model::protocol::Protocol;

#[test]
fn invalid_requests_are_rejected() {
    assert_rejected(
        Protocol::Ollama,
        &[
            ("stream: is required", |body| {
                drop(body.as_object_mut().unwrap().remove("stream"));
            }),
            ("messages.0.role", |body| {
                body["messages"][0]["role"] = json!("developer");
            }),
            ("messages.0.content", |body| {
                body["messages"][0]["content"] = json!([{ "type": "text" }]);
            }),
            ("messages.1.tool_calls.0.function.arguments", |body| {
                body["messages"][1]["tool_calls"][0]["function"]["arguments"] = json!("{}");
            }),
            ("the result of `now` where that of `look` is due", |body| {
                body["messages"].as_array_mut().unwrap().swap(2, 3);
            }),
            ("the call of `now` has no result", |body| {
                drop(body["messages"].as_array_mut().unwrap().remove(3));
            }),
            ("a result without a call", |body| {
                let last = body["messages"].as_array().unwrap().last().unwrap().clone();
                body["messages"].as_array_mut().unwrap().push(last);
            }),
            ("tool_name", |body| {
                drop(
                    body["messages"][2]
                        .as_object_mut()
                        .unwrap()
                        .remove("tool_name"),
                );
            }),
            ("`call_0_0` is due", |body| {
                drop(
                    body["messages"][2]
                        .as_object_mut()
                        .unwrap()
                        .remove("tool_call_id"),
                );
            }),
            ("messages.0.images.0", |body| {
                body["messages"][0]["images"] = json!(["data:image/png;base64,AA"]);
            }),
        ],
    );
}
