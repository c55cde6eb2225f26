//! Servers that are gone, sessions that have ended, and changes that must be noticed.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use turnwright_core::TurnOutcome;
use turnwright_mcp::{Limits, Mcp, McpServer, ServerState};

use crate::client::caller;
use crate::server::{HttpServer, folder, received, server};

async fn call(mcp: &Mcp) -> TurnOutcome {
    let runner = caller(mcp.clone(), "test__echo", json!({ "text": "hi" }));
    runner.run("Go.").await
}

fn calls(folder: &Path) -> usize {
    let is_call = |message: &&Value| message["method"] == "tools/call";
    received(folder).iter().filter(is_call).count()
}

fn starts(folder: &Path) -> usize {
    let is_start = |message: &&Value| message["method"] == "initialize";
    received(folder).iter().filter(is_start).count()
}

async fn until_down(mcp: &Mcp) -> String {
    loop {
        if let ServerState::Down { reason } = mcp.status().remove(0).state {
            return reason;
        }
        tokio::task::yield_now().await;
    }
}

/// An old list is read again before a call, so that the end of the session is noticed then.
#[tokio::test]
async fn a_session_that_has_ended_is_replaced_before_a_call() {
    let folder = folder("session");
    let running = HttpServer::start("session-1", &folder).await;
    let limits = Limits {
        list_age: Duration::ZERO,
        ..Limits::default()
    };
    let mcp = Mcp::new([running.server().limits(limits)]);
    assert_eq!(call(&mcp).await.text, "hi");
    // The server no longer knows the session.
    running.becomes("session-2");
    assert_eq!(call(&mcp).await.text, "hi");
    assert_eq!(calls(&folder), 2);
    assert_eq!(starts(&folder), 2);
}

/// Some servers answer 404 for what a tool did not find, so a call that may write is not sent again.
#[tokio::test]
async fn a_call_that_is_refused_with_its_session_may_have_taken_effect() {
    let folder = folder("session-at-call");
    let running = HttpServer::start("session-1", &folder).await;
    let mcp = Mcp::new([running.server()]);
    assert_eq!(call(&mcp).await.text, "hi");
    running.becomes("session-2");
    let outcome = call(&mcp).await;
    assert!(
        outcome.text.contains("may or may not have taken effect"),
        "{}",
        outcome.text
    );
    assert_eq!(calls(&folder), 1);
    // The next call has a new session.
    while starts(&folder) < 2 || mcp.tools().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(call(&mcp).await.text, "hi");
}

#[tokio::test]
async fn an_http_server_that_is_gone_is_down_and_the_call_is_not_sent() {
    let folder = folder("gone");
    let running = HttpServer::start("", &folder).await;
    let mcp = Mcp::new([running.server()]);
    assert_eq!(call(&mcp).await.text, "hi");
    running.end().await;
    let outcome = call(&mcp).await;
    assert!(
        outcome.text.contains("The call was not sent"),
        "{}",
        outcome.text
    );
    assert!(until_down(&mcp).await.contains("onnect"));
    // From now on it has no tools.
    assert!(mcp.tools().is_empty());
}

/// A call that only reads is not repeated on a connection that has not ended, and waits for no other one.
#[tokio::test]
async fn the_status_of_a_response_says_whether_a_call_took_effect() {
    for (mode, expected) in [
        ("busy-at-calls", "too many requests. The call was not made"),
        ("fails-at-calls", "may or may not have taken effect"),
        ("rejects-calls", "The server rejected the call: HTTP 413"),
    ] {
        let folder = folder(mode);
        let running = HttpServer::start("", &folder).await;
        let limits = Limits {
            start: Duration::MAX,
            ..Limits::default()
        };
        let mcp = Mcp::new([running.server().believe_annotations().limits(limits)]);
        mcp.start().await.unwrap();
        running.becomes(mode);
        let outcome = call(&mcp).await;
        assert!(outcome.text.contains(expected), "{mode}: {}", outcome.text);
        assert_eq!(mcp.tools().len(), 1);
    }
}

#[tokio::test]
async fn a_body_that_is_too_large_is_not_read() {
    let folder = folder("large-json");
    let running = HttpServer::start("", &folder).await;
    let limits = Limits {
        message_bytes: 10_000,
        ..Limits::default()
    };
    let mcp = Mcp::new([running.server().limits(limits)]);
    mcp.start().await.unwrap();
    running.becomes("large-json");
    let runner = caller(mcp, "test__echo", json!({ "text": "x".repeat(20_000) }));
    let outcome = runner.run("Go.").await;
    assert!(
        outcome.text.contains("may or may not have taken effect"),
        "{}",
        outcome.text
    );
}

/// A stream that can be resumed would be opened again and again.
#[tokio::test]
async fn an_event_that_is_too_large_ends_its_stream() {
    let limits = Limits {
        message_bytes: 100_000,
        call_total: Duration::MAX,
        idle: Duration::MAX,
        ..Limits::default()
    };
    let running = HttpServer::start("", &folder("large-event")).await;
    let mcp = Mcp::new([running.server().limits(limits.clone())]);
    mcp.start().await.unwrap();
    running.becomes("large-event");
    let outcome = call(&mcp).await;
    assert!(
        outcome.text.contains("may or may not have taken effect"),
        "{}",
        outcome.text
    );
    assert_eq!(mcp.tools().len(), 1);

    let running = HttpServer::start("session-large-stream", &folder("large-stream")).await;
    let mcp = Mcp::new([running.server().limits(limits).sessions_only()]);
    mcp.start().await.unwrap();
    let reason = until_down(&mcp).await;
    assert!(
        reason.contains("an event has more than 100000 bytes"),
        "{reason}"
    );
}

/// In the lifecycle without sessions, a server announces changes only if it is asked to.
#[tokio::test]
async fn a_change_is_noticed_without_sessions() {
    let folder = folder("new-rug-pull");
    let mcp = Mcp::new([server("new:rug-pull", &folder)]);
    assert_eq!(call(&mcp).await.text, "changed");
    let outcome = call(&mcp).await;
    assert!(!outcome.text.contains("changed"), "{}", outcome.text);
    assert_eq!(calls(&folder), 1);
    assert_eq!(mcp.status()[0].withheld[0].tool, "echo");
}

#[tokio::test]
async fn a_list_is_read_again_before_a_call_if_the_server_announces_nothing() {
    let folder = folder("silent-rug-pull");
    let running = HttpServer::start("rug-pull-in-silence", &folder).await;
    let limits = Limits {
        list_age: Duration::ZERO,
        ..Limits::default()
    };
    for server in [running.server(), server("rug-pull-in-silence", &folder)] {
        let _ = std::fs::remove_file(folder.join("changed"));
        let _ = std::fs::remove_file(folder.join("received"));
        let mcp = Mcp::new([server.limits(limits.clone())]);
        assert_eq!(call(&mcp).await.text, "changed");
        let outcome = call(&mcp).await;
        assert!(!outcome.text.contains("changed"), "{}", outcome.text);
        assert_eq!(calls(&folder), 1);
    }
}

#[tokio::test]
async fn limits_without_end_are_possible() {
    let folder = folder("no-limits");
    let limits = Limits {
        start: Duration::MAX,
        idle: Duration::MAX,
        call_total: Duration::MAX,
        list_age: Duration::MAX,
        ..Limits::default()
    };
    let server: McpServer = server("asks", &folder).limits(limits);
    let mcp = Mcp::new([server]);
    mcp.start().await.unwrap();
    assert_eq!(mcp.tools().len(), 1);
}

#[cfg(unix)]
#[tokio::test]
async fn a_program_that_ends_at_once_is_down_with_its_last_words() {
    for _ in 0..20 {
        let script = "echo 'no such database' >&2; exit 3";
        let mcp = Mcp::new([McpServer::stdio("sh", ["-c", script]).alias("ends")]);
        mcp.start().await.unwrap();
        let reason = until_down(&mcp).await;
        let expected = "the server ended (exit status: 3); its last output was: no such database";
        assert!(reason.contains(expected), "{reason}");
    }
}

#[tokio::test]
async fn a_token_that_the_server_repeats_is_not_shown() {
    let running = HttpServer::start("", &folder("repeats")).await;
    let server = running
        .server()
        .bearer("tok-0123456789")
        .header("x-project", "my-project");
    let said = json!({ "text": "my-project has tok-0123456789" });
    let outcome = caller([server], "test__echo", said).run("Go.").await;
    assert_eq!(outcome.text, "my-project has [redacted]");
}
