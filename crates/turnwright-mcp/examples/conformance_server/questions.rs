//! Tools that ask the client.

use serde_json::{Value, json};
use turnwright_core::{Error, Tool, ToolContext, ToolError};
use turnwright_mcp::serve::client_request;

fn text_field(name: &str) -> Value {
    json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] })
}

async fn ask(
    ctx: &ToolContext,
    name: &str,
    message: &str,
    schema: Value,
) -> Result<Value, ToolError> {
    let params = json!({ "message": message, "requestedSchema": schema });
    let gate = client_request(name, "elicitation/create", params)?;
    Ok(ctx.wait_for(gate).await?)
}

async fn sample(
    ctx: &ToolContext,
    name: &str,
    prompt: &str,
    tokens: u32,
) -> Result<String, ToolError> {
    let content = json!({ "type": "text", "text": prompt });
    let params =
        json!({ "messages": [{ "role": "user", "content": content }], "maxTokens": tokens });
    let gate = client_request(name, "sampling/createMessage", params)?;
    let answer = ctx.wait_for(gate).await?;
    Ok(answer["content"]["text"]
        .as_str()
        .unwrap_or_default()
        .to_owned())
}

async fn roots(ctx: &ToolContext, name: &str) -> Result<Value, ToolError> {
    Ok(ctx
        .wait_for(client_request(name, "roots/list", json!({}))?)
        .await?)
}

fn completed(content: &Value) -> String {
    format!("Elicitation completed: action=accept, content={content}")
}

fn defaults() -> Value {
    json!({
        "type": "object",
        "properties": {
            "name": { "type": "string", "default": "John Doe" },
            "age": { "type": "integer", "default": 30 },
            "score": { "type": "number", "default": 95.5 },
            "status": { "type": "string", "enum": ["active", "inactive", "pending"], "default": "active" },
            "verified": { "type": "boolean", "default": true },
        },
    })
}

fn enums() -> Value {
    let titled = |values: [&str; 3], titles: [&str; 3]| -> Vec<Value> {
        let both = values.iter().zip(titles);
        both.map(|(value, title)| json!({ "const": value, "title": title }))
            .collect()
    };
    let values = ["value1", "value2", "value3"];
    json!({
        "type": "object",
        "properties": {
            "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
            "titledSingle": { "type": "string", "oneOf": titled(values, ["First Option", "Second Option", "Third Option"]) },
            "legacyEnum": { "type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"] },
            "untitledMulti": { "type": "array", "items": { "type": "string", "enum": ["option1", "option2", "option3"] } },
            "titledMulti": { "type": "array", "items": { "anyOf": titled(values, ["First Choice", "Second Choice", "Third Choice"]) } },
        },
    })
}

pub(crate) fn all() -> Result<Vec<Tool>, Error> {
    let with = |name: &str, schema: Value| {
        Tool::dynamic(name, schema).description("A tool of the conformance suite.")
    };
    let tool = |name: &str| with(name, json!({ "type": "object", "properties": {} }));
    Ok(vec![
        with("test_sampling", text_field("prompt"))
            .handler(async |args: Value, ctx: ToolContext| {
                let prompt = args["prompt"].as_str().unwrap_or_default();
                Ok(format!("LLM response: {}", sample(&ctx, "sampling", prompt, 100).await?))
            })
            .build()?,
        with("test_elicitation", text_field("message"))
            .handler(async |args: Value, ctx: ToolContext| {
                let schema = json!({
                    "type": "object",
                    "properties": {
                        "username": { "type": "string", "description": "User's response" },
                        "email": { "type": "string", "description": "User's email address" },
                    },
                    "required": ["username", "email"],
                });
                let message = args["message"].as_str().unwrap_or_default();
                let content = ask(&ctx, "user", message, schema).await?;
                Ok(format!("User response: action: accept, content: {content}"))
            })
            .build()?,
        tool("test_elicitation_sep1034_defaults")
            .handler(async |_, ctx: ToolContext| Ok(completed(&ask(&ctx, "defaults", "Please review", defaults()).await?)))
            .build()?,
        tool("test_elicitation_sep1330_enums")
            .handler(async |_, ctx: ToolContext| Ok(completed(&ask(&ctx, "enums", "Please choose", enums()).await?)))
            .build()?,
        tool("test_streaming_elicitation")
            .handler(async |_, ctx: ToolContext| {
                ctx.progress("asks");
                Ok(completed(&ask(&ctx, "user_name", "What is your name?", text_field("name")).await?))
            })
            .build()?,
        tool("test_missing_capability")
            .handler(async |_, ctx: ToolContext| sample(&ctx, "sampling", "Hello", 10).await)
            .build()?,
        tool("test_input_required_result_elicitation")
            .handler(async |_, ctx: ToolContext| {
                let answer = ask(&ctx, "user_name", "What is your name?", text_field("name")).await?;
                Ok(format!("Hello, {}!", answer["name"].as_str().unwrap_or_default()))
            })
            .build()?,
        tool("test_input_required_result_sampling")
            .handler(async |_, ctx: ToolContext| sample(&ctx, "capital_question", "What is the capital of France?", 100).await)
            .build()?,
        tool("test_input_required_result_list_roots")
            .handler(async |_, ctx: ToolContext| Ok(format!("Roots: {}", roots(&ctx, "client_roots").await?)))
            .build()?,
        tool("test_input_required_result_request_state")
            .handler(async |_, ctx: ToolContext| {
                let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] });
                ask(&ctx, "confirm", "Please confirm", schema).await?;
                Ok("state-ok")
            })
            .build()?,
        tool("test_input_required_result_tampered_state")
            .handler(async |_, ctx: ToolContext| {
                let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"] });
                ask(&ctx, "confirm", "Please confirm", schema).await?;
                Ok("state-ok")
            })
            .build()?,
        tool("test_input_required_result_multiple_inputs")
            .handler(async |_, ctx: ToolContext| {
                let (name, greeting, roots) = tokio::try_join!(
                    ask(&ctx, "user_name", "What is your name?", text_field("name")),
                    sample(&ctx, "greeting", "Generate a greeting", 50),
                    roots(&ctx, "client_roots"),
                )?;
                Ok(format!("{greeting} {} {roots}", name["name"]))
            })
            .build()?,
        tool("test_input_required_result_multi_round")
            .handler(async |_, ctx: ToolContext| {
                let name = ask(&ctx, "step1", "Step 1: What is your name?", text_field("name")).await?;
                let color = ask(&ctx, "step2", "Step 2: What is your favorite color?", text_field("color")).await?;
                Ok(format!("{} likes {}", name["name"], color["color"]))
            })
            .build()?,
        tool("test_input_required_result_capabilities")
            .handler(async |_, ctx: ToolContext| {
                // One of the two is enough.
                let (name, greeting) = tokio::join!(
                    ask(&ctx, "user_name", "What is your name?", text_field("name")),
                    sample(&ctx, "greeting", "Generate a greeting", 50),
                );
                Ok(format!("{:?} {:?}", name.ok(), greeting.ok()))
            })
            .build()?,
    ])
}
