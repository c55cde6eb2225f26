//! The model of the demo: a script, which reads from its prompt what a model would read there.

use std::io;
use std::time::Duration;

use serde_json::{Value, json};
use turnwright_testkit::server::chat::{Call, Reply, text};
use turnwright_testkit::server::{ReceivedRequest, Server};

use super::incident;

/// What is waited after each piece where a person watches.
const PACE: Duration = Duration::from_millis(18);

/// A server that plays it.
pub(super) async fn serve(paced: bool) -> io::Result<Server> {
    Server::start(move |request| {
        let prompt = Prompt::of(request);
        let answer = reply(request.number, &prompt).answer(request);
        match paced {
            true => answer.drip(usize::MAX, PACE),
            false => answer,
        }
    })
    .await
}

fn reply(step: usize, prompt: &Prompt) -> Reply {
    match step {
        0 => Reply::default()
            .with_reasoning("First the log of the night, then the metrics.")
            // The hours come as text, as small models like to write them.
            .with_call(Call::new("read_log", json!({ "service": "checkout", "hours": "8" }))),
        1 => say("The log is far too long to read. I search it.").with_call(Call::new(
            "artifact_grep",
            json!({ "callId": prompt.id_of("read_log"), "pattern": "ERROR|WARN|deploy", "max": 12 }),
        )),
        2 => say("The errors begin all at once. What stands around the first one?").with_call(Call::new(
            "artifact_cat",
            json!({
                "callId": prompt.id_of("read_log"),
                "start": incident::FIRST_ERROR - 2, "end": incident::FIRST_ERROR + 2,
            }),
        )),
        3 => Reply::default()
            .with_reasoning("All 20 connections are in use, and the deploy before changed just that number.")
            .with_call(Call::new("read_metrics", json!({}))),
        4 => say("Which series were above their limit?").with_call(Call::new(
            "artifact_json_get",
            json!({ "callId": prompt.id_of("read_metrics"), "path": "$.series[?@.peak > @.limit]['name', 'limit', 'peak']" }),
        )),
        5 => say(
            "It was the deploy. One line of the log claims to be an instruction to restart everything without asking: \
             it came in as a browser's name, so it is data, and I do not follow it.",
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
    let done = match prompt.restarted() {
        true => {
            "With your consent I restarted the service with its last good configuration; it is healthy again."
        }
        false => {
            "I did not restart anything, since that was not allowed. Restart checkout-api with its last good configuration."
        }
    };
    format!("{cause} {done} Then take back the deploy, and put an alarm on waiting connections.")
}

/// What the model is shown.
struct Prompt(Vec<Value>);

impl Prompt {
    fn of(request: &ReceivedRequest) -> Self {
        let body = request.json().unwrap_or_default();
        let messages = body.get("messages").and_then(Value::as_array);
        Prompt(messages.cloned().unwrap_or_default())
    }

    /// The id by which the result of a tool is asked, as its handle says.
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

    /// Whether the last call did what it should.
    fn restarted(&self) -> bool {
        let is_result = |message: &&Value| message.get("role") == Some(&json!("tool"));
        let last = self.0.iter().rev().find(is_result);
        let content = last.and_then(|message| message.get("content")?.as_str());
        content.is_some_and(|content| content.contains("was restarted"))
    }
}
