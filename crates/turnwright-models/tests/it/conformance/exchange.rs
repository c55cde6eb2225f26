//! The model under test, and the server that it talks to.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use turnwright_core::runner::TurnRunnerBuilder;
use turnwright_core::{
    Event, EventKind, Tool, ToolContext, Turn, TurnInput, TurnOutcome, TurnRunner,
};
use turnwright_testkit::server::model::{self, Call, Player, Protocol, Reply, Script};
use turnwright_testkit::server::{Answer, ReceivedRequest, Server};

use super::{Broken, Built, Make, ModelSetup, Outcome, ensure, same};

/// Longer than it takes to close a connection.
const CLOSING: Duration = Duration::from_secs(5);

/// A strict server, and models that talk to it.
pub(super) struct Exchange<'a> {
    pub(super) protocol: Protocol,
    make: &'a Make<'a>,
    server: Server,
    script: Arc<Played>,
}

/// What the server answers.
pub(super) struct Played {
    protocol: Protocol,
    player: Player,
    /// The next answers. After the last one, the player answers.
    next: Mutex<VecDeque<Next>>,
    /// What was wrong with requests.
    problems: Mutex<Vec<String>>,
}

enum Next {
    Reply,
    Answer(Box<Answer>),
}

impl Played {
    /// Adds a reply.
    pub(super) fn reply(&self, reply: Reply) {
        self.player.push(reply);
        self.next.lock().push_back(Next::Reply);
    }

    fn answer(&self, request: &ReceivedRequest) -> Answer {
        let next = self.next.lock().pop_front();
        if let Some(Next::Answer(answer)) = next {
            if let Err(problem) = model::check(self.protocol, request) {
                self.problems.lock().push(problem);
            }
            return *answer;
        }
        let played = self.player.answer(request);
        self.problems.lock().extend(played.problem);
        played.answer
    }
}

impl<'a> Exchange<'a> {
    pub(super) async fn start(protocol: Protocol, make: &'a Make<'a>) -> Self {
        let script = Arc::new(Played {
            protocol,
            player: Script::default().player().protocol(protocol).strict(),
            next: Mutex::default(),
            problems: Mutex::default(),
        });
        let answers = Arc::clone(&script);
        let server = Server::start(move |request| answers.answer(request)).await;
        Exchange {
            protocol,
            make,
            server: server.unwrap(),
            script,
        }
    }

    /// Adds replies. The server gives them one per request.
    pub(super) fn replies(&self, replies: impl IntoIterator<Item = Reply>) {
        replies
            .into_iter()
            .for_each(|reply| self.script.reply(reply));
    }

    /// Adds a raw answer.
    pub(super) fn answer(&self, answer: Answer) {
        let answer = Next::Answer(Box::new(answer));
        self.script.next.lock().push_back(answer);
    }

    /// Returns an error in the form of the protocol.
    pub(super) fn error(&self, status: u16, kind: &str, message: &str) -> Answer {
        let error = match self.protocol {
            Protocol::Ollama => json!(message),
            _ => json!({ "type": kind, "message": message }),
        };
        Answer::json(status, json!({ "type": "error", "error": error }))
    }

    pub(super) fn script(&self) -> &Arc<Played> {
        &self.script
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    pub(super) fn setup(&self) -> ModelSetup {
        ModelSetup::new(self.protocol, self.server.url())
    }

    pub(super) fn build(&self, setup: &ModelSetup) -> Result<Built, Broken> {
        Ok((self.make)(setup)?)
    }

    /// Returns the builder of a runner with a new model.
    pub(super) fn runner(&self) -> Result<TurnRunnerBuilder, Broken> {
        self.runner_with(|_| {})
    }

    pub(super) fn runner_with(
        &self,
        change: impl FnOnce(&mut ModelSetup),
    ) -> Result<TurnRunnerBuilder, Broken> {
        let mut setup = self.setup();
        change(&mut setup);
        let model = self.build(&setup)?.executor;
        Ok(turnwright_core::runner(model).instructions("Be brief."))
    }

    /// Returns the request at this index.
    pub(super) fn request(&self, number: usize) -> Result<ReceivedRequest, Broken> {
        let request = self.server.requests().into_iter().nth(number);
        request.ok_or_else(|| Broken(format!("there is no request {number}")))
    }

    /// Returns the body of the request at this index.
    pub(super) fn body(&self, number: usize) -> Result<Value, Broken> {
        let body = self.request(number)?.json();
        body.ok_or_else(|| Broken(format!("the body of request {number} is not JSON")))
    }

    /// Checks how many requests the server received.
    pub(super) fn requests_are(&self, count: usize) -> Outcome {
        same("requests", self.server.requests().len(), count)
    }

    /// Checks that all connections are closed, or will be soon.
    pub(super) async fn connections_close(&self) -> Outcome {
        let closed = tokio::time::timeout(CLOSING, self.server.all_closed()).await;
        ensure(closed.is_ok(), || "the connection is still open".to_owned())
    }

    /// Adds what the server found wrong to the outcome of a check.
    pub(super) fn verdict(&self, outcome: Outcome) -> Outcome {
        let problems = self.script.problems.lock().join("\n  ");
        if problems.is_empty() {
            return outcome;
        }
        let rejected = format!("the server rejects a request: {problems}");
        match outcome {
            Ok(()) => Err(Broken(rejected)),
            Err(Broken(observed)) => Err(Broken(format!("{observed}\n  {rejected}"))),
        }
    }
}

/// A tool `weather` that records the arguments of its calls.
pub(super) struct Weather {
    pub(super) tool: Tool,
    calls: Arc<Mutex<Vec<Value>>>,
}

impl Weather {
    pub(super) fn new() -> Result<Self, Broken> {
        Weather::named("weather")
    }

    /// Creates the tool with another name, and any arguments.
    pub(super) fn named(name: &str) -> Result<Self, Broken> {
        let schema = match name {
            "weather" => Weather::schema(),
            _ => json!({ "type": "object" }),
        };
        let calls = Arc::<Mutex<Vec<Value>>>::default();
        let recorded = Arc::clone(&calls);
        let tool = Tool::dynamic(name, schema)
            .description("Returns the weather in a city.")
            .handler(move |args: Value, _: ToolContext| {
                let city = args.get("city").and_then(Value::as_str);
                let text = format!("rain in {}", city.unwrap_or("nowhere"));
                recorded.lock().push(args);
                async move { text }
            });
        let tool = tool.build()?;
        Ok(Weather { tool, calls })
    }

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "city": { "type": "string", "maxLength": 80 },
                "unit": { "enum": ["celsius", "fahrenheit"] },
            },
            "additionalProperties": false,
        })
    }

    pub(super) fn call(city: &str) -> Call {
        Call::new("weather", json!({ "city": city }))
    }

    /// Returns how often it ran.
    pub(super) fn count(&self) -> usize {
        self.calls.lock().len()
    }

    /// Checks the arguments of all calls.
    pub(super) fn ran_with(&self, arguments: &[Value]) -> Outcome {
        let calls = self.calls.lock().clone();
        same("the arguments of the calls that ran", &calls[..], arguments)
    }
}

/// Runs a turn of the conversation `c`.
pub(super) async fn say(runner: &TurnRunner, text: &str) -> TurnOutcome {
    runner.run(TurnInput::new(text).conversation("c")).await
}

/// Reads a turn to its end.
pub(super) async fn events(mut turn: Turn) -> (Vec<Event>, TurnOutcome) {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        events.push(event);
    }
    (events, turn.outcome().await)
}

/// Returns the pieces of the answer that were shown and not discarded.
pub(super) fn pieces(events: &[Event]) -> Vec<String> {
    let mut pieces: Vec<(&str, &str)> = Vec::new();
    for event in events {
        match &event.kind {
            EventKind::MessageDelta(delta) => pieces.push((&delta.id, &delta.text)),
            EventKind::Discarded { id } => pieces.retain(|(of, _)| *of != &**id),
            _ => {}
        }
    }
    let texts = pieces.into_iter().map(|(_, text)| text.to_owned());
    texts.collect()
}

/// Checks that a turn was answered with this text.
pub(super) fn answered(outcome: &TurnOutcome, text: &str) -> Outcome {
    if let Some(error) = outcome.error() {
        let (code, causes) = (error.code(), error.with_causes());
        return Err(Broken(format!("the turn ended with {code}: {causes}")));
    }
    same("the answer", outcome.text.as_str(), text)
}

/// Checks that a turn ended with this error.
pub(super) fn failed(outcome: &TurnOutcome, code: turnwright_core::ErrorCode) -> Outcome {
    let found = outcome.error();
    let shown = || match &found {
        Some(error) => format!("{}: {}", error.code(), error.with_causes()),
        None => format!("the answer {:?}", outcome.text),
    };
    let is = found.as_ref().is_some_and(|error| error.code() == code);
    ensure(is, || format!("expected {code}, found {}", shown()))
}

/// Returns all texts in a document, at any depth.
pub(super) fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

/// Returns `true` if a document has this value, at any depth.
pub(super) fn contains(document: &Value, value: &Value) -> bool {
    document == value
        || match document {
            Value::Array(items) => items.iter().any(|item| contains(item, value)),
            Value::Object(fields) => fields.values().any(|item| contains(item, value)),
            _ => false,
        }
}
