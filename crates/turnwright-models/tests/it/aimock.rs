//! All five protocols against aimock, an independent mock of model servers.
//!
//! `scripts/aimock.sh` starts a server with `scripts/aimock/fixtures.json` and runs this test. It uses the server at
//! `TURNWRIGHT_AIMOCK_URL`, and skips with a notice if the variable is not set.

use std::fmt::Display;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use turnwright_core::runner::AnswerFormat;
use turnwright_core::schema::Schema;
use turnwright_core::{
    ErrorCode, EventKind, ModelSettings, Tool, ToolContext, TurnInput, TurnOutcome, TurnRunner,
};
use turnwright_models::Protocol;
use turnwright_models::retry::RetryPolicy;

/// A run of one case with one protocol.
struct Rig {
    protocol: Protocol,
    url: String,
    case: &'static str,
    stream: bool,
    attempts: usize,
    /// A header of the server that makes requests fail, with the rate.
    chaos: Option<(&'static str, &'static str)>,
    ran: Arc<Mutex<Vec<Value>>>,
}

/// What a case observed instead of what it expects.
type Outcome = Result<(), String>;

impl Rig {
    fn runner(&self) -> TurnRunner {
        let wait = Duration::from_millis(1);
        let retry = RetryPolicy::new().first_wait(wait).longest_wait(wait * 5);
        let stream = json!({ "stream": self.stream });
        // The server counts the requests of each test.
        let test = format!("{} {} {}", self.protocol, self.case, self.stream);
        let mut model = self
            .protocol
            .builder_at(crate::base_url(self.protocol, &self.url))
            .model("mock")
            .api_key("sk-1234567890")
            .settings(ModelSettings::new().provider(self.protocol.name(), stream))
            .header("x-test-id", test)
            .retry(retry.attempts(self.attempts))
            .no_proxy();
        if let Some((header, rate)) = self.chaos {
            model = model.header(header, rate);
        }
        let ran = Arc::clone(&self.ran);
        let schema = json!({ "type": "object", "properties": { "city": { "type": "string" } } });
        let weather = Tool::dynamic("weather", schema)
            .description("Returns the weather in a city.")
            .handler(move |args: Value, _: ToolContext| {
                ran.lock().unwrap().push(args);
                async { "rain" }
            });
        turnwright_core::runner(model.build().unwrap())
            .tool(weather.build())
            .build()
            .unwrap()
    }

    fn ran(&self, expected: &[Value]) -> Outcome {
        same(
            "calls that ran",
            self.ran.lock().unwrap().as_slice(),
            expected,
        )
    }

    /// Asks, and expects this answer.
    async fn answers(&self, ask: &str, answer: &str) -> Outcome {
        answered(&self.runner().run(ask).await, answer)
    }

    /// Asks, and expects this failure after all attempts.
    async fn fails(&self, ask: &str, codes: &[ErrorCode]) -> Outcome {
        let outcome = self.runner().run(ask).await;
        let error = outcome.error().ok_or("the turn was answered")?;
        if codes.contains(&error.code()) {
            self.ran(&[])
        } else {
            Err(format!("{}: {}", error.code(), error.with_causes()))
        }
    }
}

fn answered(outcome: &TurnOutcome, text: &str) -> Outcome {
    match outcome.error() {
        Some(error) => Err(error.with_causes()),
        None => same("answer", outcome.text.as_str(), text),
    }
}

fn same<T: PartialEq + std::fmt::Debug + ?Sized>(what: &str, found: &T, expected: &T) -> Outcome {
    if found == expected {
        Ok(())
    } else {
        Err(format!("{what}: {found:?} instead of {expected:?}"))
    }
}

async fn text(rig: &Rig) -> Outcome {
    let mut turn = rig.runner().start("Say hello.");
    let mut pieces = 0;
    while let Some(event) = turn.next().await {
        pieces += usize::from(matches!(event.kind, EventKind::MessageDelta(_)));
    }
    let outcome = turn.outcome().await;
    answered(
        &outcome,
        "Hello from the mock server, in quite a few pieces.",
    )?;
    if pieces > 1 || !rig.stream {
        Ok(())
    } else {
        Err("the text came in one piece".to_owned())
    }
}

async fn reasoning(rig: &Rig) -> Outcome {
    let outcome = rig.runner().run("Think first.").await;
    answered(&outcome, "Forty-two.")?;
    let thoughts: Vec<&str> = outcome.thoughts().map(|item| item.text()).collect();
    same("thoughts", &thoughts[..], &["Let me see."])
}

async fn call(rig: &Rig) -> Outcome {
    rig.answers("One city.", "It rains in Bern.").await?;
    rig.ran(&[json!({ "city": "Bern" })])
}

async fn two_calls(rig: &Rig) -> Outcome {
    rig.answers("Two cities.", "It rains in both.").await?;
    let mut ran = rig.ran.lock().unwrap().clone();
    ran.sort_by_key(ToString::to_string);
    let both = [json!({ "city": "Bern" }), json!({ "city": "Rome" })];
    same("calls that ran", &ran[..], &both)
}

async fn no_arguments(rig: &Rig) -> Outcome {
    rig.answers("No arguments.", "It rains somewhere.").await?;
    rig.ran(&[json!({})])
}

async fn typed(rig: &Rig) -> Outcome {
    let schema = json!({
        "type": "object",
        "properties": { "name": { "type": "string" }, "districts": { "type": "integer" } },
        "required": ["name", "districts"],
    });
    let format = AnswerFormat::new("City", Schema::from_document(schema).unwrap());
    let runner = rig.runner();
    let typed = runner
        .run(TurnInput::new("Describe Bern.").answer_format(format))
        .await;
    let answer: Value = typed.answer().map_err(|error| error.with_causes())?;
    same(
        "answer",
        &answer,
        &json!({ "name": "Bern", "districts": 6 }),
    )
}

async fn cut_off(rig: &Rig) -> Outcome {
    rig.fails("Too long.", &[ErrorCode::MODEL_RESPONSE_INCOMPLETE])
        .await
}

async fn busy(rig: &Rig) -> Outcome {
    rig.answers("Be busy.", "At your service.").await
}

async fn wrong_key(rig: &Rig) -> Outcome {
    rig.fails("Wrong key.", &[ErrorCode::MODEL_SERVER_ERROR])
        .await
}

async fn cut_text(rig: &Rig) -> Outcome {
    rig.answers("Cut the text.", "Complete.").await
}

async fn cut_call(rig: &Rig) -> Outcome {
    rig.answers("Cut the call.", "Complete.").await?;
    rig.ran(&[])
}

async fn always(rig: &Rig) -> Outcome {
    let codes = [
        ErrorCode::MODEL_SERVER_ERROR,
        ErrorCode::MODEL_UNREACHABLE,
        ErrorCode::WIRE_ERROR,
    ];
    rig.fails("One city.", &codes).await
}

/// Ten turns of two requests, each of which fails half of the time. The handler runs once per turn.
async fn often(rig: &Rig) -> Outcome {
    for turn in 1..=10 {
        rig.answers("One city.", "It rains in Bern.").await?;
        let ran = rig.ran.lock().unwrap().len();
        same("calls that ran", &ran, &turn)?;
    }
    Ok(())
}

struct Case {
    name: &'static str,
    run: for<'r> fn(&'r Rig) -> BoxFuture<'r, Outcome>,
    /// Streamed, complete.
    modes: &'static [bool],
    attempts: usize,
    chaos: Option<(&'static str, &'static str)>,
}

/// What the server does otherwise than the real one, so that a case says nothing about the client.
const DEVIATIONS: &[(&str, Protocol, &str)] = &[
    (
        "reasoning",
        Protocol::Ollama,
        "the server sends `reasoning_content`, Ollama sends `thinking`",
    ),
    (
        "an answer that is cut off",
        Protocol::Ollama,
        "the server always sends the reason `stop`",
    ),
];

const BOTH: &[bool] = &[true, false];
const STREAMED: &[bool] = &[true];

macro_rules! cases {
    ($($name:literal, $run:ident, $modes:ident, $attempts:literal, $chaos:expr;)+) => {
        &[$(Case { name: $name, run: |rig| $run(rig).boxed(), modes: $modes, attempts: $attempts, chaos: $chaos },)+]
    };
}

const CASES: &[Case] = cases! {
    "text", text, BOTH, 1, None;
    "reasoning", reasoning, BOTH, 1, None;
    "a call and its result", call, BOTH, 1, None;
    "two calls with text", two_calls, BOTH, 1, None;
    "a call without arguments", no_arguments, BOTH, 1, None;
    "a typed answer", typed, BOTH, 1, None;
    "an answer that is cut off", cut_off, BOTH, 1, None;
    "429, 503, then an answer", busy, BOTH, 3, None;
    "401", wrong_key, BOTH, 3, None;
    "a broken stream of text", cut_text, STREAMED, 2, None;
    "a broken stream of a call", cut_call, STREAMED, 2, None;
    "chaos: always 500", always, BOTH, 3, Some(("x-aimock-chaos-drop", "1"));
    "chaos: always malformed", always, BOTH, 3, Some(("x-aimock-chaos-malformed", "1"));
    "chaos: always 429", always, BOTH, 3, Some(("x-aimock-chaos-ratelimit", "1"));
    "chaos: always disconnects", always, BOTH, 3, Some(("x-aimock-chaos-disconnect", "1"));
    "chaos: often 500", often, BOTH, 40, Some(("x-aimock-chaos-drop", "0.5"));
    "chaos: often malformed", often, BOTH, 40, Some(("x-aimock-chaos-malformed", "0.5"));
    "chaos: often disconnects", often, BOTH, 40, Some(("x-aimock-chaos-disconnect", "0.5"));
};

fn line(name: impl Display, cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.map(|cell| format!("{cell:<17}")).collect();
    format!("{name:<28}{}", cells.concat())
}

#[tokio::test]
async fn all_protocols_work_with_aimock() {
    let url = std::env::var("TURNWRIGHT_AIMOCK_URL").unwrap_or_default();
    if url.is_empty() {
        crate::say(
            "SKIPPED: aimock: no server configured; run scripts/aimock.sh, or set TURNWRIGHT_AIMOCK_URL",
        );
        return;
    }
    let names = Protocol::ALL.iter().map(ToString::to_string);
    crate::say(line("streamed and complete", names));
    let (mut found, mut notes, mut runs) = (Vec::new(), Vec::new(), 0);
    for case in CASES {
        let mut cells = Vec::new();
        for protocol in Protocol::ALL {
            let deviates =
                |(name, of, _): &&(&str, Protocol, &str)| *name == case.name && *of == protocol;
            if let Some((_, _, why)) = DEVIATIONS.iter().find(deviates) {
                notes.push(format!("- {}, {protocol}: {why}", case.name));
                cells.push("-".to_owned());
                continue;
            }
            let mut cell = Vec::new();
            for &stream in case.modes {
                let rig = Rig {
                    protocol,
                    url: url.clone(),
                    case: case.name,
                    stream,
                    attempts: case.attempts,
                    chaos: case.chaos,
                    ran: Arc::default(),
                };
                runs += 1;
                let outcome = (case.run)(&rig).await;
                cell.push(if outcome.is_ok() { "ok" } else { "FAILED" });
                let name = format!("{protocol}, {}, stream {stream}", case.name);
                found.extend(outcome.err().map(|why| format!("{name}: {why}")));
            }
            cells.push(cell.join(" "));
        }
        crate::say(line(case.name, cells.into_iter()));
    }
    notes.iter().for_each(crate::say);
    crate::say(format!("{} of {runs} runs as expected", runs - found.len()));
    assert!(found.is_empty(), "{}", found.join("\n"));
}
