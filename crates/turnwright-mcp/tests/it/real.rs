//! Real servers, installed by `scripts/mcp-real.sh` into the folder that `TURNWRIGHT_MCP_REAL` names.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use turnwright_core::{DispatchContext, TurnOutcome};
use turnwright_mcp::{Mcp, McpExt as _, McpServer, ServerState};

use crate::server::folder;

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

#[tokio::test]
async fn everything() {
    let Some(real) = installed() else { return };
    let mcp = Mcp::new([npm(&real, "mcp-server-everything", &[]).alias("all")]);
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
