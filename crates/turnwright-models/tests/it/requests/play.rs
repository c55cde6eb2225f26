//! Turns that send a recorded request, and turns that run the conversation up to it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};
use turnwright_core::Next;
use turnwright_core::artifact::Inline;
use turnwright_core::record::Record;
use turnwright_core::{Effects, Error, Tool, ToolContext, ToolOutput, TurnContext, TurnInput};
use turnwright_models::ChatCompletions;
use turnwright_models::ModelBuilder;
use turnwright_models::chat_completions::{ChatCompletionsCodec, Options};
use turnwright_models::http::{Body, Request as Sent, Response, Transport};

use super::rebuild::{Outcome, Reply, Request};

/// An unused address: requests are intercepted before they are sent.
const UNUSED_URL: &str = "http://127.0.0.1:9/v1";

/// Returns the request that a turn sends for it.
pub(super) async fn send(request: &Request, history: Vec<Record>) -> Value {
    let content = json!({ "role": "assistant", "content": "Said." });
    let caught = Caught::answering(&content);
    let model = builder_for(&caught)
        .options(request.options.clone())
        .settings(request.settings.clone())
        .max_completion_tokens(request.max_completion_tokens)
        .build()
        .unwrap();
    let runner = turnwright_core::runner(model)
        .instructions(request.system.clone())
        .tools(request.tools.iter().cloned())
        .turn_input(hydrating(history))
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::empty()).await;
    assert_eq!(outcome.into_answer().unwrap(), "Said.");
    caught.only()
}

/// Returns the conversation as records of turns: each model message is a response, and each call is run.
pub(super) async fn play(request: &Request) -> Vec<Record> {
    let mut history = Vec::new();
    for content in &request.conversation {
        match content {
            Reply::User(message) => history.push(Record::Message(Arc::clone(message))),
            Reply::Model { message, results } => {
                let left = respond(message, results, history.clone()).await;
                history.extend(left);
            }
        }
    }
    history
}

/// Returns the records of a turn in which the model responds with this message only.
async fn respond(message: &Value, results: &[Outcome], history: Vec<Record>) -> Vec<Record> {
    let caught = Caught::answering(message);
    let options = Options::new().model("any").stream(false);
    let model = builder_for(&caught).options(options).build().unwrap();
    let runner = turnwright_core::runner(model)
        .tools(tools_for(message, results))
        .turn_input(hydrating(history))
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::empty()).await;
    assert_eq!(outcome.tool_calls().count(), results.len());
    assert!(outcome.tool_calls().all(|call| !call.is_error()));
    outcome.records
}

fn builder_for(caught: &Caught) -> ModelBuilder<ChatCompletionsCodec> {
    ChatCompletions::builder(UNUSED_URL)
        .transport(caught.clone())
        .explain_envelopes(false)
        .accepted_media(|_| true)
}

fn hydrating(history: Vec<Record>) -> impl turnwright_core::Middleware<TurnContext> + 'static {
    move |ctx: TurnContext, next: Next<TurnContext>| {
        ctx.records().hydrate(history.clone());
        async move { next.run().await }
    }
}

/// Returns tools that accept any arguments and return the recorded results, each once.
fn tools_for(message: &Value, results: &[Outcome]) -> Vec<Tool> {
    let calls = message["tool_calls"].as_array().into_iter().flatten();
    let mut by_name: HashMap<&str, VecDeque<(Value, Outcome)>> = HashMap::new();
    for (call, outcome) in calls.zip(results) {
        let function = &call["function"];
        let args = serde_json::from_str(function["arguments"].as_str().unwrap());
        let args = match args.unwrap() {
            Value::Null => json!({}),
            args => args,
        };
        let recorded = by_name.entry(function["name"].as_str().unwrap());
        recorded.or_default().push_back((args, outcome.clone()));
    }
    let tool = |(name, recorded): (&str, VecDeque<(Value, Outcome)>)| {
        let recorded = Mutex::new(recorded);
        Tool::dynamic(name, json!({ "type": "object" }))
            .description("Returns what was recorded.")
            .effects(Effects::ReadOnly)
            .inline(Inline::Always)
            .handler(move |args: Value, _: ToolContext| {
                let mut recorded = recorded.lock().unwrap();
                let at = recorded.iter().position(|(asked, _)| *asked == args);
                let (_, outcome) = recorded.remove(at.unwrap()).unwrap();
                async move {
                    match outcome {
                        Outcome::Text(text) => ToolOutput::text(text),
                        Outcome::Media(media) => ToolOutput::media([media]),
                    }
                }
            })
            .build()
            .unwrap()
    };
    by_name.into_iter().map(tool).collect()
}

/// Intercepts requests. The first is answered with a message, later ones fail.
#[derive(Clone)]
struct Caught {
    answer: Bytes,
    sent: Arc<Mutex<Vec<Bytes>>>,
}

impl Caught {
    fn answering(message: &Value) -> Self {
        let reason = match message["tool_calls"].is_null() {
            true => "stop",
            false => "tool_calls",
        };
        let answer = json!({ "choices": [{ "message": message, "finish_reason": reason }] });
        Caught {
            answer: answer.to_string().into(),
            sent: Arc::default(),
        }
    }

    fn only(&self) -> Value {
        let sent = self.sent.lock().unwrap();
        assert_eq!(sent.len(), 1);
        serde_json::from_slice(&sent[0]).unwrap()
    }
}

#[async_trait]
impl Transport for Caught {
    async fn send(&self, request: Sent) -> Result<Response, Error> {
        let mut sent = self.sent.lock().unwrap();
        sent.push(request.body);
        let (status, body) = match sent.len() {
            1 => (200, self.answer.clone()),
            _ => (400, Bytes::from_static(b"{}")),
        };
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        Ok(Response::new(status, headers, Body::full(body)))
    }
}

impl std::fmt::Debug for Caught {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Caught")
    }
}
