//! A scripted transport that records requests and does not use the network.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Value, json};
use turnwright_core::{Error, ErrorCode};
use turnwright_models::ChatCompletions;
use turnwright_models::ModelBuilder;
use turnwright_models::chat_completions::ChatCompletionsCodec;
use turnwright_models::http::{Body, Request, Response, Transport};

/// One answer of the script.
#[derive(Clone)]
pub(crate) enum Answer {
    /// A stream of these choices, one per chunk.
    Stream(Vec<Value>),
    /// A stream that breaks after these choices or chunks, or reports an error.
    Broken(Vec<Value>),
    /// A body that is not streamed.
    Complete(Value),
    /// A status with headers and a body.
    Status(u16, Vec<(&'static str, &'static str)>, Value),
}

#[derive(Clone, Default)]
pub(crate) struct Script {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Script {
    pub(crate) fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        Script {
            answers: Arc::new(Mutex::new(answers.into_iter().collect())),
            requests: Arc::default(),
        }
    }

    pub(crate) fn builder(&self) -> ModelBuilder<ChatCompletionsCodec> {
        ChatCompletions::builder("http://127.0.0.1:9/v1")
            .model("test-model")
            .transport(self.clone())
    }

    pub(crate) fn model(&self) -> ChatCompletions {
        self.builder().build().unwrap()
    }

    /// Returns the bodies of the requests so far.
    pub(crate) fn bodies(&self) -> Vec<String> {
        let requests = self.requests.lock().unwrap();
        let text = |item: &Request| String::from_utf8(item.body.to_vec()).unwrap();
        requests.iter().map(text).collect()
    }

    pub(crate) fn values(&self) -> Vec<Value> {
        let read = |body: &String| serde_json::from_str(body).unwrap();
        self.bodies().iter().map(read).collect()
    }

    pub(crate) fn headers(&self, at: usize) -> Vec<(String, String)> {
        self.requests.lock().unwrap()[at].headers.clone()
    }
}

impl std::fmt::Debug for Script {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Script")
    }
}

#[async_trait]
impl Transport for Script {
    async fn send(&self, request: Request) -> Result<Response, Error> {
        self.requests.lock().unwrap().push(request);
        let answer = self.answers.lock().unwrap().pop_front();
        match answer {
            None => Err(Error::new(
                ErrorCode::MODEL_UNREACHABLE,
                "the script has ended",
            )),
            Some(Answer::Stream(choices)) => {
                let chunk = |item: &Value| format!("data: {}\n\n", json!({ "choices": [item] }));
                let text: String = choices.iter().map(chunk).collect();
                let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
                Ok(Response::new(
                    200,
                    headers,
                    Body::full(text + "data: [DONE]\n\n"),
                ))
            }
            Some(Answer::Broken(choices)) => {
                let chunk = |item: &Value| match item.get("error").or(item.get("choices")) {
                    Some(_) => format!("data: {item}\n\n"),
                    None => format!("data: {}\n\n", json!({ "choices": [item] })),
                };
                let text: String = choices.iter().map(chunk).collect();
                let headers = vec![("content-type".to_owned(), "text/event-stream".to_owned())];
                Ok(Response::new(200, headers, Body::full(text)))
            }
            Some(Answer::Complete(body)) => {
                let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
                Ok(Response::new(200, headers, Body::full(body.to_string())))
            }
            Some(Answer::Status(status, headers, body)) => {
                let headers = headers
                    .iter()
                    .map(|(name, value)| (name.to_string(), value.to_string()));
                Ok(Response::new(
                    status,
                    headers.collect(),
                    Body::full(body.to_string()),
                ))
            }
        }
    }
}

/// Returns a text in two pieces.
pub(crate) fn says(text: &str) -> Answer {
    let (one, two) = text.split_at(text.len() / 2);
    Answer::Stream(vec![
        json!({ "index": 0, "delta": { "role": "assistant", "content": one } }),
        json!({ "index": 0, "delta": { "content": two }, "finish_reason": "stop" }),
    ])
}

/// Returns calls, after some text.
pub(crate) fn calls<'c>(calls: impl IntoIterator<Item = (&'c str, Value)>) -> Answer {
    calls_of(
        "tool_calls",
        calls
            .into_iter()
            .map(|(name, args)| (name, args.to_string())),
    )
}

/// Returns calls with arbitrary argument text, and the finish reason.
pub(crate) fn calls_of<'c>(
    finish: &str,
    calls: impl IntoIterator<Item = (&'c str, String)>,
) -> Answer {
    let calls = calls
        .into_iter()
        .enumerate()
        .map(|(index, (name, arguments))| {
            json!({
                "index": index, "id": format!("call_{index}_{name}"), "type": "function",
                "function": { "name": name, "arguments": arguments },
            })
        });
    Answer::Stream(vec![
        json!({ "index": 0, "delta": { "tool_calls": calls.collect::<Vec<_>>() } }),
        json!({ "index": 0, "delta": {}, "finish_reason": finish }),
    ])
}
