//! The loop that a user writes without a framework: a client, a few structs for the protocol, and a `loop`.

mod anthropic;
mod chat_completions;
mod gemini;
mod ollama;
mod responses;

use std::error::Error;
use std::hint::black_box;
use std::time::Duration;

use futures_util::future::join_all;
use memchr::memchr;
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, redirect};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use turnwright_core::Tool;

use crate::script::{LOOK_UP, Script, WAIT};
use crate::tools::{look_up, wait};

pub(crate) use anthropic::Anthropic;
pub(crate) use chat_completions::ChatCompletions;
pub(crate) use gemini::Gemini;
pub(crate) use ollama::Ollama;
pub(crate) use responses::Responses;

pub(crate) type Failure = Box<dyn Error + Send + Sync>;

/// What a loop knows of its protocol.
pub(crate) trait Wire: 'static {
    /// A message of the conversation.
    type Message: Serialize + Send + Sync;

    /// The path after the base URL.
    const PATH: &'static str;
    /// What precedes the JSON of a line.
    const PREFIX: &'static [u8] = b"data:";

    fn tool(name: &str, description: &str, input_schema: &Value) -> Value;

    /// Returns the messages of a new conversation.
    fn begin() -> Vec<Self::Message>;

    fn body(tools: &[Value], messages: &[Self::Message]) -> serde_json::Result<Vec<u8>>;

    /// Reads the JSON of a line.
    fn read(reply: &mut Reply, data: &[u8], on_text: &mut impl FnMut(&str)) -> Result<(), Failure>;

    /// Adds a reply and the results of its calls.
    fn extend(messages: &mut Vec<Self::Message>, reply: Reply, results: Vec<CallResult>);
}

pub(crate) struct Bare<W> {
    http: Client,
    url: String,
    tools: Vec<Value>,
    wire: std::marker::PhantomData<fn() -> W>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(crate) struct Usage {
    #[serde(default, alias = "prompt_tokens", alias = "promptTokenCount")]
    input_tokens: u64,
    #[serde(default, alias = "completion_tokens", alias = "candidatesTokenCount")]
    output_tokens: u64,
}

/// The arguments of a call, in the form of the protocol.
pub(crate) enum Arguments {
    Text(String),
    Object(Value),
}

pub(crate) struct Call {
    id: String,
    name: String,
    arguments: Arguments,
    /// Opaque state of Gemini.
    signature: Option<String>,
}

/// The result of a call, with the id and the name that it is returned under.
pub(crate) struct CallResult {
    id: String,
    name: String,
    output: String,
}

/// The result of one request.
#[derive(Default)]
pub(crate) struct Reply {
    text: String,
    calls: Vec<Call>,
    finished: bool,
    usage: Usage,
}

/// The result of a turn.
struct Answer {
    text: String,
    calls: usize,
    usage: Usage,
}

impl<W: Wire> Bare<W> {
    /// Creates a client with the same settings and tool definitions as ours.
    pub(crate) fn new(base_url: &str, tools: &[Tool]) -> Result<Self, Box<dyn Error>> {
        let http = Client::builder()
            .tls_backend_preconfigured(turnwright_models::http::tls_config()?)
            .redirect(redirect::Policy::none())
            .tcp_nodelay(true)
            .connect_timeout(Duration::from_secs(10))
            .no_proxy()
            .build()?;
        let tools = tools.iter().map(|tool| {
            let described = tool.describe();
            W::tool(
                described.name,
                described.description,
                described.input_schema,
            )
        });
        Ok(Bare {
            http,
            url: format!("{base_url}{}", W::PATH),
            tools: tools.collect(),
            wire: std::marker::PhantomData,
        })
    }

    /// Runs a turn that must follow the script. Deltas are passed to a callback.
    pub(crate) async fn run(&self, script: Script) -> Result<(), Failure> {
        let mut heard = 0;
        let on_text = |text: &str| heard += black_box(text).len();
        let answer = self.turn(on_text).await?;
        assert_eq!(answer.text.len(), script.answer());
        assert_eq!(heard, script.answer());
        assert_eq!(answer.calls, script.calls());
        black_box(answer.usage);
        Ok(())
    }

    async fn turn(&self, mut on_text: impl FnMut(&str)) -> Result<Answer, Failure> {
        let mut messages = W::begin();
        let (mut calls, mut usage) = (0, Usage::default());
        loop {
            let reply = self.ask(&messages, &mut on_text).await?;
            usage.input_tokens += reply.usage.input_tokens;
            usage.output_tokens += reply.usage.output_tokens;
            if !reply.finished {
                return Err("the response is not complete".into());
            }
            if reply.calls.is_empty() {
                let text = reply.text;
                return Ok(Answer { text, calls, usage });
            }
            calls += reply.calls.len();
            let results = join_all(reply.calls.iter().map(call)).await;
            W::extend(&mut messages, reply, results);
        }
    }

    async fn ask(
        &self,
        messages: &[W::Message],
        on_text: &mut impl FnMut(&str),
    ) -> Result<Reply, Failure> {
        let body = W::body(&self.tools, messages)?;
        let request = self.http.post(&self.url).body(body);
        let request = request.header(CONTENT_TYPE, "application/json");
        let mut response = request.send().await?.error_for_status()?;
        let (mut reply, mut rest) = (Reply::default(), Vec::new());
        while let Some(piece) = response.chunk().await? {
            rest.extend_from_slice(&piece);
            let mut taken = 0;
            while let Some(end) = memchr(b'\n', &rest[taken..]) {
                let line = &rest[taken..taken + end];
                if let Some(data) = line.strip_prefix(W::PREFIX) {
                    W::read(&mut reply, data.trim_ascii(), on_text)?;
                }
                taken += end + 1;
            }
            rest.drain(..taken);
        }
        Ok(reply)
    }
}

impl Reply {
    fn push_text(&mut self, text: &str, on_text: &mut impl FnMut(&str)) {
        if !text.is_empty() {
            on_text(text);
            self.text.push_str(text);
        }
    }

    /// Adds a call whose arguments follow in pieces.
    fn begin_call(&mut self, id: String, name: String) {
        self.calls.push(Call {
            id,
            name,
            arguments: Arguments::Text(String::new()),
            signature: None,
        });
    }

    /// Adds a piece of the arguments of a call.
    fn push_arguments(&mut self, at: usize, piece: &str) {
        if let Some(Arguments::Text(text)) = self.calls.get_mut(at).map(|call| &mut call.arguments)
        {
            text.push_str(piece);
        }
    }
}

impl Arguments {
    fn read<T: DeserializeOwned>(&self) -> serde_json::Result<T> {
        match self {
            Arguments::Text(text) => serde_json::from_str(text),
            Arguments::Object(value) => T::deserialize(value),
        }
    }

    fn into_text(self) -> String {
        match self {
            Arguments::Text(text) => text,
            Arguments::Object(value) => value.to_string(),
        }
    }

    fn into_object(self) -> Value {
        match self {
            Arguments::Text(text) => serde_json::from_str(&text).unwrap_or_default(),
            Arguments::Object(value) => value,
        }
    }
}

/// Returns the definition of a tool in the form that Chat Completions and Ollama share.
fn function_tool(name: &str, description: &str, input_schema: &Value) -> Value {
    json!({ "type": "function", "function": {
        "name": name,
        "description": description,
        "parameters": input_schema,
    } })
}

async fn call(call: &Call) -> CallResult {
    // The model sees its mistakes and may correct them.
    let output = output(call).await;
    CallResult {
        id: call.id.clone(),
        name: call.name.clone(),
        output: output.unwrap_or_else(|error| format!("error: {error}")),
    }
}

async fn output(call: &Call) -> Result<String, Failure> {
    match call.name.as_str() {
        LOOK_UP => Ok(look_up(call.arguments.read()?).await),
        WAIT => Ok(wait(call.arguments.read()?).await),
        name => Err(format!("there is no tool {name}").into()),
    }
}
