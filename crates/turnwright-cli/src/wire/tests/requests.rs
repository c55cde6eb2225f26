//! The requests of each protocol, read into the same form.

use serde_json::{Value, json};
use turnwright::models::Protocol;
use turnwright::record::{Record, ToolResults};
use turnwright_testkit::cassette::Exchange;

use crate::wire::beginning::Beginning;
use crate::wire::request::{Entry, OfferedTool, RecordedCall, RecordedRequest, RecordedResult};
use crate::wire::turns::turns;

fn exchange(path: &str, request: &Value, response: &Value) -> Exchange {
    let request = json!({ "method": "POST", "path": path, "body": request });
    let response = json!({ "status": 200, "body": response.to_string() });
    serde_json::from_value(json!({ "request": request, "response": response })).unwrap()
}

/// The same conversation in each protocol: a system prompt, a user, a call with text, its result, another message.
fn sample(protocol: Protocol) -> (&'static str, Value) {
    let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
    let described = |field: &str| {
        let mut tool = json!({ "name": "weather", "description": "The weather." });
        tool[field] = schema.clone();
        tool
    };
    let city = json!({ "city": "Bern" });
    let role = |role: &str, content: Value| json!({ "role": role, "content": content });
    match protocol {
        Protocol::Responses => {
            let mut function = described("parameters");
            function["type"] = "function".into();
            let message = |role: &str, text: &str| json!({ "type": "message", "role": role, "content": text });
            let input = json!([
                message("system", "Be brief."),
                message("user", "How is Bern?"),
                { "type": "reasoning", "id": "rs_1", "summary": [] },
                { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I look." }] },
                { "type": "function_call", "call_id": "c1", "name": "weather", "arguments": city.to_string() },
                { "type": "function_call_output", "call_id": "c1", "output": "rain" },
                message("user", "And now?"),
            ]);
            let tools = json!([function, { "type": "web_search" }]);
            (
                "/v1/responses",
                json!({ "model": "m", "input": input, "tools": tools, "stream": true }),
            )
        }
        Protocol::Anthropic => {
            let call = json!({ "type": "tool_use", "id": "c1", "name": "weather", "input": city });
            let text = |text: &str| json!({ "type": "text", "text": text });
            let result =
                json!({ "type": "tool_result", "tool_use_id": "c1", "content": [text("rain")] });
            let messages = json!([
                role("user", json!("How is Bern?")),
                role(
                    "assistant",
                    json!([{ "type": "thinking", "thinking": "Hm.", "signature": "s" }, text("I look."), call]),
                ),
                role("user", json!([result, text("And now?")])),
            ]);
            let tools =
                json!([described("input_schema"), { "type": "web_search", "name": "web_search" }]);
            let system = json!([text("Be brief.")]);
            (
                "/v1/messages",
                json!({ "model": "m", "system": system, "messages": messages, "tools": tools, "stream": true }),
            )
        }
        Protocol::Gemini => {
            let content = |role: &str, parts: Value| json!({ "role": role, "parts": parts });
            let call = json!({ "functionCall": { "name": "weather", "args": city }, "thoughtSignature": "s" });
            let result = json!({ "functionResponse": { "name": "weather", "response": { "result": "rain" } } });
            let contents = json!([
                content("user", json!([{ "text": "How is Bern?" }])),
                content(
                    "model",
                    json!([{ "text": "Hm.", "thought": true }, { "text": "I look." }, call])
                ),
                content("user", json!([result])),
                content("user", json!([{ "text": "And now?" }])),
            ]);
            let tools = json!([
                { "functionDeclarations": [described("parametersJsonSchema")], "codeExecution": null },
                { "web_search": {} },
            ]);
            let system = json!({ "parts": [{ "text": "Be brief." }] });
            (
                "/v1beta/models/m:streamGenerateContent?alt=sse",
                json!({ "systemInstruction": system, "contents": contents, "tools": tools }),
            )
        }
        _ => {
            let is_ollama = protocol == Protocol::Ollama;
            let arguments = match is_ollama {
                true => city,
                false => city.to_string().into(),
            };
            let call =
                json!({ "id": "c1", "function": { "name": "weather", "arguments": arguments } });
            let mut calls = role("assistant", json!("I look."));
            calls["tool_calls"] = json!([call]);
            let mut result = role("tool", json!("rain"));
            match is_ollama {
                true => result["tool_name"] = "weather".into(),
                false => result["tool_call_id"] = "c1".into(),
            }
            let messages = json!([
                role("system", json!("Be brief.")),
                role("user", json!("How is Bern?")),
                calls,
                result,
                role("user", json!("And now?")),
            ]);
            let tools = json!([
                { "type": "function", "function": described("parameters") },
                { "type": "web_search" },
            ]);
            let mut body = json!({ "model": "m", "messages": messages, "tools": tools });
            match is_ollama {
                true => ("/api/chat", body),
                false => {
                    body["stream"] = true.into();
                    ("/v1/chat/completions", body)
                }
            }
        }
    }
}

#[test]
fn requests_of_all_protocols_are_read_into_the_same_form() {
    for protocol in Protocol::ALL {
        let (path, body) = sample(protocol);
        let exchange = exchange(path, &body, &Value::Null);
        assert_eq!(Protocol::detect(path, b""), Some(protocol));
        let request = RecordedRequest::of(protocol, &exchange);
        assert_eq!(
            (
                request.model.as_str(),
                request.system.as_str(),
                request.streams
            ),
            ("m", "Be brief.", true),
            "{protocol}"
        );
        // Only Gemini has no ids, and only it and Ollama have names at results.
        let id = |present: bool| present.then(|| "c1".to_owned());
        let is_gemini = protocol == Protocol::Gemini;
        let has_name = is_gemini || protocol == Protocol::Ollama;
        let expected = [
            Entry::User("How is Bern?".to_owned()),
            Entry::Model {
                text: "I look.".to_owned(),
                calls: vec![RecordedCall {
                    id: id(!is_gemini),
                    name: "weather".to_owned(),
                    arguments: r#"{"city":"Bern"}"#.to_owned(),
                }],
            },
            Entry::Results(vec![RecordedResult {
                id: id(!has_name),
                name: has_name.then(|| "weather".to_owned()),
                text: "rain".to_owned(),
            }]),
            Entry::User("And now?".to_owned()),
        ];
        assert_eq!(request.entries, expected, "{protocol}");
        let OfferedTool::Function {
            name,
            description,
            schema,
        } = &request.tools[0]
        else {
            panic!("{protocol}");
        };
        assert_eq!(
            (name.as_str(), description.as_str()),
            ("weather", "The weather.")
        );
        assert_eq!(schema.as_ref().unwrap()["type"], "object", "{protocol}");
        let provider = &request.tools[1..];
        let is_search = |tool: &OfferedTool| matches!(tool, OfferedTool::Provider(kind) if kind == "web_search");
        assert!(
            provider.len() == 1 && provider.iter().all(is_search),
            "{protocol}"
        );
        let beginning = Beginning::of(&request);
        assert_eq!(beginning.input.as_deref(), Some("And now?"), "{protocol}");
        let Some(Record::ToolCall(call)) = beginning.before.last() else {
            panic!("{protocol}");
        };
        let ToolResults::Artifacts(artifacts) = call.results() else {
            panic!("{protocol}");
        };
        assert_eq!(
            (artifacts.len(), beginning.before.len()),
            (1, 3),
            "{protocol}"
        );
    }
}

#[test]
fn content_without_text_is_named() {
    let image = json!([{ "inlineData": { "data": "" }, "thought": false }, { "text": "Look." }]);
    let contents = json!([{ "role": "user", "parts": image }]);
    let gemini = exchange("", &json!({ "contents": contents }), &Value::Null);
    let request = RecordedRequest::of(Protocol::Gemini, &gemini);
    assert_eq!(
        request.entries,
        [Entry::User("[inlineData]\n\nLook.".to_owned())]
    );
    let image = json!([{ "type": "image" }, { "type": "text", "text": "Look." }]);
    let messages = json!([{ "role": "user", "content": image }]);
    let anthropic = exchange("", &json!({ "messages": messages }), &Value::Null);
    let request = RecordedRequest::of(Protocol::Anthropic, &anthropic);
    assert_eq!(
        request.entries,
        [Entry::User("[image]\n\nLook.".to_owned())]
    );
}

#[test]
fn a_stored_response_is_continued_by_its_id() {
    let call =
        json!({ "type": "function_call", "call_id": "c1", "name": "weather", "arguments": "{}" });
    let response = json!({ "id": "resp_1", "status": "completed", "output": [call] });
    let first = exchange(
        "/v1/responses",
        &json!({ "model": "m", "input": "Hi" }),
        &response,
    );
    let output = json!({ "type": "function_call_output", "call_id": "c1", "output": "rain" });
    let next = |id: &str| {
        let body = json!({ "model": "m", "input": [output], "previous_response_id": id });
        exchange("/v1/responses", &body, &response)
    };
    let lengths = |id: &str| -> Vec<usize> {
        let exchanges = [first.clone(), next(id)].map(|item| (Protocol::Responses, item));
        turns(exchanges)
            .iter()
            .map(|turn| turn.exchanges.len())
            .collect()
    };
    assert_eq!(lengths("resp_1"), [2]);
    assert_eq!(lengths("resp_0"), [1, 1]);
}
