//! The example `service` is killed while a turn waits for its approval, when its approval was recorded, and while a tool runs,
//! and continues on the same database.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may panic"
)]

use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use turnwright::gate::GateAnswer;
use turnwright::prelude::*;
use turnwright::store::{TurnFilter, WaitingState};

use crate::example_programs::example;

const APPROVE: &str = r#"{"decision": "approve"}"#;
const APPROVE_AS_BOB: &str = r#"{"decision": "approve", "by": "bob", "note": "as agreed"}"#;

/// A folder with the database of one test. It is gone after the test.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    /// Starts the service with the database of this folder.
    fn start(&self) -> Service {
        Service::start(&self.0.path().join("service.db"))
    }

    /// Records an approval in the database, and does no more.
    #[tokio::main(flavor = "current_thread")]
    async fn record_approval(&self, gate: &str) {
        let storage = Storage::sqlite(self.0.path().join("service.db"))
            .await
            .unwrap();
        let answered = storage.answer_gate("ada/bills", gate, GateAnswer::approve());
        answered.await.unwrap();
        let listed = storage.waiting(&TurnFilter::all()).await.unwrap();
        assert_eq!(listed[0].state, WaitingState::AnsweredNotResumed);
    }

    /// The lines of the book of payments.
    fn payments(&self) -> Vec<String> {
        let book = std::fs::read_to_string(self.0.path().join("service.payments"));
        book.unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    }
}

/// A process of the service. Dropping it sends SIGKILL.
struct Service {
    process: Child,
    address: String,
}

impl Service {
    fn start(database: &Path) -> Self {
        let mut command = Command::new(example("service"));
        let command = command.arg(database).arg("0").stdout(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap().to_owned();
        Service { process, address }
    }

    fn send(&self, user: &str, method: &str, path: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let kind = if body.starts_with('{') {
            "application/json"
        } else {
            "text/plain"
        };
        let request = format!(
            "{method} {path} HTTP/1.0\r\nauthorization: Bearer {user}-token\r\ncontent-type: {kind}\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// Sends a request. Returns the status and the body, which ends with the connection.
    fn request(&self, user: &str, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut response = String::new();
        let mut stream = self.send(user, method, path, body);
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
    }

    /// The events of a request that must succeed.
    fn events(&self, user: &str, method: &str, path: &str, body: &str) -> Vec<Value> {
        let (status, body) = self.request(user, method, path, body);
        assert_eq!(status, 200, "{body}");
        body.lines().filter_map(event).collect()
    }

    /// Ada's turns that wait.
    fn approvals(&self) -> Vec<Value> {
        let (status, body) = self.request("ada", "GET", "/approvals", "");
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Asks for a payment, which waits for approval. Returns the paths of the turn and of its gate.
    fn ask_for_payment(&self) -> (String, String) {
        let events = self.events("ada", "POST", "/chats/bills", "Pay Bob.");
        let turn = text(&events[0]["turnId"]);
        let ended = events.last().unwrap();
        assert_eq!(ended["status"], "suspended", "{ended}");
        assert!(
            !events
                .iter()
                .any(|event| event["event"] == "turnGateClosed")
        );
        let gate = text(&ended["gates"][0]["id"]);
        (
            format!("/chats/bills/turns/{turn}"),
            format!("/chats/bills/gates/{gate}"),
        )
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_turn_that_waits_for_approval_survives_a_kill_and_pays_once() {
    let folder = Folder::new();
    let service = folder.start();
    let (_, gate) = service.ask_for_payment();
    drop(service);
    assert!(folder.payments().is_empty(), "nothing is paid unasked");

    let service = folder.start();
    assert_eq!(service.request("bob", "GET", "/approvals", "").1, "[]");
    let waiting = service.approvals();
    assert_eq!(waiting.len(), 1);
    assert_eq!(
        (&waiting[0]["conversation"], &waiting[0]["state"]),
        (&"ada/bills".into(), &"suspended".into())
    );
    let shown = &waiting[0]["gates"][0];
    assert!(gate.ends_with(&text(&shown["id"])));
    assert_eq!(shown["question"]["tool"], "pay");
    assert_eq!(shown["question"]["args"]["cents"], 3000);
    assert_eq!(service.request("bob", "POST", &gate, APPROVE).0, 404);
    assert_eq!(service.request("eve", "POST", &gate, APPROVE).0, 401);
    let nonsense = r#"{"decision": "edit", "args": {"to": 7}}"#;
    assert_eq!(service.request("ada", "POST", &gate, nonsense).0, 422);
    assert!(folder.payments().is_empty(), "others cannot approve");

    let events = service.events("ada", "POST", &gate, APPROVE_AS_BOB);
    let closed = events
        .iter()
        .find(|event| event["event"] == "turnGateClosed");
    let closed = closed.unwrap();
    assert_eq!(
        (text(&closed["by"]), text(&closed["note"])),
        ("ada".into(), "as agreed".into())
    );
    assert_eq!(events.last().unwrap()["status"], "answered");
    assert!(answer(&events).contains("Paid 3000 cents to Bob."));
    assert_eq!(service.request("ada", "POST", &gate, APPROVE).0, 409);
    drop(service);
    // Nothing is left to do for a third process.
    assert!(folder.start().approvals().is_empty());
    assert_eq!(folder.payments().len(), 1);
}

#[test]
fn an_approval_that_was_recorded_just_before_a_kill_is_carried_out() {
    let folder = Folder::new();
    let service = folder.start();
    let (turn, gate) = service.ask_for_payment();
    drop(service);
    // The last write of a process that was killed: the answer.
    folder.record_approval(gate.rsplit('/').next().unwrap());
    assert!(folder.payments().is_empty());

    let service = folder.start();
    let events = service.events("ada", "GET", &turn, "");
    assert_eq!(events.last().unwrap()["status"], "answered");
    assert!(answer(&events).contains("Paid 3000 cents to Bob."));
    assert!(service.approvals().is_empty());
    assert_eq!(folder.payments().len(), 1);
}

#[cfg(unix)]
#[test]
fn a_payment_whose_process_was_killed_is_reported_as_unknown_and_not_repeated() {
    let folder = Folder::new();
    // The pipe has no reader, so the tool cannot write its receipt: it runs until its process is killed.
    let receipt = folder.0.path().join("service.receipt");
    let made = Command::new("mkfifo").arg(&receipt).status().unwrap();
    assert!(made.success());
    let service = folder.start();
    let (turn, gate) = service.ask_for_payment();
    let mut stream = Events::new(service.send("ada", "POST", &gate, APPROVE));
    stream.wait_for("toolExecutionProgress");
    assert_eq!(folder.payments().len(), 1, "the payment was made");
    drop(service);
    std::fs::remove_file(&receipt).unwrap();

    // The lease of the killed process is waited for, and then the turn continues by itself.
    let service = folder.start();
    let events = service.events("ada", "GET", &turn, "");
    assert_eq!(events.last().unwrap()["status"], "answered");
    let interrupted = events.iter().find(|event| event["event"] == "toolCall");
    let interrupted = interrupted.unwrap();
    assert_eq!(interrupted["record"]["tool"], "pay", "{interrupted}");
    let answer = answer(&events);
    assert!(!answer.contains("Paid"), "{answer}");
    assert!(
        answer.contains("may or may not have taken effect"),
        "{answer}"
    );
    assert_eq!(folder.payments().len(), 1, "it is not repeated");
    assert!(!receipt.exists());
    drop(service);
    let service = folder.start();
    assert!(service.approvals().is_empty());
    let again = service.events("ada", "GET", &turn, "");
    assert_eq!(again.last().unwrap()["status"], "answered");
    assert_eq!(folder.payments().len(), 1);
}

#[test]
fn the_example_is_short() {
    let source = include_str!("../../examples/service.rs");
    let code = source.lines().map(str::trim);
    let code = code.filter(|line| !line.is_empty() && !line.starts_with("//"));
    let lines = code.count();
    assert!(lines <= 83, "{lines} lines of code");
}

/// The events of a stream that is still open.
struct Events(Lines<BufReader<TcpStream>>);

impl Events {
    fn new(stream: TcpStream) -> Self {
        Events(BufReader::new(stream).lines())
    }

    /// Reads until an event of this name.
    fn wait_for(&mut self, name: &str) {
        let lines = self.0.by_ref().map(Result::unwrap);
        let mut seen = Vec::new();
        for event in lines.filter_map(|line| event(&line)) {
            if event["event"] == name {
                return;
            }
            seen.push(event);
        }
        panic!("no `{name}` among {seen:?}");
    }
}

/// The event of a line.
fn event(line: &str) -> Option<Value> {
    let json = line.strip_prefix("data: ")?;
    Some(serde_json::from_str(json).unwrap())
}

/// The last message of the model.
fn answer(events: &[Value]) -> String {
    let mut messages = events.iter().rev();
    let message = messages.find(|event| event["event"] == "message");
    text(&message.unwrap()["record"]["text"])
}

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
