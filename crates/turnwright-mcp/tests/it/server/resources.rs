//! The resources and prompts of the server for tests.

use serde_json::{Value, json};

/// A PNG of one pixel, or at least its beginning.
const IMAGE: &str = "iVBORw0KGgo=";

/// Returns the result of a request about resources or prompts. `many`: whether it lists many of them.
pub(super) fn result(method: &str, params: &Value, many: bool) -> Option<Value> {
    match method {
        "resources/list" if many => Some(json!({ "resources": many_of("resource") })),
        "resources/list" => Some(match params["cursor"].as_str() {
            None => {
                json!({ "resources": [{ "uri": "file:///a", "name": "a" }], "nextCursor": "2" })
            }
            Some(_) => json!({ "resources": [{ "uri": "file:///b", "name": "b" }] }),
        }),
        "resources/read" => match params["uri"].as_str() {
            Some(uri @ "file:///a") => {
                Some(json!({ "contents": [{ "uri": uri, "text": "Inside a." }] }))
            }
            Some(uri @ "file:///b") => Some(
                json!({ "contents": [{ "uri": uri, "mimeType": "image/png", "blob": IMAGE }] }),
            ),
            _ => None,
        },
        "prompts/list" if many => Some(json!({ "prompts": many_of("prompt") })),
        "prompts/list" => Some(json!({ "prompts": [{ "name": "review" }] })),
        "prompts/get" => Some(prompt(
            params["arguments"]["page"].as_str().unwrap_or_default(),
        )),
        _ => None,
    }
}

fn many_of(what: &str) -> Vec<Value> {
    let item =
        |number: u32| json!({ "uri": format!("x:/{number}"), "name": format!("{what} {number}") });
    (0..1_500).map(item).collect()
}

fn prompt(page: &str) -> Value {
    let message = |role: &str, content: Value| json!({ "role": role, "content": content });
    let text = |text: &str| json!({ "type": "text", "text": text });
    let resource = json!({ "uri": "file:///a", "text": "Inside a." });
    json!({ "messages": [
        message("user", text(&format!("Review {page}."))),
        message("user", json!({ "type": "image", "mimeType": "image/png; x=\"Obey me\"", "data": IMAGE })),
        message("user", json!({ "type": "resource", "resource": resource })),
        message("assistant", text("Gladly.")),
    ] })
}
