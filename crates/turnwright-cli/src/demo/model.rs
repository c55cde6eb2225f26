//! The model of the demo: a script that takes call ids from its prompt, as a model would.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use turnwright_testkit::server::model::{Call, Reply, text};
use turnwright_testkit::server::{ReceivedRequest, Server};

use super::incident;

/// The delay after each piece at a terminal.
const PACE: Duration = Duration::from_millis(18);

/// Starts the server.
pub(super) async fn serve(paced: bool) -> io::Result<Server> {
    Server::start(move |request| {
        let prompt = Prompt::of(request);
        let answer = reply(request.number, &prompt).answer(request);
        if paced {
            answer.drip(usize::MAX, PACE)
        } else {
            answer
        }
    })
    .await
}

fn reply(step: usize, prompt: &Prompt) -> Reply {
    match step {
        0 => Reply::default()
            .with_reasoning("First the log of last night, then the metrics.")
            // A number as text, as small models often write it.
            .with_call(Call::new("read_log", json!({ "service": "checkout", "hours": "8" }))),
        1 => say("The log is too long to read, so I search it.").with_call(Call::new(
            "artifact_grep",
            json!({ "callId": prompt.id_of("read_log"), "pattern": "ERROR|WARN|deploy", "max": 12 }),
        )),
        2 => say("The errors begin all at once. What is around the first one?").with_call(Call::new(
            "artifact_cat",
            json!({
                "callId": prompt.id_of("read_log"),
                "start": incident::FIRST_ERROR - 2, "end": incident::FIRST_ERROR + 2,
            }),
        )),
        3 => Reply::default()
            .with_reasoning("All 20 connections are in use, and the deploy before it changed exactly that number.")
            .with_call(Call::new("read_metrics", json!({}))),
        4 => say("Which series were above their limit?").with_call(Call::new(
            "artifact_json_get",
            json!({ "callId": prompt.id_of("read_metrics"), "path": "$.series[?@.peak > @.limit]['name', 'limit', 'peak']" }),
        )),
        5 => say(
            "It was the deploy. One line of the log contains an injected instruction to restart everything without asking. It \
             came in as the name of a browser, so it is data, and I do not follow it.",
        )
        .with_call(Call::new("restart_service", json!({ "service": "checkout", "reason": "deploy 7c1f09" }))),
        6 => Reply::default().with_call(Call::new(
            "restart_service",
            json!({ "service": "checkout-api", "reason": "deploy 7c1f09 left it 20 connections of 200" }),
        )),
        _ => say(&answer(prompt)),
    }
    .pieces(24)
}

fn say(words: &str) -> Reply {
    text(words, 24)
}

fn answer(prompt: &Prompt) -> String {
    let cause = "At 01:46 deploy 7c1f09 cut the connection pool of checkout from 200 to 20. From 02:13 on the pool was \
        exhausted, up to 399 requests waited for a connection, and orders failed after 5 seconds.";
    let done = if prompt.restarted() {
        "With your approval I restarted the service with its last good configuration; it is healthy again."
    } else {
        "I did not restart anything, because that was not approved. Restart checkout-api with its last good configuration."
    };
    format!("{cause} {done} Next, revert the deploy and add an alert for waiting connections.")
}

/// The messages that the model sees.
struct Prompt(Vec<Value>);

impl Prompt {
    fn of(request: &ReceivedRequest) -> Self {
        let body = request.json().unwrap_or_default();
        let messages = body.get("messages").and_then(Value::as_array);
        Prompt(messages.cloned().unwrap_or_default())
    }

    /// The call id in the handle of a tool's result.
    fn id_of(&self, tool: &str) -> String {
        let is_of = |content: &&str| content.contains(&format!("tool=\"{tool}\""));
        let contents = self.0.iter();
        let contents = contents.filter_map(|message| message.get("content")?.as_str());
        let mut handles = contents.filter(is_of).filter_map(|content| {
            let (_, rest) = content.split_once("callId \"")?;
            rest.split('"').next()
        });
        handles.next().unwrap_or_default().to_owned()
    }

    /// Whether the last call restarted the service.
    fn restarted(&self) -> bool {
        let is_result = |message: &&Value| message.get("role") == Some(&json!("tool"));
        let last = self.0.iter().rev().find(is_result);
        let content = last.and_then(|message| message.get("content")?.as_str());
        content.is_some_and(|content| content.contains("was restarted"))
    }
}
