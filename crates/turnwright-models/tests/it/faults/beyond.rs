//! Faults between requests, and unreachable or redirecting servers.

use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::timeout;
use turnwright_core::ErrorCode;
use turnwright_testkit::server::fault::{ARGUMENTS, Fault, FaultPosition, TEXT, TOOL};
use turnwright_testkit::server::model::{self, Protocol, Script};
use turnwright_testkit::server::{Answer, Server};

use super::rig::{builder, soon, weather};
use super::{BOUND, WELL};

/// None of this differs between protocols.
const PROTOCOL: Protocol = Protocol::ChatCompletions;

#[tokio::test]
async fn requests_of_a_turn_reuse_one_connection() {
    let script = Script::new([
        model::calls([("call_1", TOOL, ARGUMENTS)]),
        model::calls([("call_2", TOOL, ARGUMENTS)]),
        model::text(TEXT, 5),
    ]);
    let server = script.serve().await.unwrap();
    let (tool, runs) = weather();
    let runner = turnwright_core::runner(builder(PROTOCOL, &server.url()).build().unwrap())
        .tool(tool)
        .build()
        .unwrap();
    let outcome = timeout(BOUND, runner.run("Go.")).await.expect("in time");
    assert_eq!((outcome.text.as_str(), outcome.iterations), (TEXT, 3));
    assert_eq!(*runs.lock().unwrap(), [ARGUMENTS, ARGUMENTS]);
    assert_eq!((server.requests().len(), server.connections()), (3, 1));
}

#[tokio::test]
async fn retry_after_is_respected_up_to_the_limit() {
    let late = Fault::TooManyRequests {
        retry_after: Some(1),
    };
    let cases = [(Duration::from_millis(10), 1), (Duration::from_secs(30), 2)];
    for (longest, requests) in cases {
        let server = Server::start(move |request| match request.number {
            0 => late.answer(PROTOCOL, FaultPosition::BeforeFirstByte),
            _ => model::text(WELL, 3).answer(request),
        })
        .await
        .unwrap();
        let policy = soon().longest_wait(longest);
        let model = builder(PROTOCOL, &server.url())
            .retry(policy)
            .build()
            .unwrap();
        let runner = turnwright_core::runner(model).build().unwrap();
        let outcome = timeout(BOUND, runner.run("Go.")).await.expect("in time");
        assert_eq!(server.requests().len(), requests, "{longest:?}");
        match outcome.error() {
            None => assert_eq!((requests, outcome.text.as_str()), (2, WELL)),
            Some(error) => {
                assert_eq!((requests, error.code()), (1, ErrorCode::MODEL_SERVER_ERROR));
                assert!(error.message().contains("longest_wait"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn redirect_is_not_followed_and_the_key_is_not_sent_elsewhere() {
    const KEY: &str = "sk-not-for-others";
    for status in [301, 302, 303, 307, 308] {
        let elsewhere = Server::script([]).await.unwrap();
        let to = format!("{}/v1/chat/completions", elsewhere.url());
        let sends = Answer::status(status).header("location", to);
        let server = Server::script([sends]).await.unwrap();
        let model = builder(PROTOCOL, &server.url())
            .api_key(KEY)
            .build()
            .unwrap();
        let runner = turnwright_core::runner(model).build().unwrap();
        let outcome = timeout(BOUND, runner.run("Go.")).await.expect("in time");
        let error = outcome.error().unwrap();
        assert_eq!(error.code(), ErrorCode::MODEL_SERVER_ERROR, "{status}");
        assert!(error.message().contains("base URL"), "{error}");
        assert!(!error.with_causes().contains(KEY));
        let asked = server.requests();
        assert_eq!(asked.len(), 1, "{status}");
        assert_eq!(
            asked[0].header("authorization"),
            Some(&*format!("Bearer {KEY}"))
        );
        assert_eq!(
            (elsewhere.connections(), elsewhere.requests().len()),
            (0, 0),
            "{status}"
        );
    }
}

#[tokio::test]
async fn unreachable_server_error_has_advice() {
    let free = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let model = builder(PROTOCOL, &format!("http://{address}"))
        .build()
        .unwrap();
    let runner = turnwright_core::runner(model).build().unwrap();
    let outcome = timeout(BOUND, runner.run("Go.")).await.expect("in time");
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::MODEL_UNREACHABLE);
    let message = error.message();
    assert!(
        message.contains("base URL") && message.contains("does it run"),
        "{message}"
    );
    assert!(message.contains("3 attempts"), "{message}");
}
