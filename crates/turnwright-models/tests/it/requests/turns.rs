//! Turns that send a recorded request, and turns that run the conversation up to it.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use serde_json::{Value, json};
use turnwright_core::artifact::Inline;
use turnwright_core::record::Record;
use turnwright_core::schema::Schema;
use turnwright_core::{
    Effects, Error, Executor, Media, Message, Next, Tool, ToolContext, ToolOutput, TurnContext,
    TurnInput,
};
use turnwright_models::http::{Body, Request as Sent, Response, Transport};

/// An unused address: requests are intercepted before they are sent.
pub(super) const UNUSED_URL: &str = "http://127.0.0.1:9/v1";

/// The answer to the request that is compared.
pub(super) const ANSWER: &str = "Said.";

/// A step of a recorded conversation.
pub(super) enum Step {
    User(Arc<Message>),
    /// The body of a response, and its calls.
    Response {
        body: String,
        calls: Vec<RecordedCall>,
    },
}

/// A call, and its result.
#[derive(Clone)]
pub(super) struct RecordedCall {
    pub(super) name: String,
    pub(super) arguments: Value,
    pub(super) outcome: Outcome,
}

/// The result of a call.
#[derive(Clone)]
pub(super) enum Outcome {
    Text(String),
    Media(Media),
}

/// Returns the request that a turn sends after these records, or the error of building the runner.
pub(super) async fn send(
    model: impl Executor + 'static,
    caught: &Caught,
    system: &str,
    tools: Vec<Tool>,
    history: Vec<Record>,
) -> Result<Value, Error> {
    let runner = turnwright_core::runner(model)
        .instructions(system)
        .tools(tools)
        .turn_input(hydrating(history))
        .build()?;
    let outcome = runner.run(TurnInput::empty()).await;
    assert_eq!(outcome.into_answer().unwrap(), ANSWER);
    Ok(caught.only())
}

/// Returns the conversation as records of turns: each response is received, and each call is run.
pub(super) async fn play<M: Executor + 'static>(
    steps: &[Step],
    model: impl Fn(Caught) -> M,
) -> Vec<Record> {
    let mut history = Vec::new();
    for step in steps {
        match step {
            Step::User(message) => history.push(Record::Message(Arc::clone(message))),
            Step::Response { body, calls } => {
                let model = model(Caught::answering(body.clone()));
                let left = respond(model, calls, history.clone()).await;
                history.extend(left);
            }
        }
    }
    history
}

/// Returns the records of a turn in which the model responds once.
async fn respond(
    model: impl Executor + 'static,
    calls: &[RecordedCall],
    history: Vec<Record>,
) -> Vec<Record> {
    let runner = turnwright_core::runner(model)
        .tools(tools_for(calls))
        .turn_input(hydrating(history))
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::empty()).await;
    assert_eq!(outcome.tool_calls().count(), calls.len());
    assert!(outcome.tool_calls().all(|call| !call.is_error()));
    outcome.records
}

fn hydrating(history: Vec<Record>) -> impl turnwright_core::Middleware<TurnContext> + 'static {
    move |ctx: TurnContext, next: Next<TurnContext>| {
        ctx.records().hydrate(history.clone());
        async move { next.run().await }
    }
}

/// Returns tools that accept any arguments and return the recorded results, each once.
fn tools_for(calls: &[RecordedCall]) -> Vec<Tool> {
    let mut by_name: HashMap<&str, VecDeque<RecordedCall>> = HashMap::new();
    for call in calls {
        let of_name = by_name.entry(&call.name).or_default();
        of_name.push_back(call.clone());
    }
    let tool = |(name, recorded): (&str, VecDeque<RecordedCall>)| {
        let recorded = Mutex::new(recorded);
        Tool::dynamic(name, json!({ "type": "object" }))
            .description("Returns what was recorded.")
            .effects(Effects::ReadOnly)
            .inline(Inline::Always)
            .handler(move |args: Value, _: ToolContext| {
                let mut recorded = recorded.lock().unwrap();
                let at = recorded.iter().position(|call| call.arguments == args);
                let call = recorded.remove(at.unwrap()).unwrap();
                async move {
                    match call.outcome {
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

/// Returns a tool with a recorded schema. Formats that JSON Schema does not define are annotations.
pub(crate) fn recorded_tool(described: &Value, schema: &Value) -> Result<Tool, Error> {
    let mut formats = Vec::new();
    find_formats(schema, &mut formats);
    let options = formats
        .into_iter()
        .fold(Schema::options(), |options, item| {
            options.annotation_format(item)
        });
    Tool::dynamic(
        described["name"].as_str().unwrap(),
        options.document(schema.clone()),
    )
    .description(described["description"].as_str().unwrap_or_default())
    .handler(|_: Value, _: ToolContext| async { "" })
    .build()
}

fn find_formats<'d>(document: &'d Value, found: &mut Vec<&'d str>) {
    match document {
        Value::Object(fields) => {
            found.extend(document["format"].as_str());
            fields.values().for_each(|item| find_formats(item, found));
        }
        Value::Array(items) => items.iter().for_each(|item| find_formats(item, found)),
        _ => {}
    }
}

/// Intercepts requests. The first is answered, later ones fail.
#[derive(Clone, Debug)]
pub(super) struct Caught {
    answer: Bytes,
    sent: Arc<Mutex<Vec<Bytes>>>,
}

impl Caught {
    pub(super) fn answering(body: impl Into<Bytes>) -> Self {
        Caught {
            answer: body.into(),
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
        Ok(Response::new(status, Vec::new(), Body::full(body)))
    }
}
