//! Tests of framing and of raw results.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use super::connect::open;
use super::failure::Ending;
use super::handler::Flights;
use super::line_reader::{Line, LineReader};
use super::raw_results::{Outcome, RawResults};
use super::{ConnectOptions, Failure, Request, Session, TurnIdentity};
use crate::limits::Limits;

async fn lines(input: &[u8], limit: usize) -> Vec<Line> {
    let mut reader = LineReader::new(input, limit);
    let mut lines = Vec::new();
    while let Some(line) = reader.next().await.unwrap() {
        lines.push(line);
    }
    lines
}

fn complete(text: &str) -> Line {
    Line::Complete(text.into())
}

#[tokio::test]
async fn lines_end_at_a_newline_with_or_without_a_carriage_return() {
    let read = lines(b"one\r\ntwo\n\nthree", 10).await;
    assert_eq!(read, [complete("one"), complete("two"), complete("")]);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_skipped_and_its_ends_are_kept() {
    let long = format!(
        "{}{}{}",
        "a".repeat(256),
        "b".repeat(5_000),
        "c".repeat(256)
    );
    let read = lines(format!("{long}\nnext\n").as_bytes(), 1_000).await;
    let skipped = Line::TooLong {
        head: "a".repeat(256).into(),
        tail: "c".repeat(256).into(),
    };
    assert_eq!(read, [skipped, complete("next")]);
}

#[tokio::test]
async fn a_line_that_does_not_end_is_an_error() {
    let endless = tokio::io::repeat(b'x');
    let error = LineReader::new(endless, 1_000).next().await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
}

#[test]
fn a_server_that_reads_no_answers_is_noticed() {
    let results = RawResults::new(&Limits::default());
    let ping = br#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#;
    let notification = br#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    for _ in 0..256 {
        results.read(ping).unwrap();
        results.read(notification).unwrap();
    }
    assert_eq!(results.flooded(), None);
    results.read(ping).unwrap();
    assert!(
        results
            .flooded()
            .unwrap()
            .contains("without reading the answers")
    );
    results.response_sent();
    assert_eq!(results.flooded(), None);
}

proptest! {
    #[test]
    fn lines_are_the_same_however_the_bytes_arrive(
        texts in prop::collection::vec("[a-z]{0,40}", 0..6),
        chunk in 1_usize..9,
    ) {
        let input: String = texts.iter().flat_map(|text| [text, "\n"]).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let read = runtime.block_on(async {
            let (mut write, read) = tokio::io::duplex(chunk);
            let bytes = input.into_bytes();
            let feed = async move {
                tokio::io::AsyncWriteExt::write_all(&mut write, &bytes).await.unwrap();
            };
            let mut reader = LineReader::new(read, 20);
            let collect = async {
                let mut lines = Vec::new();
                while let Some(line) = reader.next().await.unwrap() {
                    lines.push(line);
                }
                lines
            };
            tokio::join!(feed, collect).1
        });
        prop_assert_eq!(read.len(), texts.len());
        for (line, text) in read.into_iter().zip(&texts) {
            match line {
                Line::Complete(line) => prop_assert_eq!(line, text.as_bytes()),
                Line::TooLong { .. } => prop_assert!(text.len() > 20),
            }
        }
    }
}

#[test]
fn a_late_answer_about_the_lifecycle_is_dropped() {
    let results = RawResults::new(&Limits::default());
    let request = |id: i64, method: &str| {
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" },
        });
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        serde_json::from_value(message).unwrap()
    };
    let error = |id: i64| {
        let error = json!({ "code": -32601, "message": "unknown" });
        json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string()
    };
    results.expect(&request(0, "server/discover"));
    assert!(results.read(error(0).as_bytes()).is_ok());
    // The client stops waiting and falls back to sessions.
    results.expect(&request(1, "initialize"));
    assert!(results.read(error(0).as_bytes()).is_err());
    assert!(results.read(error(1).as_bytes()).is_ok());
}

#[test]
fn rmcp_gets_no_more_tools_than_allowed_and_only_the_schemas_that_it_needs() {
    let results = RawResults::new(&Limits {
        tools: 3,
        ..Limits::default()
    });
    let shown = |tools: Value| {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        results.expect(&serde_json::from_value(request).unwrap());
        let list = json!({ "jsonrpc": "2.0", "id": 1, "result": { "tools": tools } });
        let shown = results.read(list.to_string().as_bytes()).unwrap();
        assert!(matches!(
            results.take(&RequestId::Number(1)),
            Some(Outcome::Result(_))
        ));
        serde_json::to_value(shown).unwrap()["result"]["tools"].clone()
    };
    let annotated = |count: usize| {
        let names = (0..count).map(|number| format!("p{number}"));
        let header = |name: &String| json!({ "type": "string", "x-mcp-header": name });
        let properties: Map<_, _> = names.map(|name| (name.clone(), header(&name))).collect();
        json!({ "type": "object", "properties": properties })
    };
    let tool = |name: &str, schema: &Value| json!({ "name": name, "inputSchema": schema });
    let plain = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    assert_eq!(
        shown(json!([
            tool("plain", &plain),
            tool("annotated", &annotated(100)),
            tool("too-many", &annotated(101)),
        ])),
        json!([
            tool("plain", &json!({})),
            tool("annotated", &annotated(100))
        ])
    );
    let four = ["a", "b", "c", "d"].map(|name| tool(name, &plain));
    assert_eq!(shown(json!(four)), Value::Null);
}

/// A transport whose other end is the test.
struct Wire {
    results: RawResults,
    sent: mpsc::UnboundedSender<Value>,
    received: mpsc::UnboundedReceiver<Value>,
}

impl Transport<RoleClient> for Wire {
    type Error = Infallible;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
        self.results.expect(&message);
        // The test may have ended.
        let _ = self.sent.send(serde_json::to_value(message).unwrap());
        std::future::ready(Ok(()))
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let message = self.received.recv().await?;
        Some(self.results.read(message.to_string().as_bytes()).unwrap())
    }

    async fn close(&mut self) -> Result<(), Infallible> {
        Ok(())
    }
}

/// Waits for a message with this method.
async fn message(sent: &mut mpsc::UnboundedReceiver<Value>, method: &str) -> Value {
    loop {
        let message = sent.recv().await.unwrap();
        if message["method"] == method {
            return message;
        }
    }
}

/// A connection whose server is the test.
struct Connected {
    session: Arc<dyn Session>,
    results: RawResults,
    requests: mpsc::UnboundedReceiver<Value>,
    answers: mpsc::UnboundedSender<Value>,
}

const SESSIONS: ConnectOptions = ConnectOptions {
    sessions: true,
    sampling: false,
    roots: None,
};

const LONG: Duration = Duration::from_secs(600);

async fn connected() -> Connected {
    let results = RawResults::new(&Limits::default());
    let (sent, mut requests) = mpsc::unbounded_channel();
    let (answers, received) = mpsc::unbounded_channel();
    let wire = Wire {
        results: results.clone(),
        sent,
        received,
    };
    let opening = open(
        wire,
        results.clone(),
        Ending::default(),
        LONG,
        SESSIONS,
        true,
    );
    let answering = async {
        let id = message(&mut requests, "initialize").await["id"].clone();
        let result = json!({
            "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
            "serverInfo": { "name": "test", "version": "1" },
        });
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": result });
        answers.send(answer).unwrap();
    };
    let (session, ()) = tokio::join!(opening, answering);
    Connected {
        session: session.unwrap(),
        results,
        requests,
        answers,
    }
}

fn call(idle: Duration, total: Duration) -> Request {
    Request {
        method: "tools/call",
        params: json!({ "name": "slow", "arguments": {} }),
        idle,
        total,
        listener: None,
    }
}

#[tokio::test]
async fn the_late_answer_to_a_request_that_was_dropped_is_not_kept() {
    let Connected {
        session,
        results,
        mut requests,
        answers,
    } = connected().await;
    let id = tokio::select! {
        answer = session.request(call(LONG, LONG)) => panic!("{answer:?}"),
        call = message(&mut requests, "tools/call") => call["id"].clone(),
    };
    let cancelled = message(&mut requests, "notifications/cancelled").await;
    assert_eq!(cancelled["params"]["requestId"], id);
    let late = json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [] } });
    answers.send(late).unwrap();
    // A second request is answered after that.
    let answering = async {
        let id = message(&mut requests, "tools/call").await["id"].clone();
        let answer = json!({ "jsonrpc": "2.0", "id": id, "result": { "content": [1] } });
        answers.send(answer).unwrap();
    };
    let (answer, ()) = tokio::join!(session.request(call(LONG, LONG)), answering);
    assert_eq!(answer.unwrap().result, json!({ "content": [1] }));
    assert_eq!(results.len(), 0);
}

#[tokio::test(start_paused = true)]
async fn progress_extends_the_idle_deadline_within_the_total_one() {
    let Connected {
        session,
        mut requests,
        answers,
        ..
    } = connected().await;
    let (idle, total) = (Duration::from_secs(10), Duration::from_secs(25));
    for (reports, expected) in [(0, idle), (10, total)] {
        let reporting = async {
            let call = message(&mut requests, "tools/call").await;
            let token = &call["params"]["_meta"]["progressToken"];
            let params = json!({ "progressToken": token, "progress": 1 });
            let progress =
                json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": params });
            for _ in 0..reports {
                tokio::time::sleep(Duration::from_secs(8)).await;
                answers.send(progress.clone()).unwrap();
            }
            std::future::pending::<()>().await;
        };
        let failure = tokio::select! {
            answer = session.request(call(idle, total)) => answer.unwrap_err(),
            () = reporting => unreachable!(),
        };
        assert!(
            matches!(failure, Failure::Timeout(limit) if limit == expected),
            "{failure}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_given_up_is_remembered_however_many_follow() {
    let turn = || TurnIdentity(Arc::default());
    let (ada, bob) = (turn(), turn());
    let mut flights = Flights::default();
    flights.give_up(ada);
    for _ in 0..1_000 {
        flights.give_up(bob.clone());
    }
    assert!(flights.has_given_up_other(&bob));
    tokio::time::advance(Duration::from_secs(5 * 60)).await;
    assert!(!flights.has_given_up_other(&bob));
}
