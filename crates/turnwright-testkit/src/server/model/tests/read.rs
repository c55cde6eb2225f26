//! Reads replies as a client would: streams are put together, and all protocols give the same [`Said`].

use serde_json::{Map, Value, json};

use crate::server::model::asked::{Asked, Event};
use crate::server::model::protocol::Protocol;
use crate::server::model::reply::Reply;

/// What a reply says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Said {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    /// The name and the arguments of each call.
    pub(crate) calls: Vec<(String, Value)>,
    /// The protocol's own word.
    pub(crate) finish: String,
    /// Whole input, whole output, cached, cache written, reasoning.
    pub(crate) usage: [u64; 5],
}

/// Reads a reply, streamed or not.
pub(crate) fn said(reply: &Reply, asked: &Asked) -> Said {
    read(asked.protocol, &whole(reply, asked))
}

/// Returns the object that a client has at the end.
pub(crate) fn whole(reply: &Reply, asked: &Asked) -> Value {
    if asked.streamed {
        join(asked.protocol, reply.events(asked))
    } else {
        reply.object(asked)
    }
}

pub(crate) fn texts<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn items<'a>(value: &'a Value, pointer: &str) -> &'a [Value] {
    let found = value.pointer(pointer).and_then(Value::as_array);
    found.map_or(&[], Vec::as_slice)
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn counts(value: &Value, names: [&str; 5]) -> [u64; 5] {
    names.map(|name| {
        value
            .pointer(name)
            .and_then(Value::as_u64)
            .unwrap_or_default()
    })
}

fn read(protocol: Protocol, object: &Value) -> Said {
    match protocol {
        Protocol::ChatCompletions => read_chat(object),
        Protocol::Responses => read_responses(object),
        Protocol::Anthropic => read_anthropic(object),
        Protocol::Gemini => read_gemini(object),
        Protocol::Ollama => read_ollama(object),
    }
}

fn read_chat(object: &Value) -> Said {
    let choice = &object["choices"][0];
    let message = &choice["message"];
    let calls = items(message, "/tool_calls").iter();
    let calls = calls.map(|call| {
        let function = &call["function"];
        (
            texts(function, "name").to_owned(),
            parsed(texts(function, "arguments")),
        )
    });
    Said {
        text: texts(message, "content").to_owned() + texts(message, "refusal"),
        reasoning: texts(message, "reasoning_content").to_owned(),
        calls: calls.collect(),
        finish: texts(choice, "finish_reason").to_owned(),
        usage: counts(
            &object["usage"],
            [
                "/prompt_tokens",
                "/completion_tokens",
                "/prompt_tokens_details/cached_tokens",
                "/prompt_tokens_details/cache_write_tokens",
                "/completion_tokens_details/reasoning_tokens",
            ],
        ),
    }
}

fn read_responses(object: &Value) -> Said {
    let mut said = Said::default();
    for item in items(object, "/output") {
        match texts(item, "type") {
            "reasoning" => items(item, "/summary")
                .iter()
                .for_each(|part| said.reasoning += texts(part, "text")),
            "message" => {
                for part in items(item, "/content") {
                    said.text = said.text + texts(part, "text") + texts(part, "refusal");
                }
            }
            "function_call" => said.calls.push((
                texts(item, "name").to_owned(),
                parsed(texts(item, "arguments")),
            )),
            _ => {}
        }
    }
    let reason = texts(&object["incomplete_details"], "reason");
    said.finish = [texts(object, "status"), reason]
        .join(" ")
        .trim()
        .to_owned();
    said.usage = counts(
        &object["usage"],
        [
            "/input_tokens",
            "/output_tokens",
            "/input_tokens_details/cached_tokens",
            "/input_tokens_details/cache_write_tokens",
            "/output_tokens_details/reasoning_tokens",
        ],
    );
    said
}

fn read_anthropic(object: &Value) -> Said {
    let mut said = Said::default();
    for block in items(object, "/content") {
        match texts(block, "type") {
            "text" => said.text += texts(block, "text"),
            "thinking" => said.reasoning += texts(block, "thinking"),
            "tool_use" => said
                .calls
                .push((texts(block, "name").to_owned(), block["input"].clone())),
            _ => {}
        }
    }
    said.finish = texts(object, "stop_reason").to_owned();
    let [input, output, cached, written, reasoning] = counts(
        &object["usage"],
        [
            "/input_tokens",
            "/output_tokens",
            "/cache_read_input_tokens",
            "/cache_creation_input_tokens",
            "/output_tokens_details/thinking_tokens",
        ],
    );
    said.usage = [input + cached + written, output, cached, written, reasoning];
    said
}

fn read_gemini(object: &Value) -> Said {
    let mut said = Said::default();
    for part in items(object, "/candidates/0/content/parts") {
        match (&part["functionCall"], &part["thought"]) {
            (Value::Object(call), _) => {
                let name = call["name"].as_str().unwrap();
                said.calls.push((name.to_owned(), call["args"].clone()));
            }
            (_, Value::Bool(true)) => said.reasoning += texts(part, "text"),
            _ => said.text += texts(part, "text"),
        }
    }
    let candidate = &object["candidates"][0];
    said.finish = texts(candidate, "finishReason").to_owned();
    let [input, output, cached, _, reasoning] = counts(
        &object["usageMetadata"],
        [
            "/promptTokenCount",
            "/candidatesTokenCount",
            "/cachedContentTokenCount",
            "/none",
            "/thoughtsTokenCount",
        ],
    );
    said.usage = [input, output + reasoning, cached, 0, reasoning];
    said
}

fn read_ollama(object: &Value) -> Said {
    let message = &object["message"];
    let calls = items(message, "/tool_calls").iter();
    let calls = calls.map(|call| {
        let function = &call["function"];
        (
            texts(function, "name").to_owned(),
            function["arguments"].clone(),
        )
    });
    Said {
        text: texts(message, "content").to_owned(),
        reasoning: texts(message, "thinking").to_owned(),
        calls: calls.collect(),
        finish: texts(object, "done_reason").to_owned(),
        usage: counts(
            object,
            [
                "/prompt_eval_count",
                "/eval_count",
                "/none",
                "/none",
                "/none",
            ],
        ),
    }
}

fn join(protocol: Protocol, events: Vec<Event>) -> Value {
    let named = matches!(protocol, Protocol::Anthropic | Protocol::Responses);
    for event in &events {
        let kind = event.data.get("type").and_then(Value::as_str);
        assert_eq!(
            event.name.as_deref(),
            kind.filter(|_| named),
            "{}",
            event.data
        );
    }
    let events: Vec<Value> = events.into_iter().map(|event| event.data).collect();
    match protocol {
        Protocol::ChatCompletions => join_chat(&events),
        Protocol::Responses => join_responses(&events),
        Protocol::Anthropic => join_anthropic(&events),
        Protocol::Gemini => join_gemini(&events),
        Protocol::Ollama => join_ollama(&events),
    }
}

/// Adds a text to the field of an object.
fn append(object: &mut Value, name: &str, text: &str) {
    let joined = texts(object, name).to_owned() + text;
    object[name] = joined.into();
}

fn join_chat(events: &[Value]) -> Value {
    let mut message = json!({ "content": "", "tool_calls": [] });
    let (mut finish, mut usage) = (Value::Null, Value::Null);
    for event in events {
        if event["choices"] == json!([]) {
            usage = event["usage"].clone();
            continue;
        }
        let choice = &event["choices"][0];
        for name in ["content", "reasoning_content", "refusal"] {
            append(&mut message, name, texts(&choice["delta"], name));
        }
        for call in items(&choice["delta"], "/tool_calls") {
            let calls = message["tool_calls"].as_array_mut().unwrap();
            let index = call["index"].as_u64().unwrap() as usize;
            if call.get("id").is_some() {
                assert_eq!(calls.len(), index);
                calls.push(call.clone());
            } else {
                append(
                    &mut calls[index]["function"],
                    "arguments",
                    texts(&call["function"], "arguments"),
                );
            }
        }
        assert!(finish.is_null(), "nothing follows the finish reason");
        finish = choice["finish_reason"].clone();
    }
    json!({ "choices": [{ "message": message, "finish_reason": finish }], "usage": usage })
}

fn join_responses(events: &[Value]) -> Value {
    let mut items: Vec<Value> = Vec::new();
    let mut deltas: Map<String, Value> = Map::new();
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number);
        let kind = texts(event, "type");
        if kind == "response.output_item.done" {
            assert_eq!(event["output_index"], items.len());
            items.push(event["item"].clone());
        } else if kind.ends_with(".delta") {
            let so_far = deltas
                .entry(texts(event, "item_id").to_owned())
                .or_insert(json!(""));
            *so_far = (so_far.as_str().unwrap().to_owned() + texts(event, "delta")).into();
        }
    }
    // The deltas say the same as the items.
    for item in &items {
        let said = match texts(item, "type") {
            "reasoning" => item["summary"]
                .as_array()
                .unwrap()
                .iter()
                .map(|part| texts(part, "text"))
                .collect(),
            "message" => {
                let parts = item["content"].as_array().unwrap().iter();
                parts
                    .map(|part| texts(part, "text").to_owned() + texts(part, "refusal"))
                    .collect()
            }
            "function_call" => texts(item, "arguments").to_owned(),
            _ => continue,
        };
        let streamed = deltas.get(texts(item, "id")).and_then(Value::as_str);
        assert_eq!(streamed.unwrap_or_default(), said);
    }
    let mut response = events.last().unwrap()["response"].clone();
    response["output"] = items.into();
    response
}

fn join_anthropic(events: &[Value]) -> Value {
    let (mut message, mut blocks, mut arguments) =
        (Value::Null, Vec::<Value>::new(), String::new());
    for event in events {
        match texts(event, "type") {
            "message_start" => message = event["message"].clone(),
            "content_block_start" => {
                assert_eq!(event["index"], blocks.len());
                blocks.push(event["content_block"].clone());
                arguments.clear();
            }
            "content_block_delta" => {
                let (delta, block) = (&event["delta"], blocks.last_mut().unwrap());
                match texts(delta, "type") {
                    "text_delta" => append(block, "text", texts(delta, "text")),
                    "thinking_delta" => append(block, "thinking", texts(delta, "thinking")),
                    "signature_delta" => block["signature"] = delta["signature"].clone(),
                    "input_json_delta" => arguments += texts(delta, "partial_json"),
                    "citations_delta" => {
                        block["citations"]
                            .as_array_mut()
                            .unwrap()
                            .push(delta["citation"].clone());
                    }
                    other => panic!("{other}"),
                }
            }
            "content_block_stop" => {
                let block = blocks.last_mut().unwrap();
                if texts(block, "type").ends_with("tool_use") {
                    block["input"] = if arguments.is_empty() {
                        json!({})
                    } else {
                        parsed(&arguments)
                    };
                }
            }
            "message_delta" => {
                message["stop_reason"] = event["delta"]["stop_reason"].clone();
                message["usage"] = event["usage"].clone();
            }
            "ping" | "message_stop" => {}
            other => panic!("{other}"),
        }
    }
    message["content"] = blocks.into();
    message
}

fn join_gemini(events: &[Value]) -> Value {
    let mut last = events.last().unwrap().clone();
    let parts = events
        .iter()
        .flat_map(|event| items(event, "/candidates/0/content/parts"));
    let parts: Vec<Value> = parts.cloned().collect();
    if last.get("candidates").is_some() {
        last["candidates"][0]["content"]["parts"] = parts.into();
    }
    last
}

fn join_ollama(events: &[Value]) -> Value {
    let mut message =
        json!({ "role": "assistant", "content": "", "thinking": "", "tool_calls": [] });
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["done"], number + 1 == events.len());
        for name in ["content", "thinking"] {
            append(&mut message, name, texts(&event["message"], name));
        }
        let calls = items(&event["message"], "/tool_calls").iter().cloned();
        message["tool_calls"].as_array_mut().unwrap().extend(calls);
    }
    let mut last = events.last().unwrap().clone();
    last["message"] = message;
    last
}
