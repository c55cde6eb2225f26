//! The example `service` is killed while a turn waits for its approval, and continues on the same database.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may end loudly")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A process of the service. Dropping it sends SIGKILL.
struct Service {
    process: Child,
    address: String,
}

impl Service {
    fn start(database: &Path) -> Self {
        let mut command = Command::new(built());
        let mut process = command
            .arg(database)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut stdout = BufReader::new(process.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap().to_owned();
        Service { process, address }
    }

    /// Sends a request. Returns the status and the body, which ends with the connection.
    fn request(&self, user: &str, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let length = body.len();
        let kind = match body.starts_with('{') {
            true => "application/json",
            false => "text/plain",
        };
        let request = format!(
            "{method} {path} HTTP/1.0\r\nauthorization: Bearer {user}-token\r\ncontent-type: {kind}\r\n\
             content-length: {length}\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, body.to_owned())
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
    let folder = std::env::temp_dir().join(format!("turnwright-service-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let database = folder.join("service.db");
    let payments = || std::fs::read_to_string(database.with_extension("payments"));

    let service = Service::start(&database);
    let (status, body) = service.request("ada", "POST", "/chats/bills", "Pay Bob.");
    assert_eq!(status, 200, "{body}");
    let ended = events(&body).pop().unwrap();
    assert_eq!(ended["status"], "suspended", "{body}");
    drop(service);
    assert!(payments().is_err(), "nothing is paid before the approval");

    let service = Service::start(&database);
    let (_, others) = service.request("bob", "GET", "/approvals", "");
    assert_eq!(others, "[]");
    let (_, own) = service.request("ada", "GET", "/approvals", "");
    let own: Value = serde_json::from_str(&own).unwrap();
    let (turn, gate) = (&own[0]["turn"], &own[0]["gates"][0]["id"]);
    let path = format!(
        "/chats/bills/turns/{}/gates/{}",
        turn.as_str().unwrap(),
        gate.as_str().unwrap()
    );
    let approve = r#"{"decision": "approve"}"#;
    assert_eq!(service.request("bob", "POST", &path, approve).0, 404);
    assert_eq!(service.request("eve", "POST", &path, approve).0, 401);
    assert!(payments().is_err(), "others cannot approve");

    let (status, body) = service.request("ada", "POST", &path, approve);
    assert_eq!(status, 200, "{body}");
    let events = events(&body);
    assert_eq!(events.last().unwrap()["status"], "answered", "{body}");
    let is_message = |event: &&Value| event["event"] == "message";
    let answer = events.iter().rfind(is_message).unwrap().to_string();
    assert!(answer.contains("Paid 3000 cents to Bob."), "{answer}");

    assert_eq!(service.request("ada", "POST", &path, approve).0, 409);
    drop(service);
    // Nothing is left to do for a third process.
    let service = Service::start(&database);
    assert_eq!(service.request("ada", "GET", "/approvals", "").1, "[]");
    assert_eq!(payments().unwrap().lines().count(), 1);
    drop(service);
    std::fs::remove_dir_all(&folder).unwrap();
}

/// The events of a stream.
fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: "));
    data.map(|json| serde_json::from_str(json).unwrap())
        .collect()
}

/// The program itself: a kill of `cargo run` would not reach it.
fn built() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/service");
    if !program.exists() {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--package", "turnwright"]);
        cargo.args(["--all-features", "--example", "service", "--target-dir"]);
        cargo.arg(tests.ancestors().nth(3).unwrap());
        cargo.current_dir(env!("CARGO_MANIFEST_DIR"));
        assert!(cargo.status().unwrap().success());
    }
    program
}
