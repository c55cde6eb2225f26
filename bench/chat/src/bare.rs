//! The loop that a user writes without a framework: a client, two structs, and a `loop`.

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use futures_util::future::join_all;
use memchr::memchr;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, redirect};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use turnwright_core::Tool;

use crate::script::{LOOK_UP, Script, WAIT};
use crate::tools::{QUESTION, SYSTEM, look_up, wait};

type Failure = Box<dyn Error + Send + Sync>;

pub(crate) struct Bare {
    http: Client,
    url: String,
    tools: Vec<Value>,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    stream: bool,
    stream_options: StreamOptions,
    tools: &'a [Value],
    messages: &'a [Message],
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "lowercase")]
enum Message {
    System {
        content: &'static str,
    },
    User {
        content: &'static str,
    },
    Assistant {
        #[serde(skip_serializing_if = "String::is_empty")]
        content: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call>,
    },
    Tool {
        tool_call_id: String,
        content: String,
    },
}

#[derive(Default, Serialize)]
struct Call {
    id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Function,
}

#[derive(Default, Serialize)]
struct Function {
    name: String,
    arguments: String,
}

#[derive(Deserialize)]
struct Chunk {
    choices: Vec<Choice>,
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Choice {
    delta: Delta,
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
struct Delta {
    content: Option<String>,
    tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Deserialize)]
struct CallDelta {
    index: usize,
    id: Option<String>,
    function: FunctionDelta,
}

#[derive(Deserialize)]
struct FunctionDelta {
    name: Option<String>,
    arguments: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
struct Usage {
    prompt_tokens: u64,
    completion_tokens: u64,
}

/// The result of one request.
#[derive(Default)]
struct Reply {
    text: String,
    calls: Vec<Call>,
    finish_reason: Option<String>,
    usage: Usage,
}

/// The result of a turn.
struct Answer {
    text: String,
    calls: usize,
    usage: Usage,
}

impl Bare {
    /// Creates a client with the same settings and tool definitions as ours.
    pub(crate) fn new(base_url: &str, tools: &[Tool]) -> Result<Self, Box<dyn Error>> {
        let http = Client::builder()
            .redirect(redirect::Policy::none())
            .tcp_nodelay(true)
            .connect_timeout(Duration::from_secs(10))
            .no_proxy()
            .build()?;
        let tools = tools.iter().map(|tool| {
            let definition = tool.describe();
            json!({ "type": "function", "function": {
                "name": definition.name,
                "description": definition.description,
                "parameters": definition.input_schema,
            } })
        });
        Ok(Bare {
            http,
            url: format!("{base_url}/chat/completions"),
            tools: tools.collect(),
        })
    }

    /// Runs a turn that must follow the script. Deltas are passed to a callback.
    pub(crate) async fn run(&self, script: Script) {
        let mut heard = 0;
        let on_text = |text: &str| heard += black_box(text).len();
        let answer = self.turn(on_text).await.expect("the server answers");
        assert_eq!(answer.text.len(), script.answer());
        assert_eq!(heard, script.answer());
        assert_eq!(answer.calls, script.calls());
        black_box(answer.usage);
    }

    async fn turn(&self, mut on_text: impl FnMut(&str)) -> Result<Answer, Failure> {
        let mut messages = vec![
            Message::System { content: SYSTEM },
            Message::User { content: QUESTION },
        ];
        let (mut calls, mut usage) = (0, Usage::default());
        loop {
            let reply = self.ask(&messages, &mut on_text).await?;
            usage.prompt_tokens += reply.usage.prompt_tokens;
            usage.completion_tokens += reply.usage.completion_tokens;
            if reply.finish_reason.is_none() {
                return Err("the response is not complete".into());
            }
            if reply.calls.is_empty() {
                return Ok(Answer {
                    text: reply.text,
                    calls,
                    usage,
                });
            }
            calls += reply.calls.len();
            let results = join_all(reply.calls.iter().map(call)).await;
            let ids: Vec<String> = reply.calls.iter().map(|call| call.id.clone()).collect();
            messages.push(Message::Assistant {
                content: reply.text,
                tool_calls: reply.calls,
            });
            for (tool_call_id, result) in ids.into_iter().zip(results) {
                // The model sees its mistakes and may correct them.
                let content = result.unwrap_or_else(|error| format!("error: {error}"));
                messages.push(Message::Tool {
                    tool_call_id,
                    content,
                });
            }
        }
    }

    async fn ask(
        &self,
        messages: &[Message],
        on_text: &mut impl FnMut(&str),
    ) -> Result<Reply, Failure> {
        let body = serde_json::to_vec(&Request {
            model: "m",
            stream: true,
            stream_options: StreamOptions {
                include_usage: true,
            },
            tools: &self.tools,
            messages,
        })?;
        let request = self.http.post(&self.url).body(body);
        let request = request.header(CONTENT_TYPE, "application/json");
        let mut response = request.send().await?.error_for_status()?;
        let (mut reply, mut rest) = (Reply::default(), Vec::new());
        while let Some(piece) = response.chunk().await? {
            rest.extend_from_slice(&piece);
            let mut taken = 0;
            while let Some(end) = memchr(b'\n', &rest[taken..]) {
                reply.line(&rest[taken..taken + end], on_text)?;
                taken += end + 1;
            }
            rest.drain(..taken);
        }
        Ok(reply)
    }
}

impl Reply {
    fn line(&mut self, line: &[u8], on_text: &mut impl FnMut(&str)) -> Result<(), Failure> {
        let Some(data) = line.strip_prefix(b"data:") else {
            return Ok(());
        };
        let data = data.trim_ascii();
        if data == b"[DONE]" {
            return Ok(());
        }
        let chunk: Chunk = serde_json::from_slice(data)?;
        if let Some(usage) = chunk.usage {
            self.usage = usage;
        }
        let Some(choice) = chunk.choices.into_iter().next() else {
            return Ok(());
        };
        if let Some(text) = choice.delta.content.filter(|text| !text.is_empty()) {
            on_text(&text);
            self.text.push_str(&text);
        }
        for piece in choice.delta.tool_calls.into_iter().flatten() {
            if self.calls.len() <= piece.index {
                self.calls.resize_with(piece.index + 1, Call::default);
            }
            let call = &mut self.calls[piece.index];
            call.kind = "function";
            if let Some(id) = piece.id {
                call.id = id;
            }
            if let Some(name) = piece.function.name {
                call.function.name = name;
            }
            if let Some(arguments) = piece.function.arguments {
                call.function.arguments.push_str(&arguments);
            }
        }
        if choice.finish_reason.is_some() {
            self.finish_reason = choice.finish_reason;
        }
        Ok(())
    }
}

async fn call(call: &Call) -> Result<String, Failure> {
    let Function { name, arguments } = &call.function;
    match name.as_str() {
        LOOK_UP => Ok(look_up(serde_json::from_str(arguments)?).await),
        WAIT => Ok(wait(serde_json::from_str(arguments)?).await),
        _ => Err(format!("there is no tool {name}").into()),
    }
}
