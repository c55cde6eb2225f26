//! Servers that are late, die, or leave processes behind.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use parking_lot::Mutex;
use turnwright_core::DispatchContext;
use turnwright_core::event::{Event, EventKind};
use turnwright_mcp::{Mcp, McpExt as _, McpServer};

use crate::server::{folder, server};

/// Returns the warnings of a turn.
pub(crate) async fn warnings(mcp: &Mcp) -> Vec<String> {
    let executor = |ctx: DispatchContext| async move { Ok(ctx.answer("hi").await.map(drop)?) };
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&warnings);
    let observer = move |event: &Event| {
        if let EventKind::Warning { message, .. } = &event.kind {
            seen.lock().push(message.to_string());
        }
    };
    let runner = turnwright_core::runner(executor)
        .mcp(mcp.clone())
        .observer(observer);
    assert!(runner.build().unwrap().run("Go.").await.is_answered());
    std::mem::take(&mut *warnings.lock())
}

#[tokio::test]
async fn a_server_that_is_late_or_dead_is_a_warning() {
    let dead = McpServer::stdio("/no/such/program", [""; 0]).alias("dead");
    let late = server("silent-list", &folder("late"))
        .alias("late")
        .optional();
    let mcp = Mcp::new([dead, late]).first_wait(Duration::from_secs(120));
    let warnings = warnings(&mcp).await;
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(
        warnings[0].starts_with("the MCP server `dead` is down, its tools are missing: cannot")
    );
    assert_eq!(
        warnings[1],
        "the MCP server `late` is not ready: its tools are missing"
    );
    mcp.stop().await;
}

#[tokio::test]
async fn only_the_first_turn_waits_for_a_server_that_is_late() {
    let mcp = Mcp::new([server("silent-list", &folder("wait"))]);
    let mcp = mcp.first_wait(Duration::from_millis(1));
    mcp.prepare().await.unwrap();
    // Ready without waiting.
    mcp.prepare().now_or_never().unwrap().unwrap();
    mcp.stop().await;
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn what_a_server_has_started_ends_with_it() {
    let folder = folder("starts-a-program");
    let mcp = Mcp::new([server("starts-a-program", &folder)]);
    mcp.start().await.unwrap();
    let id = std::fs::read_to_string(folder.join("id")).unwrap();
    // A process that has ended may stay as a zombie.
    let is_running = || {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    assert!(is_running());
    mcp.stop().await;
    while is_running() {
        tokio::task::yield_now().await;
    }
}
