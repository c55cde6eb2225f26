//! Prompts, resources and completion.

use serde_json::{Value, json};
use turnwright_mcp::McpService;
use turnwright_mcp::serve::MethodError;

use crate::tools::PNG;

pub(crate) fn add_to(service: McpService) -> McpService {
    service
        .capability("prompts", json!({}))
        .capability("completions", json!({}))
        .capability("resources", json!({ "subscribe": true }))
        .method("prompts/list", async |_, _| Ok(prompts()))
        .method("prompts/get", async |params: Value, _| prompt(&params))
        .method("resources/list", async |_, _| Ok(resources()))
        .method("resources/templates/list", async |_, _| Ok(templates()))
        .method("resources/read", async |params: Value, _| resource(&params))
        .method("resources/subscribe", async |_, _| Ok(json!({})))
        .method("resources/unsubscribe", async |_, _| Ok(json!({})))
        .method("completion/complete", async |_, _| {
            Ok(json!({ "completion": { "values": ["paris", "park", "party"], "total": 3, "hasMore": false } }))
        })
}

fn prompts() -> Value {
    let argument = |name: &str, description: &str| json!({ "name": name, "description": description, "required": true });
    json!({ "prompts": [
        { "name": "test_simple_prompt", "description": "A simple prompt without arguments" },
        {
            "name": "test_prompt_with_arguments",
            "description": "A prompt with arguments",
            "arguments": [argument("arg1", "First test argument"), argument("arg2", "Second test argument")],
        },
        {
            "name": "test_prompt_with_embedded_resource",
            "description": "A prompt with an embedded resource",
            "arguments": [argument("resourceUri", "URI of the resource to embed")],
        },
        { "name": "test_prompt_with_image", "description": "A prompt with an image" },
        { "name": "test_input_required_result_prompt", "description": "A prompt that asks for input" },
    ] })
}

fn prompt(params: &Value) -> Result<Value, MethodError> {
    let argument = |name: &str| params["arguments"][name].as_str().unwrap_or_default();
    let user = |content: Value| json!({ "role": "user", "content": content });
    let text = |text: &str| user(json!({ "type": "text", "text": text }));
    let messages = match params["name"].as_str().unwrap_or_default() {
        "test_simple_prompt" => vec![text("This is a simple prompt for testing.")],
        "test_prompt_with_arguments" => {
            let (one, two) = (argument("arg1"), argument("arg2"));
            vec![text(&format!(
                "Prompt with arguments: arg1='{one}', arg2='{two}'"
            ))]
        }
        "test_prompt_with_embedded_resource" => {
            let content = "Embedded resource content for testing.";
            let resource = json!({ "uri": argument("resourceUri"), "mimeType": "text/plain", "text": content });
            vec![
                user(json!({ "type": "resource", "resource": resource })),
                text("Please process the embedded resource above."),
            ]
        }
        "test_prompt_with_image" => vec![
            user(json!({ "type": "image", "data": PNG, "mimeType": "image/png" })),
            text("Please analyze the image above."),
        ],
        "test_input_required_result_prompt" => {
            let answer = &params["inputResponses"]["user_context"]["content"]["context"];
            match answer.as_str() {
                Some(context) => vec![text(&format!("Use this context: {context}"))],
                None => return Ok(context_needed()),
            }
        }
        _ => return Err(MethodError::invalid_params("there is no such prompt")),
    };
    Ok(json!({ "messages": messages }))
}

fn context_needed() -> Value {
    let schema = json!({ "type": "object", "properties": { "context": { "type": "string" } }, "required": ["context"] });
    let params = json!({ "mode": "form", "message": "What context should the prompt use?", "requestedSchema": schema });
    let request = json!({ "method": "elicitation/create", "params": params });
    json!({ "resultType": "input_required", "inputRequests": { "user_context": request } })
}

fn resources() -> Value {
    let resource = |uri: &str, name: &str, mime: &str| json!({ "uri": uri, "name": name, "description": name, "mimeType": mime });
    json!({ "resources": [
        resource("test://static-text", "Static text", "text/plain"),
        resource("test://static-binary", "Static image", "image/png"),
        resource("test://watched-resource", "Watched resource", "text/plain"),
    ] })
}

fn templates() -> Value {
    json!({ "resourceTemplates": [{
        "uriTemplate": "test://template/{id}/data",
        "name": "Template",
        "description": "A resource template",
        "mimeType": "application/json",
    }] })
}

fn resource(params: &Value) -> Result<Value, MethodError> {
    let uri = params["uri"].as_str().unwrap_or_default();
    let text = |mime: &str, text: &str| json!({ "uri": uri, "mimeType": mime, "text": text });
    let template = uri
        .strip_prefix("test://template/")
        .and_then(|rest| rest.strip_suffix("/data"));
    let contents = match (uri, template) {
        ("test://static-text", _) => text(
            "text/plain",
            "This is the content of the static text resource.",
        ),
        ("test://static-binary", _) => json!({ "uri": uri, "mimeType": "image/png", "blob": PNG }),
        ("test://watched-resource", _) => text("text/plain", "Watched resource content"),
        (_, Some(id)) => {
            let data =
                json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            text("application/json", &data.to_string())
        }
        _ => return Err(MethodError::resource_not_found(uri)),
    };
    Ok(json!({ "contents": [contents] }))
}
