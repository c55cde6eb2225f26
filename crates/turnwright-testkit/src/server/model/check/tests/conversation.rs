//! A client of each protocol that sends back what it must.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::server::model::asked::Asked;
use crate::server::model::protocol::Protocol;
use crate::server::model::tests::read::{texts, whole};
use crate::server::model::{AnswerKind, Call, Player};
use crate::server::{Answer, ReceivedRequest, Step};

pub(super) fn look() -> Call {
    Call::new("look", json!({ "at": "log", "lines": 3 }))
}

pub(super) fn now() -> Call {
    Call::new("now", json!({}))
}

/// The requests of a conversation, and what came back.
pub(super) struct Conversation {
    protocol: Protocol,
    streamed: bool,
    pub(super) headers: Vec<(String, String)>,
    pub(super) query: String,
    pub(super) body: Value,
    number: usize,
    /// The last reply.
    object: Value,
}

impl Conversation {
    pub(super) fn new(protocol: Protocol, streamed: bool) -> Self {
        let schema = json!({ "type": "object", "properties": { "at": { "type": "string" } } });
        let function =
            |name: &str| json!({ "name": name, "description": "A tool.", "parameters": schema });
        let nested =
            ["look", "now"].map(|name| json!({ "type": "function", "function": function(name) }));
        let flat = ["look", "now"].map(|name| {
            json!({ "type": "function", "name": name, "parameters": schema, "strict": false })
        });
        let anthropic = ["look", "now"].map(|name| json!({ "name": name, "input_schema": schema }));
        let gemini =
            ["look", "now"].map(|name| json!({ "name": name, "parametersJsonSchema": schema }));
        let mut body = match protocol {
            Protocol::ChatCompletions => json!({ "model": "m", "messages": [], "tools": nested }),
            Protocol::Responses => json!({
                "model": "m", "input": [], "tools": flat, "store": false, "include": ["reasoning.encrypted_content"],
            }),
            Protocol::Anthropic => json!({
                "model": "m",
                "max_tokens": 4096,
                "thinking": { "type": "enabled", "budget_tokens": 2048 },
                "system": [{ "type": "text", "text": "Be brief.", "cache_control": { "type": "ephemeral" } }],
                "messages": [],
                "tools": anthropic,
            }),
            Protocol::Gemini => json!({
                "contents": [],
                "tools": [{ "functionDeclarations": gemini }],
            }),
            Protocol::Ollama => json!({ "model": "m", "messages": [], "tools": nested }),
        };
        if protocol != Protocol::Gemini {
            body["stream"] = json!(streamed);
        }
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Conversation {
            protocol,
            streamed,
            headers: match protocol {
                Protocol::Anthropic => vec![
                    header("x-api-key", "k"),
                    header("anthropic-version", "2023-06-01"),
                ],
                Protocol::Gemini => vec![header("x-goog-api-key", "k")],
                _ => Vec::new(),
            },
            query: String::new(),
            body,
            number: 0,
            object: Value::Null,
        }
    }

    pub(super) fn request(&self) -> ReceivedRequest {
        let path = match (self.protocol, self.streamed) {
            (Protocol::ChatCompletions, _) => "/v1/chat/completions",
            (Protocol::Responses, _) => "/v1/responses",
            (Protocol::Anthropic, _) => "/v1/messages",
            (Protocol::Gemini, true) => "/v1beta/models/m:streamGenerateContent?alt=sse",
            (Protocol::Gemini, false) => "/v1beta/models/m:generateContent",
            (Protocol::Ollama, _) => "/api/chat",
        };
        ReceivedRequest {
            number: self.number,
            method: "POST".to_owned(),
            path: format!("{path}{}", self.query),
            headers: self.headers.clone(),
            body: Bytes::from(self.body.to_string()),
        }
    }

    fn history(&mut self) -> &mut Vec<Value> {
        let name = match self.protocol {
            Protocol::Responses => "input",
            Protocol::Gemini => "contents",
            _ => "messages",
        };
        self.body[name].as_array_mut().unwrap()
    }

    pub(super) fn ask(&mut self, text: &str) {
        let message = match self.protocol {
            Protocol::Gemini => json!({ "role": "user", "parts": [{ "text": text }] }),
            _ => json!({ "role": "user", "content": text }),
        };
        self.history().push(message);
    }

    /// Returns what is wrong with the request. A valid one takes the next reply.
    pub(super) fn check(&self, player: &Player) -> Result<(), String> {
        let played = player.answer(&self.request());
        match played.kind {
            AnswerKind::Invalid => Err(played.problem.unwrap()),
            _ => Ok(()),
        }
    }

    /// Sends the request, and adds the reply to the history.
    pub(super) fn play(&mut self, player: &Player) -> Result<(), String> {
        let request = self.request();
        let played = player.answer(&request);
        let AnswerKind::Reply { number, .. } = played.kind else {
            return Err(played.problem.unwrap());
        };
        let reply = &player.reply(number);
        let mut asked = Asked::of(&request);
        asked.server = "here".to_owned();
        self.object = whole(reply, &asked);
        self.number += 1;
        let said = match self.protocol {
            Protocol::ChatCompletions => vec![assistant(&self.object["choices"][0]["message"])],
            Protocol::Responses => self.object["output"].as_array().unwrap().clone(),
            Protocol::Anthropic => {
                vec![json!({ "role": "assistant", "content": self.object["content"] })]
            }
            Protocol::Gemini => vec![self.object["candidates"][0]["content"].clone()],
            Protocol::Ollama => vec![assistant(&self.object["message"])],
        };
        self.history().extend(said);
        Ok(())
    }

    /// Adds a result for each call of the last reply.
    pub(super) fn give_results(&mut self) {
        let object = self.object.clone();
        let all = |pointer: &str| object.pointer(pointer).unwrap().as_array().unwrap().clone();
        let results: Vec<Value> = match self.protocol {
            Protocol::ChatCompletions => {
                let calls = all("/choices/0/message/tool_calls").into_iter();
                calls.map(|call| json!({ "role": "tool", "tool_call_id": call["id"], "content": "42" })).collect()
            }
            Protocol::Responses => {
                let calls = all("/output").into_iter();
                let calls = calls.filter(|item| texts(item, "type") == "function_call");
                calls
                    .map(|call| json!({ "type": "function_call_output", "call_id": call["call_id"], "output": "42" }))
                    .collect()
            }
            Protocol::Anthropic => {
                let calls = all("/content").into_iter();
                let calls = calls.filter(|block| texts(block, "type") == "tool_use");
                let results: Vec<Value> = calls
                    .map(|call| json!({ "type": "tool_result", "tool_use_id": call["id"], "content": "42" }))
                    .collect();
                vec![json!({ "role": "user", "content": results })]
            }
            Protocol::Gemini => {
                let parts = all("/candidates/0/content/parts").into_iter();
                let calls = parts.filter_map(|part| part.get("functionCall").cloned());
                let results: Vec<Value> = calls
                    .map(|call| json!({ "functionResponse": { "name": call["name"], "response": { "result": 42 } } }))
                    .collect();
                vec![json!({ "role": "user", "parts": results })]
            }
            Protocol::Ollama => {
                let calls = all("/message/tool_calls").into_iter();
                calls
                    .map(|call| {
                        let name = &call["function"]["name"];
                        json!({ "role": "tool", "tool_name": name, "tool_call_id": call["id"], "content": "42" })
                    })
                    .collect()
            }
        };
        self.history().extend(results);
    }
}

/// Returns a message as the assistant's, without empty lists of calls.
fn assistant(message: &Value) -> Value {
    let mut message = message.clone();
    message["role"] = json!("assistant");
    if message["tool_calls"] == json!([]) {
        message.as_object_mut().unwrap().remove("tool_calls");
    }
    message
}

/// Returns the body of an answer, as JSON.
pub(super) fn body_of(answer: &Answer) -> Value {
    match answer.steps.as_slice() {
        [Step::Send(bytes)] => serde_json::from_slice(bytes).unwrap(),
        other => panic!("{other:?}"),
    }
}
