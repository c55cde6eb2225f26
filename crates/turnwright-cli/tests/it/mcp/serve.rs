//! `turnwright mcp serve`, with the client of this project.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use turnwright::EventKind;
use turnwright::gate::GateAnswer;
use turnwright::prelude::*;
use turnwright_mcp::{Mcp, McpServer};

use crate::chat::{slow_tool, write_tool};
use crate::folder::Folder;
use crate::program::{command, program, run, run_with, wait_until_ended};

/// A call, as the client saw it.
#[derive(Debug)]
struct Called {
    text: String,
    failed: bool,
    /// The questions of the server to the user.
    questions: Vec<Value>,
}

/// The program as a server over standard input and output, with these options.
fn over_stdio(options: &[&str]) -> McpServer {
    let args = [&["mcp", "serve"], options].concat();
    McpServer::stdio(env!("CARGO_BIN_EXE_turnwright"), args)
}

/// Starts a server.
async fn connected(server: McpServer) -> Mcp {
    let mcp = Mcp::new([server.alias("own")]);
    mcp.start().await.unwrap();
    mcp
}

fn names(mcp: &Mcp) -> Vec<String> {
    mcp.status().remove(0).tools
}

/// Calls a tool in a turn. The user answers each question like this.
async fn call(mcp: &Mcp, tool: &str, args: Value, answer: GateAnswer) -> Called {
    let called = Arc::new(Mutex::new(None));
    let (tool, result) = (format!("own__{tool}"), Arc::clone(&called));
    let executor = move |ctx: DispatchContext| {
        let (tool, args, result) = (tool.clone(), args.clone(), Arc::clone(&result));
        async move {
            let call = ctx.call(tool, args).await;
            let text = call.text().await.unwrap_or_default();
            *result.lock().unwrap() = Some((text, call.is_error()));
            ctx.ack()?;
            Ok(())
        }
    };
    let runner = turnwright::runner(executor).mcp(mcp.clone());
    let mut turn = runner.build().unwrap().start("Go.");
    let mut questions = Vec::new();
    while let Some(event) = turn.next().await {
        if let EventKind::GateOpened(gate) = event.kind {
            questions.push(Value::clone(&gate.question));
            turn.gates().answer(&gate.id, answer.clone()).unwrap();
        }
    }
    let outcome = turn.await;
    let called = called.lock().unwrap().take();
    let (text, failed) = called.unwrap_or_else(|| panic!("{:?}", outcome.error()));
    Called {
        text,
        failed,
        questions,
    }
}

fn approve(approve: bool) -> GateAnswer {
    GateAnswer::value(json!({ "approve": approve }))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_needs_the_approval_of_the_clients_user() {
    let folder = Folder::new();
    let (tools, written) = write_tool(&folder);
    // Both lifecycles of the protocol.
    for server in [
        over_stdio(&["--tools", &tools]),
        over_stdio(&["--tools", &tools]).sessions_only(),
    ] {
        let mcp = connected(server).await;
        assert_eq!(
            names(&mcp),
            [
                "own__list_files",
                "own__read_file",
                "own__search_files",
                "own__fetch_url",
                "own__write_note",
            ]
        );

        let milk = json!({ "text": "milk" });
        let called = call(&mcp, "write_note", milk.clone(), approve(false)).await;
        assert!(called.failed && !written.exists(), "{called:?}");
        let question = &called.questions[0]["message"];
        let question = question.as_str().unwrap();
        assert!(
            question.contains("Allow `write_note` to run? it may change something")
                && question.contains("milk"),
            "{question}"
        );

        let called = call(&mcp, "write_note", milk.clone(), approve(true)).await;
        assert_eq!(
            (&*called.text, called.failed, called.questions.len()),
            ("it is written\n", false, 1)
        );
        assert!(written.exists());
        std::fs::remove_file(&written).unwrap();

        // Tools that only read need none.
        let called = call(&mcp, "list_files", json!({}), approve(false)).await;
        assert!(called.questions.is_empty() && !called.failed, "{called:?}");
        mcp.stop().await;
        let log = mcp.log("own").unwrap();
        assert_eq!(
            log.lines().collect::<Vec<&str>>(),
            [
                "write_note: refused: the user denied it",
                "write_note: done",
                "list_files: done"
            ],
            "without arguments"
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_arguments_do_not_reach_the_tool() {
    let folder = Folder::new();
    let (tools, written) = write_tool(&folder);
    // The client checks arguments too, so this one does not.
    let request = |id: u32, method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string() + "\n"
    };
    let start = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    });
    let wrong = json!({ "name": "write_note", "arguments": { "text": 7 } });
    let right = json!({ "name": "write_note", "arguments": { "text": "milk" } });
    let input = [
        request(1, "initialize", start),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned() + "\n",
        request(2, "tools/call", wrong),
        request(3, "tools/call", right),
    ];
    let ran = run_with(&["mcp", "serve", "--tools", &tools], &input.concat());
    assert_eq!(ran.code, 0, "{ran:?}");
    let answers = ran.json();
    let answer = |id: u32| answers.iter().find(|answer| answer["id"] == id).unwrap();
    assert_eq!(answer(1)["result"]["serverInfo"]["name"], "turnwright");
    let text = |id: u32| {
        let result = &answer(id)["result"];
        assert_eq!(result["isError"], true, "{result}");
        result["content"][0]["text"].as_str().unwrap().to_owned()
    };
    assert!(
        text(2).contains("Invalid arguments for `write_note`"),
        "{}",
        text(2)
    );
    assert!(
        text(3).contains("the client does not support such questions"),
        "{}",
        text(3)
    );
    assert!(!written.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn yes_approves_without_asking() {
    let folder = Folder::new();
    let (tools, written) = write_tool(&folder);
    let mcp = connected(over_stdio(&["--yes", "--no-fetch", "--tools", &tools])).await;
    assert!(!names(&mcp).contains(&"own__fetch_url".to_owned()));
    let called = call(
        &mcp,
        "write_note",
        json!({ "text": "milk" }),
        approve(false),
    )
    .await;
    assert!(!called.failed && called.questions.is_empty(), "{called:?}");
    assert!(written.exists());
    mcp.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_through_which_data_can_leave_needs_approval() {
    let mcp = connected(over_stdio(&[])).await;
    let url = json!({ "url": "https://example.com/?secret" });
    let called = call(&mcp, "fetch_url", url, approve(false)).await;
    assert!(called.failed && called.questions.len() == 1, "{called:?}");
    let question = called.questions[0].to_string();
    assert!(question.contains("data can leave through it"), "{question}");
    mcp.stop().await;
}

/// A server over HTTP, which runs until the test is over.
struct Http {
    child: Child,
    url: String,
}

impl Http {
    fn start(options: &[&str]) -> Self {
        let mut child = program()
            .args(["mcp", "serve", "--http", "0"])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut first).unwrap();
        let url = first.trim_end().strip_prefix("listening on ").unwrap();
        Http {
            url: url.to_owned(),
            child,
        }
    }

    /// Sends a signal, and returns the exit code and standard error.
    fn end(mut self, signal: &str) -> (i32, String) {
        let pid = self.child.id().to_string();
        assert!(
            command("kill")
                .args([signal, &pid])
                .status()
                .unwrap()
                .success()
        );
        let mut log = String::new();
        let stderr = self.child.stderr.as_mut().unwrap();
        stderr.read_to_string(&mut log).unwrap();
        (self.child.wait().unwrap().code().unwrap_or(-1), log)
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_connect_over_http() {
    let folder = Folder::new();
    let (tools, written) = write_tool(&folder);
    folder.write("notes/list.txt", "bread\n");
    let notes = folder.file("notes");
    let http = Http::start(&["--folder", notes.to_str().unwrap(), "--tools", &tools]);
    let mcp = connected(McpServer::http(&http.url)).await;
    let read = call(
        &mcp,
        "read_file",
        json!({ "path": "list.txt" }),
        approve(false),
    )
    .await;
    assert_eq!((&*read.text, read.failed), ("bread\n", false));
    let milk = json!({ "text": "milk" });
    let called = call(&mcp, "write_note", milk.clone(), approve(false)).await;
    assert!(called.failed && !written.exists(), "{called:?}");
    let called = call(&mcp, "write_note", milk, approve(true)).await;
    assert!(!called.failed && written.exists(), "{called:?}");
    mcp.stop().await;
    let port = http.url.strip_prefix("http://127.0.0.1:").unwrap();
    let port = port.strip_suffix("/mcp").unwrap().to_owned();
    let ran = run(&["mcp", "serve", "--http", &port]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("is in use"), "{}", ran.err);
    let (code, log) = http.end("-TERM");
    assert_eq!(code, 0, "{log}");
    assert!(
        log.contains("read_file: done") && !log.contains("milk"),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_ends_the_programs_of_tools() {
    let folder = Folder::new();
    let (tools, begun) = slow_tool(&folder);
    let http = Http::start(&["--yes", "--tools", &tools]);
    let mcp = connected(McpServer::http(&http.url)).await;
    let calling = tokio::spawn({
        let mcp = mcp.clone();
        async move { call(&mcp, "linger", json!({}), approve(true)).await }
    });
    while !begun.exists() {
        tokio::task::yield_now().await;
    }
    let pid = std::fs::read_to_string(&begun).unwrap();
    let (code, _) = tokio::task::spawn_blocking(|| http.end("-INT"))
        .await
        .unwrap();
    assert_eq!(code, 130);
    wait_until_ended(pid.trim());
    mcp.stop().await;
    calling.abort();
}

#[test]
fn wrong_options_are_refused() {
    let ran = run(&["mcp", "serve", "--tools", "none.json"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("none.json"), "{}", ran.err);
    let ran = run(&["mcp", "serve", "--http", "70000"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    let help = run(&["mcp", "serve", "--help"]).out;
    for word in [
        "--http <PORT>",
        "--tools <FILE>",
        "--folder <DIR>",
        "--no-fetch",
        "--yes",
    ] {
        assert!(help.contains(word), "{word} is missing in\n{help}");
    }
}
