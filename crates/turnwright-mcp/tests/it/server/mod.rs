//! An MCP server for tests, with many ways to misbehave. Over standard input and output it is this test binary, started again with a
//! variable that says how it behaves. Over HTTP it is a task of the test.

mod behaviour;
mod http;
mod resources;

use std::io::Write as _;
use std::path::{Path, PathBuf};

use behaviour::{Action, Behaviour};
pub(crate) use http::HttpServer;
use serde_json::Value;
use turnwright_mcp::McpServer;

/// The variable that makes this binary a server.
const MODE: &str = "TURNWRIGHT_MCP_TEST_MODE";

/// The variable with a folder for what the server wants to remember.
const FOLDER: &str = "TURNWRIGHT_MCP_TEST_FOLDER";

/// Returns a server that is a program and behaves like this.
pub(crate) fn server(mode: &str, folder: &Path) -> McpServer {
    let this = std::env::current_exe().unwrap();
    let args = [
        "--exact",
        "server::runs_when_it_is_started_as_a_server",
        "--nocapture",
    ];
    McpServer::stdio(this, args)
        .alias("test")
        .env(MODE, mode)
        .env(FOLDER, folder.to_str().unwrap())
}

/// A new folder for a test.
pub(crate) fn folder(name: &str) -> PathBuf {
    let prefix = format!("turnwright-mcp-{name}-");
    tempfile::Builder::new()
        .prefix(&prefix)
        .tempdir()
        .unwrap()
        .keep()
}

/// Returns the messages that a server has received.
pub(crate) fn received(folder: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(folder.join("received")).unwrap_or_default();
    text.lines()
        // The last line may be incomplete while the server writes it.
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

#[test]
fn runs_when_it_is_started_as_a_server() {
    if let (Ok(mode), Ok(folder)) = (std::env::var(MODE), std::env::var(FOLDER)) {
        let mut behaviour = Behaviour::new(&mode, Path::new(&folder));
        behaviour.starts().iter().for_each(perform);
        while let Some(line) = read_line() {
            if let Ok(message) = serde_json::from_str::<Value>(&line) {
                behaviour.receives(&message).iter().for_each(perform);
            }
        }
        std::process::exit(0);
    }
}

fn perform(action: &Action) {
    let mut out = std::io::stdout().lock();
    // The client may have closed the pipe.
    let gone = |_| std::process::exit(1);
    match action {
        Action::Send(message) => {
            writeln!(out, "{message}").unwrap_or_else(gone);
        }
        Action::Text(text) => {
            writeln!(out, "{text}").unwrap_or_else(gone);
        }
        Action::Endless(text) => loop {
            write!(out, "{text}").unwrap_or_else(gone);
        },
        Action::Repeat(message) => loop {
            writeln!(out, "{message}").unwrap_or_else(gone);
        },
        Action::Exit => std::process::exit(3),
    }
    out.flush().unwrap_or_else(gone);
}

/// Reads a line, or `None` at the end.
fn read_line() -> Option<String> {
    let mut line = String::new();
    let length = std::io::stdin().read_line(&mut line).ok()?;
    (length > 0).then_some(line)
}
