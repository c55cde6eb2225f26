//! A process is killed during a call of a remote tool, and another process resumes its turn.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};
use turnwright_core::{BoxError, DispatchContext, TurnInput, TurnRunner};
use turnwright_mcp::{Mcp, McpExt as _, McpServer};
use turnwright_sqlite::SqliteStore;

use crate::server::{folder, received, server};

/// The variable that makes this binary the process that is killed.
const FOLDER: &str = "TURNWRIGHT_MCP_KILLED";

const TURN: &str = "turn-1";

/// Like a model, it knows only the records, so it can continue anywhere.
pub(crate) async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
    match ctx.records().own_tool_calls().last() {
        None => drop(ctx.call("test__echo", json!({ "text": "once" })).await),
        Some(call) => {
            let text = call.text().await.unwrap_or_default();
            ctx.answer(text).await?;
        }
    }
    Ok(())
}

async fn runner(folder: &Path, server: McpServer) -> TurnRunner {
    let store = SqliteStore::open(folder.join("turns.db")).await.unwrap();
    turnwright_core::runner(model)
        .storage(store.storage().await.unwrap())
        .mcp(Mcp::new([server]).first_wait(Duration::from_secs(120)))
        .lease(Duration::from_secs(1))
        .build()
        .unwrap()
}

/// Not a test by itself: the process that is killed.
#[tokio::test]
async fn is_killed_during_a_call() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        return;
    };
    let runner = runner(&folder, server("never", &folder)).await;
    let input = TurnInput::new("Go.").conversation("c").turn_id(TURN);
    runner.run(input).await;
}

fn calls(folder: &Path) -> usize {
    let is_call = |message: &&Value| message["method"] == "tools/call";
    received(folder).iter().filter(is_call).count()
}

#[tokio::test]
async fn a_write_in_flight_is_unknown_and_not_sent_again() {
    let folder = folder("killed");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["killed::is_killed_during_a_call", "--exact", "--nocapture"])
        .env(FOLDER, &folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    while calls(&folder) == 0 {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        tokio::task::yield_now().await;
    }
    child.kill().unwrap();
    child.wait().unwrap();

    // The server would answer now.
    let runner = runner(&folder, server("", &folder)).await;
    let turn = runner.resume(TURN).await.unwrap();
    let outcome = turn.await;
    assert!(
        outcome.text.contains("may or may not have taken effect"),
        "{} {:?}",
        outcome.text,
        outcome.error()
    );
    assert_eq!(calls(&folder), 1);
}
