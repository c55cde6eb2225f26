//! Real servers, installed by `scripts/mcp-real.sh` into the folder that `TURNWRIGHT_MCP_REAL` names.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use turnwright_core::{DispatchContext, TurnOutcome};
use turnwright_mcp::process::{Environment, Process, Program};
use turnwright_mcp::{Mcp, McpExt as _, McpServer, ServerState};

use crate::server::folder;

/// The program of the server that has something of everything.
const EVERYTHING: &str = "mcp-server-everything";

/// Returns the folder with the installed servers. Says so if there is none.
fn installed() -> Option<PathBuf> {
    let folder = std::env::var_os("TURNWRIGHT_MCP_REAL").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("SKIPPED: `TURNWRIGHT_MCP_REAL` is not set; run `scripts/mcp-real.sh`");
    }
    folder
}

fn npm(folder: &Path, name: &str, args: &[&str]) -> McpServer {
    let program = folder.join("node_modules/.bin").join(name);
    McpServer::stdio(program, args.iter().copied())
}

fn pypi(folder: &Path, name: &str, args: &[&str]) -> McpServer {
    McpServer::stdio(folder.join("pv/bin").join(name), args.iter().copied())
}

/// A server from npm over HTTP, on loopback, until it is dropped.
struct HttpProcess {
    port: u16,
    _process: Process,
}

impl HttpProcess {
    async fn start(folder: &Path, name: &str, args: &[&str]) -> Self {
        let program = folder.join("node_modules/.bin").join(name);
        let loopback =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/mcp-real/loopback.cjs");
        let options = format!("--require={}", loopback.display());
        let environment = Environment::default().set("NODE_OPTIONS", options).unwrap();
        let program = Program::new(program).args(args.iter().copied());
        let mut process = program.environment(environment).start().unwrap();
        let mut pipes = process.pipes().unwrap();
        // Read to the end, so that the server can write.
        tokio::spawn(
            async move { tokio::io::copy(&mut pipes.stderr, &mut tokio::io::sink()).await },
        );
        let mut lines = BufReader::new(pipes.stdout).lines();
        let port = loop {
            let line = lines
                .next_line()
                .await
                .unwrap()
                .expect("the server has ended");
            if let Some(port) = line.strip_prefix("LISTENING ") {
                break port.parse().unwrap();
            }
        };
        tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
        HttpProcess {
            port,
            _process: process,
        }
    }

    fn server(&self, path: &str) -> McpServer {
        McpServer::http(format!("http://127.0.0.1:{}{path}", self.port))
    }
}

/// Calls tools one after the other in one turn, and returns the outcome.
async fn run(mcp: &Mcp, calls: Vec<(&'static str, Value)>) -> TurnOutcome {
    mcp.start().await.unwrap();
    for status in mcp.status() {
        assert!(
            matches!(status.state, ServerState::Connected { .. }) && status.withheld.is_empty(),
            "{status:?} {:?}",
            mcp.log(&status.alias)
        );
        println!(
            "{}: {:?}, {} tools",
            status.alias,
            status.state,
            status.tools.len()
        );
    }
    let executor = move |ctx: DispatchContext| {
        let calls = calls.clone();
        async move {
            for (tool, args) in calls {
                ctx.call(tool, args).await;
            }
            ctx.answer("done").await?;
            Ok(())
        }
    };
    let runner = turnwright_core::runner(executor)
        .mcp(mcp.clone())
        .build()
        .unwrap();
    runner.run("Go.").await
}

async fn texts(outcome: &TurnOutcome) -> Vec<String> {
    let mut texts = Vec::new();
    for call in outcome.tool_calls() {
        let text = call.text().await.unwrap_or_default();
        assert!(!call.is_error(), "{}: {text}", call.tool());
        texts.push(text);
    }
    texts
}

/// Uses the server that has something of everything.
async fn use_everything(server: McpServer) {
    let mcp = Mcp::new([server.alias("all")]);
    let outcome = run(
        &mcp,
        vec![
            ("all__echo", json!({ "message": "hi" })),
            ("all__get-sum", json!({ "a": 2, "b": 3 })),
            ("all__get-tiny-image", json!({})),
            (
                "all__get-annotated-message",
                json!({ "messageType": "error", "includeImage": true }),
            ),
            (
                "all__trigger-long-running-operation",
                json!({ "duration": 1, "steps": 2 }),
            ),
            (
                "all__get-structured-content",
                json!({ "location": "Chicago" }),
            ),
            ("all__get-resource-links", json!({ "count": 2 })),
        ],
    )
    .await;
    let texts = texts(&outcome).await;
    assert!(
        texts[0].contains("hi") && texts[1].contains('5'),
        "{texts:?}"
    );
    println!("{texts:#?}");
    mcp.stop().await;
}

#[tokio::test]
async fn everything() {
    let Some(real) = installed() else { return };
    use_everything(npm(&real, EVERYTHING, &[])).await;
}

#[tokio::test]
async fn everything_over_http() {
    let Some(real) = installed() else { return };
    let running = HttpProcess::start(&real, EVERYTHING, &["streamableHttp"]).await;
    use_everything(running.server("/mcp")).await;
    use_everything(running.server("/mcp").sessions_only()).await;
}

#[tokio::test]
async fn everything_over_the_old_transport_is_refused_with_the_reason() {
    let Some(real) = installed() else { return };
    let running = HttpProcess::start(&real, EVERYTHING, &["sse"]).await;
    let mcp = Mcp::new([running.server("/sse").alias("all")]);
    mcp.start().await.unwrap();
    let ServerState::Down { reason } = mcp.status().remove(0).state else {
        panic!("connected");
    };
    assert!(reason.contains("HTTP+SSE"), "{reason}");
    println!("{reason}");
}

#[tokio::test]
async fn filesystem() {
    let Some(real) = installed() else { return };
    let data = folder("real-files");
    std::fs::write(data.join("large.txt"), "0123456789abcde\n".repeat(9 << 16)).unwrap();
    let path = |name: &str| data.join(name).to_str().unwrap().to_owned();
    let mcp = Mcp::new([npm(&real, "mcp-server-filesystem", &[&path("")]).alias("files")]);
    let outcome = run(
        &mcp,
        vec![
            (
                "files__write_file",
                json!({ "path": path("a.txt"), "content": "hello" }),
            ),
            ("files__read_text_file", json!({ "path": path("a.txt") })),
            ("files__list_directory", json!({ "path": path("") })),
            (
                "files__read_text_file",
                json!({ "path": path("large.txt") }),
            ),
        ],
    )
    .await;
    let texts = texts(&outcome).await;
    assert!(
        texts[1].contains("hello") && texts[2].contains("a.txt"),
        "{:?}",
        &texts[..3]
    );
    assert!(texts[3].len() >= 9 << 20);
    let large = outcome.tool_calls().nth(3).unwrap();
    assert!(!large.is_inline());
}

#[tokio::test]
async fn memory_and_sequential_thinking() {
    let Some(real) = installed() else { return };
    let data = folder("real-memory");
    let memory = npm(&real, "mcp-server-memory", &[]).alias("memory");
    let memory = memory.env(
        "MEMORY_FILE_PATH",
        data.join("memory.json").to_str().unwrap(),
    );
    let thinking = npm(&real, "mcp-server-sequential-thinking", &[]).alias("thinking");
    let mcp = Mcp::new([memory, thinking]);
    let entity = json!({ "name": "Ada", "entityType": "person", "observations": ["likes Rust"] });
    let thought = json!({
        "thought": "Hm.", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1,
    });
    let outcome = run(
        &mcp,
        vec![
            ("memory__create_entities", json!({ "entities": [entity] })),
            ("memory__search_nodes", json!({ "query": "Ada" })),
            ("thinking__sequentialthinking", thought),
        ],
    )
    .await;
    let texts = texts(&outcome).await;
    assert!(texts[1].contains("likes Rust"), "{texts:?}");
}

#[tokio::test]
async fn python() {
    let Some(real) = installed() else { return };
    let data = folder("real-python");
    let git = std::process::Command::new("git")
        .args(["init", "-q"])
        .arg(&data)
        .status();
    assert!(git.unwrap().success());
    let database = data.join("x.db");
    let mcp = Mcp::new([
        pypi(&real, "mcp-server-time", &[]).alias("time"),
        pypi(
            &real,
            "mcp-server-git",
            &["--repository", data.to_str().unwrap()],
        )
        .alias("git"),
        pypi(
            &real,
            "mcp-server-sqlite",
            &["--db-path", database.to_str().unwrap()],
        )
        .alias("sqlite"),
        pypi(&real, "mcp-server-fetch", &[]).alias("fetch"),
    ]);
    let outcome = run(
        &mcp,
        vec![
            ("time__get_current_time", json!({ "timezone": "UTC" })),
            (
                "git__git_status",
                json!({ "repo_path": data.to_str().unwrap() }),
            ),
            (
                "sqlite__create_table",
                json!({ "query": "CREATE TABLE t (a INTEGER)" }),
            ),
            ("sqlite__list_tables", json!({})),
        ],
    )
    .await;
    let texts = texts(&outcome).await;
    assert!(texts[3].contains('t'), "{texts:?}");
    println!("{texts:#?}");
}
