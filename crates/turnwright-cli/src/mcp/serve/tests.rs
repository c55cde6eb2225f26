use serde_json::{Value, json};
use turnwright::approval::when;
use turnwright::prelude::*;
use turnwright::{Effects, Error};

use super::*;
use crate::args::{Sources, ToolFiles};
use crate::extensions::{Policy, State};

struct Stock(u32);

fn sell() -> Result<Tool, Error> {
    Tool::dynamic("sell", json!({ "type": "object" }))
        .description("Sells one.")
        .effects(Effects::ReadOnly)
        .handler(|_: Value, ctx: ToolContext| async move {
            let stock = ctx.state::<Stock>()?;
            let user = ctx.principal().map_or("nobody", Principal::as_str);
            Ok::<String, ToolError>(format!("{} left, sold by {user}", stock.0))
        })
        .build()
}

/// A program without built-in tools.
fn shop() -> Extensions {
    Extensions {
        builtin_tools: false,
        tools: vec![sell()],
        settings: vec![Box::new(State(Stock(3)))],
        model: None,
    }
}

fn options(yes: bool) -> McpServe {
    McpServe {
        sources: Sources {
            folder: ".".into(),
            tool_files: ToolFiles::default(),
        },
        no_fetch: false,
        http: None,
        yes,
    }
}

/// The answers to `initialize`, `tools/list` and a call of `sell`.
async fn answers(options: McpServe, extensions: Extensions) -> Vec<Value> {
    let request = |id: u32, method: &str, params: Value| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
    };
    let start = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
    });
    let input = [
        request(1, "initialize", start),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string(),
        request(2, "tools/list", json!({})),
        request(3, "tools/call", json!({ "name": "sell", "arguments": {} })),
    ];
    let input = input.map(|line| line + "\n").concat();
    let service = service(&options, ("shop", "0.3.1"), extensions, Some("ada".into())).unwrap();
    let mut output = Vec::new();
    service.serve(input.as_bytes(), &mut output).await.unwrap();
    let output = String::from_utf8(output).unwrap();
    let read = |line: &str| serde_json::from_str::<Value>(line).unwrap();
    let mut answers: Vec<Value> = output.lines().map(read).collect();
    answers.sort_by_key(|answer| answer["id"].as_u64());
    answers
}

#[tokio::test]
async fn a_program_serves_its_own_tools_with_its_state() {
    let answers = answers(options(false), shop()).await;
    let program = json!({ "name": "shop", "version": "0.3.1" });
    assert_eq!(answers[0]["result"]["serverInfo"], program);
    let tools = answers[1]["result"]["tools"].as_array().unwrap();
    assert_eq!((tools.len(), &tools[0]["name"]), (1, &json!("sell")));
    assert_eq!(
        answers[2]["result"]["content"][0]["text"],
        "3 left, sold by ada"
    );
}

#[tokio::test]
async fn policies_of_a_program_apply_and_yes_approves() {
    let asking = || {
        let mut shop = shop();
        let asks = when(|_: &PendingCall<'_>| true, "it is the last one");
        shop.settings.push(Box::new(Policy(asks)));
        shop
    };
    // This client has no elicitation.
    let denied = answers(options(false), asking()).await;
    assert_eq!(denied[2]["result"]["isError"], true, "{denied:?}");
    let approved = answers(options(true), asking()).await;
    assert_eq!(
        approved[2]["result"]["content"][0]["text"],
        "3 left, sold by ada"
    );
}

#[tokio::test]
async fn over_http_calls_do_not_act_for_the_user_of_the_process() {
    let mut options = options(false);
    options.http = Some(0);
    let answers = answers(options, shop()).await;
    assert_eq!(
        answers[2]["result"]["content"][0]["text"],
        "3 left, sold by nobody"
    );
}

#[test]
fn without_tools_there_is_nothing_to_serve() {
    let nothing = Extensions {
        tools: Vec::new(),
        ..shop()
    };
    let error = service(&options(false), ("shop", "1"), nothing, None).unwrap_err();
    assert!(error.to_string().contains("--tools FILE"), "{error}");
}
