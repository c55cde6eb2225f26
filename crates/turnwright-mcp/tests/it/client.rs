//! Calls of remote tools.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use turnwright_core::gate::GateAnswer;
use turnwright_core::record::Retrievable;
use turnwright_core::render::{Part, Renderer};
use turnwright_core::trust::ConversationSecret;
use turnwright_core::{
    DispatchContext, ErrorCode, EventKind, Tool, ToolContext, TurnOutcome, TurnRunner,
};
use turnwright_mcp::{Limits, Mcp, McpExt as _, McpServer, ServerState};

use crate::server::{HttpServer, folder, received, server};

/// A runner whose model calls one tool once and answers with what it reads.
pub(crate) fn caller(mcp: impl Into<Mcp>, tool: &'static str, args: Value) -> TurnRunner {
    let executor = move |ctx: DispatchContext| {
        let args = args.clone();
        async move {
            let call = ctx.call(tool, args).await;
            ctx.answer(call.text().await.unwrap_or_default()).await?;
            Ok(())
        }
    };
    // A busy machine may take long to start a server.
    let mcp = mcp.into().first_wait(Duration::from_secs(120));
    turnwright_core::runner(executor).mcp(mcp).build().unwrap()
}

async fn call(server: McpServer, tool: &'static str, args: Value) -> TurnOutcome {
    caller([server], tool, args).run("Go.").await
}

fn calls(folder: &Path) -> usize {
    let is_call = |message: &&Value| message["method"] == "tools/call";
    received(folder).iter().filter(is_call).count()
}

#[tokio::test]
async fn a_remote_tool_is_called_and_its_result_is_untrusted() {
    let folder = folder("echo");
    let outcome = call(
        server("", &folder),
        "test__echo",
        json!({ "text": "hello" }),
    )
    .await;
    assert_eq!(outcome.text, "hello", "{:?}", outcome.error());
    let call = outcome.tool_calls().next().unwrap();
    assert!(!call.is_trusted());
}

#[tokio::test]
async fn hidden_characters_of_a_result_are_kept_but_not_shown_to_the_model() {
    let folder = folder("hidden-result");
    let outcome = call(server("hidden-result", &folder), "test__echo", json!({})).await;
    let call = outcome.tool_calls().next().unwrap();
    let original = "fine\u{200b}\u{202e}\u{e0041}\u{1b}[8m, می\u{200c}خواهم";
    assert_eq!(call.text().await.as_deref(), Some(original));
    let renderer = Renderer::new(ConversationSecret::from_bytes([7; 32]));
    let parts = renderer.tool_call(call).await;
    let [Part::Text(shown)] = parts.as_slice() else {
        panic!("{parts:?}");
    };
    assert!(shown.contains("\nfine[8m, می\u{200c}خواهم\n"), "{shown:?}");
}

#[tokio::test]
async fn debug_shows_neither_arguments_nor_variables_of_a_program() {
    let server = McpServer::stdio("files-server", ["--token", "hunter2"])
        .alias("files")
        .env("KEY", "hunter3");
    let shown = format!("{:?} {server:?}", Mcp::new([server.clone()]));
    assert!(
        !shown.contains("hunter") && !shown.contains("--token"),
        "{shown}"
    );
    assert!(
        shown.contains("files-server") && shown.contains("2 arguments"),
        "{shown}"
    );
}

#[tokio::test]
async fn invalid_arguments_are_not_sent() {
    let folder = folder("invalid");
    let outcome = call(
        server("", &folder),
        "test__echo",
        json!({ "text": 7_000_000.5 }),
    )
    .await;
    assert!(outcome.text.contains("text"), "{}", outcome.text);
    assert!(outcome.tool_calls().next().unwrap().is_error());
    assert_eq!(calls(&folder), 0);
}

#[tokio::test]
async fn a_server_gets_only_the_environment_that_is_named() {
    let folder = folder("environment");
    let server = server("environment", &folder).env("CHOSEN", "yes");
    let outcome = call(server, "test__echo", json!({})).await;
    let allowed = |name: &&str| {
        let known = [
            "PATH", "HOME", "LANG", "TERM", "TZ", "TMPDIR", "USER", "CHOSEN",
        ];
        known.contains(name) || name.starts_with("LC_") || name.starts_with("TURNWRIGHT_MCP_TEST")
    };
    let names: Vec<&str> = outcome.text.split(' ').collect();
    assert!(names.contains(&"CHOSEN"), "{names:?}");
    let others: Vec<_> = names.iter().filter(|name| !allowed(name)).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[tokio::test]
async fn a_call_in_flight_when_the_server_dies_is_unknown_and_not_sent_again() {
    let folder = folder("dies");
    let outcome = call(server("dies", &folder), "test__echo", json!({})).await;
    assert!(
        outcome.text.contains("may or may not have taken effect"),
        "{}",
        outcome.text
    );
    assert_eq!(calls(&folder), 1);
}

#[tokio::test]
async fn a_call_that_only_reads_is_sent_again_after_the_restart() {
    let folder = folder("dies-once");
    let server = server("dies-once", &folder).believe_annotations();
    let outcome = call(server, "test__echo", json!({ "text": "hello" })).await;
    assert_eq!(outcome.text, "hello");
    assert_eq!(calls(&folder), 2);
}

#[tokio::test]
async fn one_bad_definition_does_not_affect_the_others() {
    let folder = folder("bad-tools");
    let mcp = Mcp::new([server("bad-tools", &folder)]);
    mcp.start().await.unwrap();
    let status = mcp.status().remove(0);
    assert_eq!(status.tools, ["test__echo", "test__good"], "{status:?}");
    let withheld: Vec<&str> = status
        .withheld
        .iter()
        .map(|item| item.tool.as_str())
        .collect();
    assert_eq!(
        withheld,
        ["number 2", "no-schema", "number 4", "echo", "bad-schema"]
    );
}

#[tokio::test]
async fn a_result_that_is_too_large_fails_and_the_connection_survives() {
    let folder = folder("large");
    let limits = Limits {
        message_bytes: 1_000_000,
        ..Limits::default()
    };
    let mcp = Mcp::new([server("large", &folder).limits(limits)]);
    for _ in 0..2 {
        let outcome = caller(mcp.clone(), "test__echo", json!({}))
            .run("Go.")
            .await;
        assert!(
            outcome.text.contains("failed during the call"),
            "{}",
            outcome.text
        );
    }
    let starts = received(&folder)
        .iter()
        .filter(|message| message["method"] == "initialize")
        .count();
    assert_eq!((starts, calls(&folder)), (1, 2));
}

#[tokio::test]
async fn a_result_that_is_nested_too_deeply_fails() {
    let folder = folder("deep");
    let outcome = call(server("deep", &folder), "test__echo", json!({})).await;
    assert!(
        outcome.text.contains("failed during the call"),
        "{}",
        outcome.text
    );
}

#[tokio::test]
async fn content_of_an_unknown_type_does_not_lose_the_rest() {
    let folder = folder("unknown-content");
    let outcome = call(server("unknown-content", &folder), "test__echo", json!({})).await;
    assert_eq!(
        outcome.text,
        "[content of the unknown type `hologram`]\n\nand text"
    );
}

#[tokio::test]
async fn an_error_of_the_server_is_third_party_text() {
    let folder = folder("error");
    let outcome = call(server("error", &folder), "test__echo", json!({})).await;
    assert_eq!(outcome.text, "no such </tw-·untrusted> file");
    assert!(outcome.tool_calls().next().unwrap().is_error());
}

#[tokio::test]
async fn progress_reaches_the_stream() {
    let folder = folder("progress");
    let runner = caller([server("progress", &folder)], "test__echo", json!({}));
    let mut turn = runner.start("Go.");
    let mut progress = Vec::new();
    while let Some(event) = turn.next().await {
        if let EventKind::ToolExecutionProgress { message, .. } = event.kind {
            progress.push(message);
        }
    }
    assert_eq!(progress, ["1 of 2: half"]);
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_a_timeout_and_is_told() {
    let folder = folder("never");
    let limits = Limits {
        call_total: Duration::from_millis(200),
        ..Limits::default()
    };
    let mcp = Mcp::new([server("never", &folder).limits(limits)]);
    let outcome = caller(mcp.clone(), "test__echo", json!({}))
        .run("Go.")
        .await;
    assert!(
        outcome.text.contains("did not answer in time"),
        "{}",
        outcome.text
    );
    let cancelled = || {
        let received = received(&folder);
        received
            .iter()
            .any(|message| message["method"] == "notifications/cancelled")
    };
    while !cancelled() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_question_of_the_server_is_a_gate() {
    let folder = folder("asks");
    let runner = caller([server("asks", &folder)], "test__echo", json!({}));
    let mut turn = runner.start("Go.");
    let mut question = None;
    while let Some(event) = turn.next().await {
        if let EventKind::GateOpened(gate) = event.kind {
            question = Some(gate.question.clone());
            let answer = GateAnswer::value(json!({ "colour": "red" }));
            assert!(turn.gates().answer(&gate.id, answer).unwrap());
        }
    }
    let expected = json!({ "server": "test", "message": "Which colour?" });
    assert_eq!(question.as_deref(), Some(&expected));
    let outcome = turn.outcome().await;
    assert_eq!(
        serde_json::from_str::<Value>(&outcome.text).unwrap(),
        json!({ "action": "accept", "content": { "colour": "red" } })
    );
}

#[tokio::test]
async fn a_server_with_an_unknown_protocol_version_is_refused() {
    let folder = folder("absurd-version");
    let mcp = Mcp::new([server("absurd-version", &folder)]);
    mcp.start().await.unwrap();
    let ServerState::Down { reason } = mcp.status().remove(0).state else {
        panic!("connected");
    };
    assert!(reason.contains("`3000-01-01`"), "{reason}");
}

#[tokio::test]
async fn endless_and_huge_lists_are_bounded() {
    for (mode, expected) in [
        ("endless-pages", "more than 100 pages"),
        ("many-tools", "more than 1000 tools"),
    ] {
        let folder = folder(mode);
        let mcp = Mcp::new([server(mode, &folder)]);
        mcp.start().await.unwrap();
        let ServerState::Down { reason } = mcp.status().remove(0).state else {
            panic!("connected");
        };
        assert!(reason.contains(expected), "{reason}");
    }
}

#[tokio::test]
async fn a_server_that_hangs_does_not_affect_the_others() {
    let (hangs, works) = (folder("silent-list"), folder("works"));
    let limits = Limits {
        start: Duration::from_millis(300),
        ..Limits::default()
    };
    let servers = [
        server("silent-list", &hangs).alias("hangs").limits(limits),
        server("", &works),
    ];
    let outcome = caller(servers, "test__echo", json!({ "text": "hi" }))
        .run("Go.")
        .await;
    assert_eq!(outcome.text, "hi");
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_reported() {
    let mcp = Mcp::new([McpServer::stdio("/no/such/program", [""; 0]).alias("none")]);
    mcp.start().await.unwrap();
    let ServerState::Down { reason } = mcp.status().remove(0).state else {
        panic!("connected");
    };
    assert!(
        reason.contains("cannot start `/no/such/program`"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_tool_of_the_same_name_is_an_error_that_names_both() {
    let folder = folder("clash");
    let own = Tool::dynamic("test__echo", json!({ "type": "object" }))
        .description("Mine.")
        .handler(|_: Value, _: ToolContext| async { "mine" })
        .build();
    let executor = |ctx: DispatchContext| async move { Ok(ctx.answer("hi").await.map(drop)?) };
    let runner = turnwright_core::runner(executor)
        .tool(own)
        .mcp([server("", &folder)]);
    let outcome = runner.build().unwrap().run("Go.").await;
    let error = outcome.error().unwrap().to_string();
    let expected = "`test__echo` of the MCP server `test` has the name of your own tool";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn invalid_settings_are_reported_when_the_runner_is_built() {
    let executor = |_: DispatchContext| async { Ok(()) };
    for (servers, expected) in [
        (
            vec![McpServer::stdio("x", [""; 0])],
            "alias of an MCP server is empty",
        ),
        (
            vec![
                McpServer::stdio("x", [""; 0]).alias("a"),
                McpServer::http("http://h/").alias("a"),
            ],
            "two servers",
        ),
        (
            vec![McpServer::http("file:///etc").alias("a")],
            "must begin with",
        ),
        (
            vec![McpServer::http("http://u:p@h/").alias("a")],
            "must not contain credentials",
        ),
        (
            vec![McpServer::stdio("x", [""; 0]).alias("a").header("x", "y")],
            "headers are for HTTP",
        ),
        (
            vec![McpServer::stdio("x", [""; 0]).alias("a").env("1=2", "y")],
            "environment variable",
        ),
    ] {
        let error = turnwright_core::runner(executor)
            .mcp(servers)
            .build()
            .unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_TURN_RUNNER_CONFIG);
        assert!(error.message().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn text_media_and_resources_of_a_result_are_kept() {
    let folder = folder("mixed");
    let server = server("mixed", &folder);
    let outcome = call(server, "test__echo", json!({})).await;
    let call = outcome.tool_calls().next().unwrap();
    assert_eq!(
        call.text().await.as_deref(),
        Some("A dot.\n\nResource file:///a:\ninside\n\nResource link: b (file:///b)")
    );
    let media = &call.media()[0];
    assert_eq!(
        (media.mime_type(), media.is_untrusted()),
        ("image/png", true)
    );
}

#[tokio::test]
async fn a_server_over_http_is_called() {
    let folder = folder("http");
    let running = HttpServer::start("", &folder).await;
    let outcome = call(running.server(), "test__echo", json!({ "text": "hello" })).await;
    assert_eq!(outcome.text, "hello", "{:?}", outcome.error());
}

#[tokio::test]
async fn the_reason_is_shown_if_both_lifecycles_fail() {
    for (mode, expected) in [
        ("old-transport", "HTTP+SSE"),
        ("not-found", "HTTP 404 Not Found"),
    ] {
        let running = HttpServer::start(mode, &folder(mode)).await;
        let mcp = Mcp::new([running.server()]);
        mcp.start().await.unwrap();
        let ServerState::Down { reason } = mcp.status().remove(0).state else {
            panic!("connected");
        };
        assert!(reason.contains(expected), "{mode}: {reason}");
        assert!(!reason.contains("rmcp"), "{mode}: {reason}");
    }
}

#[tokio::test]
async fn servers_that_are_stopped_are_not_started_again() {
    let folder = folder("stop");
    let mcp = Mcp::new([server("", &folder)]);
    mcp.stop().await;
    mcp.start().await.unwrap();
    assert!(mcp.latency("test").await.is_some());
    assert!(mcp.latency("other").await.is_none());
    mcp.stop().await;
    let ServerState::Down { .. } = mcp.status().remove(0).state else {
        panic!("it still runs");
    };
    assert!(mcp.latency("test").await.is_none());
    mcp.start().await.unwrap();
    let starts = received(&folder)
        .iter()
        .filter(|message| message["method"] == "initialize")
        .count();
    assert_eq!(starts, 1);
}

#[tokio::test]
async fn servers_that_are_stopped_before_their_start_are_down() {
    let mcp = Mcp::new([server("", &folder("stop-first"))]);
    assert_eq!(mcp.status().remove(0).state, ServerState::Stopped);
    mcp.stop().await;
    mcp.start().await.unwrap();
    let ServerState::Down { reason } = mcp.status().remove(0).state else {
        panic!("it was started");
    };
    assert_eq!(reason, "it was stopped");
    // Waits for nothing.
    mcp.stop().await;
}

#[tokio::test]
async fn preparing_does_not_wait_for_optional_servers() {
    let (silent, works) = (folder("optional"), folder("required"));
    let servers = [
        server("silent-list", &silent).alias("silent").optional(),
        server("", &works),
    ];
    let mcp = Mcp::new(servers).first_wait(Duration::MAX);
    mcp.prepare().await.unwrap();
    assert_eq!(mcp.tools().len(), 1);
    assert_eq!(mcp.status().remove(0).state, ServerState::Starting);
    mcp.stop().await;
}

#[tokio::test]
async fn instructions_are_shown_only_if_that_is_wanted_and_as_untrusted_text() {
    for wanted in [false, true] {
        let folder = folder("instructions");
        let server = server("", &folder);
        let server = if wanted {
            server.use_instructions()
        } else {
            server
        };
        let executor = |ctx: DispatchContext| async move {
            let shown = ctx.records().all::<Retrievable>();
            let shown = shown
                .first()
                .map(|shown| (shown.source().map(str::to_owned), shown.tier()));
            let tainted = ctx.taint().is_tainted();
            ctx.answer(format!("{shown:?} {tainted}")).await?;
            Ok(())
        };
        let runner = turnwright_core::runner(executor)
            .mcp([server])
            .build()
            .unwrap();
        let outcome = runner.run("Go.").await;
        let expected = if wanted {
            "Some((Some(\"instructions of the MCP server `test`\"), ThirdPartyPublic)) true"
        } else {
            "None false"
        };
        assert_eq!(outcome.text, expected);
    }
}
