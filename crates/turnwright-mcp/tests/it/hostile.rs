//! Servers that misbehave: nothing hangs, nothing is unbounded, and other servers are not affected.

use std::time::{Duration, Instant};

use serde_json::json;
use turnwright_core::gate::GateAnswer;
use turnwright_core::{DispatchContext, EventKind};
use turnwright_mcp::{Limits, Mcp, McpExt as _, McpServer, ServerState};

use crate::server::{HttpServer, folder, server};

/// What becomes of a server, and of a call of its tool `echo`.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// It never connects: the reason contains this.
    Down(&'static str),
    /// It connects, and the call gives a text that contains this.
    Called(&'static str),
    /// It connects, and the call gives an empty text.
    Empty,
}

use Fate::{Called, Down, Empty};

#[derive(Clone, Copy, PartialEq)]
enum Transport {
    Stdio,
    Http,
}

/// How each mode ends, over standard input and output and over HTTP.
const MODES: &[(&str, Option<Fate>, Option<Fate>)] = &[
    ("", Some(Called("hi")), Some(Called("hi"))),
    (
        "silent",
        Some(Down("did not answer")),
        Some(Down("did not answer")),
    ),
    (
        "exits-at-once",
        Some(Down("ended")),
        Some(Down("closed the connection")),
    ),
    (
        "endless-start",
        Some(Down("a line has more than")),
        Some(Down("an event has more than")),
    ),
    ("prints-garbage", Some(Called("hi")), Some(Called("hi"))),
    (
        "absurd-version",
        Some(Down("`3000-01-01`")),
        Some(Down("`3000-01-01`")),
    ),
    (
        "version-is-a-number",
        Some(Down("`initialize`")),
        Some(Down("`initialize`")),
    ),
    (
        "introduces-itself-wrongly",
        Some(Down("`initialize`")),
        Some(Down("`initialize`")),
    ),
    (
        "answers-another-id",
        Some(Down("another request")),
        Some(Down("another request")),
    ),
    (
        "silent-list",
        Some(Down("did not answer")),
        Some(Down("did not answer")),
    ),
    (
        "list-is-an-error",
        Some(Down("error -32603")),
        Some(Down("error -32603")),
    ),
    (
        "list-has-no-tools",
        Some(Down("has no `tools`")),
        Some(Down("has no `tools`")),
    ),
    (
        "endless-pages",
        Some(Down("100 pages")),
        Some(Down("100 pages")),
    ),
    (
        "same-cursor",
        Some(Down("100 pages")),
        Some(Down("100 pages")),
    ),
    (
        "large-pages",
        Some(Down("list of tools has more than 4194304 bytes")),
        Some(Down("list of tools has more than 4194304 bytes")),
    ),
    (
        "many-tools",
        Some(Down("1000 tools")),
        Some(Down("1000 tools")),
    ),
    (
        "huge-list",
        Some(Down("a line has more than")),
        Some(Down("an event has more than")),
    ),
    (
        "endless-list",
        Some(Down("a line has more than")),
        Some(Down("an event has more than")),
    ),
    ("deep-schema", Some(Called("hi")), Some(Called("hi"))),
    ("bad-tools", Some(Called("hi")), Some(Called("hi"))),
    ("hidden-text", Some(Called("hi")), Some(Called("hi"))),
    ("hostile-names", Some(Called("hi")), Some(Called("hi"))),
    ("large-description", Some(Called("hi")), Some(Called("hi"))),
    (
        "flood-of-changes",
        Some(Called("may or may not")),
        Some(Called("hi")),
    ),
    (
        "flood-of-unknown-notifications",
        Some(Called("may or may not")),
        Some(Called("hi")),
    ),
    (
        "never",
        Some(Called("did not answer in time")),
        Some(Called("did not answer in time")),
    ),
    (
        "dies",
        Some(Called("may or may not")),
        Some(Called("may or may not")),
    ),
    ("large", Some(Called("xxx")), Some(Called("xxx"))),
    (
        "endless-result",
        Some(Called("may or may not")),
        Some(Called("may or may not")),
    ),
    (
        "deep",
        Some(Called("may or may not")),
        Some(Called("may or may not")),
    ),
    (
        "unknown-content",
        Some(Called("and text")),
        Some(Called("and text")),
    ),
    (
        "content-of-wrong-types",
        Some(Called("and text")),
        Some(Called("and text")),
    ),
    ("no-content", Some(Empty), Some(Empty)),
    ("result-is-null", Some(Empty), Some(Empty)),
    (
        "bad-image",
        Some(Called("cannot be read")),
        Some(Called("cannot be read")),
    ),
    (
        "error",
        Some(Called("no such </tw-·untrusted> file")),
        Some(Called("no such </tw-·untrusted> file")),
    ),
    (
        "malformed-error",
        Some(Called("may or may not")),
        Some(Called("may or may not")),
    ),
    (
        "answers-twice",
        Some(Called("first")),
        Some(Called("first")),
    ),
    (
        "progress-of-others",
        Some(Called("done")),
        Some(Called("done")),
    ),
    (
        "progress-for-ever",
        Some(Called("in time")),
        Some(Called("in time")),
    ),
    (
        "flood-of-pings",
        Some(Called("may or may not")),
        Some(Called("may or may not")),
    ),
    ("asks-for-ever", Some(Called("may or may not")), None),
    ("asks-a-bad-question", Some(Called("decline")), None),
    ("wants-to-sample", Some(Called("refused")), None),
    ("redirects", None, Some(Down("redirects are not followed"))),
    ("unauthorised", None, Some(Down("requires authorisation"))),
    ("old-transport", None, Some(Down("HTTP+SSE"))),
    ("fails", None, Some(Down("500"))),
    (
        "login-page",
        None,
        Some(Down("text/html, not JSON or events")),
    ),
];

/// Returns the limits for a mode. Only those that a mode is meant to exceed are short, so that a busy machine makes no difference.
fn limits(mode: &str, transport: Transport) -> Limits {
    let limits = Limits {
        message_bytes: 4 << 20,
        ..Limits::default()
    };
    let short = Duration::from_millis(500);
    match mode.trim_start_matches("new:") {
        "silent" | "silent-list" | "answers-another-id" => Limits {
            start: short,
            ..limits
        },
        // Over HTTP the answer does not wait behind the flood.
        "flood-of-changes" | "flood-of-unknown-notifications" if transport == Transport::Http => {
            limits
        }
        "never"
        | "progress-for-ever"
        | "asks-for-ever"
        | "flood-of-changes"
        | "flood-of-pings"
        | "flood-of-unknown-notifications" => Limits {
            call_total: short,
            ..limits
        },
        _ => limits,
    }
}

/// Runs a turn with this server and a good one, and returns what became of the first.
async fn meet(hostile: McpServer, name: &str, transport: Transport) -> String {
    let good = server("", &folder(&format!("good-{name}"))).alias("good");
    let hostile = hostile.limits(limits(name, transport));
    let hostile = if name.starts_with("new:") {
        hostile
    } else {
        hostile.sessions_only()
    };
    let mcp = Mcp::new([hostile, good]);
    let mcp = mcp.first_wait(Duration::from_secs(120));
    let executor = |ctx: DispatchContext| async move {
        let good = ctx.call("good__echo", json!({ "text": "good" })).await;
        assert_eq!(good.text().await.as_deref(), Some("good"));
        let hostile = if ctx.tools().has("test__echo") {
            ctx.call("test__echo", json!({ "text": "hi" }))
                .await
                .text()
                .await
        } else {
            None
        };
        let good = ctx
            .call("good__echo", json!({ "text": "still good" }))
            .await;
        assert_eq!(good.text().await.as_deref(), Some("still good"));
        ctx.answer(hostile.map_or("down".to_owned(), |text| format!("called: {text}")))
            .await?;
        Ok(())
    };
    let runner = turnwright_core::runner(executor)
        .mcp(mcp.clone())
        .build()
        .unwrap();
    let mut turn = runner.start("Go.");
    while let Some(event) = turn.next().await {
        if let EventKind::GateOpened(gate) = event.kind {
            // It may be closed by now.
            let _ = turn
                .gates()
                .answer(&gate.id, GateAnswer::value(json!({ "colour": "red" })));
        }
    }
    let outcome = turn.await;
    assert!(outcome.error().is_none(), "{name}: {:?}", outcome.error());
    let state = mcp.status().remove(0).state;
    match (&*outcome.text, state) {
        ("down", ServerState::Down { reason }) => format!("down: {reason}"),
        (text, _) => text.to_owned(),
    }
}

fn check(name: &str, fate: Fate, met: &str) {
    let fits = match fate {
        Down(reason) => met.starts_with("down") && met.contains(reason),
        Called(text) => met.starts_with("called: ") && met.contains(text),
        Empty => met == "called: ",
    };
    let met: String = met.chars().take(300).collect();
    assert!(fits, "{name}: expected {fate:?}, got `{met}`");
}

async fn over_stdio(mode: &str) -> String {
    let server = server(mode, &folder(&format!("stdio-{mode}")));
    meet(server, mode, Transport::Stdio).await
}

async fn over_http(mode: &str) -> String {
    let folder = folder(&format!("http-{mode}"));
    let running = HttpServer::start(mode, &folder).await;
    meet(running.server(), mode, Transport::Http).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_standard_input_and_output() {
    for (mode, stdio, _) in MODES {
        if let Some(fate) = stdio {
            check(mode, *fate, &over_stdio(mode).await);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_http_too() {
    for (mode, _, http) in MODES {
        if let Some(fate) = http {
            check(mode, *fate, &over_http(mode).await);
        }
    }
}

/// The lifecycle without sessions, in which a server sends no requests. How a server introduces itself differs there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_sessions() {
    for (mode, stdio, _) in MODES {
        let asks = ["asks", "wants", "flood-of-pings"];
        let asks = asks.iter().any(|start| mode.starts_with(start));
        if let Some(fate @ (Called(_) | Empty)) = stdio
            && !asks
        {
            let mode = format!("new:{mode}");
            check(&mode, *fate, &over_stdio(&mode).await);
        }
    }
}

/// The variable that makes the next test meet one server and print a line.
const ONE: &str = "TURNWRIGHT_MCP_HOSTILE";

/// One line of the table of `scripts/mcp-hostile.sh`: what happened, how long it took, and the most memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_line_of_the_table() {
    let Ok(wanted) = std::env::var(ONE) else {
        return;
    };
    let (transport, mode) = wanted.split_once(':').unwrap();
    let started = Instant::now();
    let met = match transport {
        "stdio" => over_stdio(mode).await,
        _ => over_http(mode).await,
    };
    let took = started.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|line| line.starts_with("VmHWM"));
    let peak = peak.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    let met: String = met.chars().take(90).collect();
    let met = met.replace(['\n', '|'], " ");
    println!(
        "| {mode} | {transport} | {met} | {took:.1} s | {} MiB |",
        peak.unwrap_or(0) / 1024
    );
}

/// Prints the names of the modes, for the script.
#[test]
fn modes() {
    if std::env::var_os("TURNWRIGHT_MCP_MODES").is_some() {
        for (mode, stdio, http) in MODES {
            if stdio.is_some() {
                println!("mode stdio:{mode}");
            }
            if matches!(stdio, Some(Called(_) | Empty)) {
                println!("mode stdio:new:{mode}");
            }
            if http.is_some() {
                println!("mode http:{mode}");
            }
        }
    }
    assert!(MODES.len() >= 25);
}
