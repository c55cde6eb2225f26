//! A server as a child process. Without the harness of `cargo test`, because standard output must belong to the protocol alone.
//!
//! The program starts itself with the argument `serve`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may end loudly"
)]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use turnwright_core::Tool;
use turnwright_mcp::McpService;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("serve") {
        return serve();
    }
    standard_output_belongs_to_the_protocol_and_the_end_of_the_input_ends_the_server();
    println!("ok");
}

fn serve() {
    let noisy = Tool::dynamic("noisy", json!({ "type": "object" }))
        .description("Prints.")
        .handler(async |_: Value, _| {
            println!("noise of a handler");
            "quiet"
        })
        .build()
        .unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let service = McpService::of([noisy]).unwrap();
    runtime.block_on(service.serve_stdio()).unwrap();
    println!("after the protocol");
}

fn standard_output_belongs_to_the_protocol_and_the_end_of_the_input_ends_the_server() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .arg("serve")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let client = json!({ "name": "raw", "version": "1" });
    let params =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    for message in [
        json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "noisy" } }),
    ] {
        writeln!(input, "{message}").unwrap();
    }
    for id in [1, 2] {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let message: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(message["id"], id, "{line}");
    }
    drop(input);
    let mut rest = String::new();
    output.read_to_string(&mut rest).unwrap();
    let mut errors = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut errors)
        .unwrap();
    assert!(child.wait().unwrap().success(), "{errors}");
    if cfg!(unix) {
        assert!(errors.contains("noise of a handler"), "{errors}");
        // Restored when the server has ended.
        assert_eq!(rest, "after the protocol\n");
    }
}
