//! Raw messages over a pair of streams.

use proptest::prelude::*;
use serde_json::{Value, json};
use turnwright_mcp::McpService;
use turnwright_mcp::serve::ServeLimits;

use super::person::tool;

const INITIALIZE: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
    r#""capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
);

/// Sends lines, closes the input and returns the messages of the server.
async fn exchange(service: McpService, lines: &str) -> Vec<Value> {
    exchange_bytes(service, format!("{INITIALIZE}{lines}").as_bytes()).await
}

async fn exchange_bytes(service: McpService, input: &[u8]) -> Vec<Value> {
    let mut output = Vec::new();
    service.serve(input, &mut output).await.unwrap();
    let output = String::from_utf8(output).unwrap();
    output
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn answer<'m>(messages: &'m [Value], id: &Value) -> &'m Value {
    let found = messages.iter().find(|message| message["id"] == *id);
    found.unwrap_or_else(|| panic!("no answer to {id} in {messages:?}"))
}

fn service() -> McpService {
    McpService::of([tool("pings", |_| async { Ok("pong".to_owned()) })]).unwrap()
}

#[tokio::test]
async fn requests_before_the_end_of_the_input_are_answered() {
    let call = json!({ "jsonrpc": "2.0", "id": "x", "method": "tools/call", "params": { "name": "pings" } });
    let messages = exchange(service(), &format!("{call}\n")).await;
    let result = &answer(&messages, &json!("x"))["result"];
    assert_eq!(result["content"][0]["text"], "pong");
    assert_eq!(
        answer(&messages, &json!(1))["result"]["protocolVersion"],
        "2025-11-25"
    );
}

#[tokio::test]
async fn lines_that_are_no_messages_get_errors_and_change_nothing() {
    let ping = json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" });
    for (line, id, code) in [
        ("{", Value::Null, -32700),
        ("\u{0}", Value::Null, -32700),
        ("[]", Value::Null, -32600),
        ("42", Value::Null, -32600),
        (r#"{"id":5}"#, json!(5), -32600),
        (
            r#"{"jsonrpc":"2.0","id":6,"method":"no/such"}"#,
            json!(6),
            -32601,
        ),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"pings","arguments":[1]}}"#,
            json!(7),
            -32602,
        ),
    ] {
        let messages = exchange(service(), &format!("{line}\n\n{ping}\n")).await;
        assert_eq!(answer(&messages, &id)["error"]["code"], code, "{line}");
        assert!(answer(&messages, &json!(9))["result"].is_object(), "{line}");
    }
}

#[tokio::test]
async fn a_line_that_is_too_long_gets_an_error() {
    let limits = ServeLimits {
        request_bytes: 1_000,
        ..ServeLimits::default()
    };
    let long = "x".repeat(100_000);
    let ping = json!({ "jsonrpc": "2.0", "id": 9, "method": "ping" });
    let messages = exchange(service().limits(limits), &format!("{long}\n{ping}\n")).await;
    let error = &answer(&messages, &Value::Null)["error"];
    assert!(
        error["message"].as_str().unwrap().contains("1000 bytes"),
        "{error}"
    );
    assert!(answer(&messages, &json!(9))["result"].is_object());
}

#[tokio::test]
async fn an_input_that_ends_at_once_is_no_error() {
    let mut output = Vec::new();
    service().serve(&b""[..], &mut output).await.unwrap();
    assert!(output.is_empty());
}

#[tokio::test]
async fn without_a_token_there_is_no_progress() {
    let works = tool("works", |ctx| async move {
        ctx.progress("half");
        Ok("done".to_owned())
    });
    let call =
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "works" } });
    let service = McpService::of([works]).unwrap();
    let messages = exchange(service, &format!("{call}\n")).await;
    assert_eq!(messages.len(), 2, "{messages:?}");
}

#[tokio::test]
async fn log_entries_are_sent_only_if_enabled() {
    use turnwright_core::event::Level;

    let logs = || {
        tool("logs", |ctx| async move {
            ctx.log(Level::Debug, "details");
            ctx.log(Level::Warn, "the disk is full");
            Ok("done".to_owned())
        })
    };
    let call =
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "logs" } });
    let call = format!("{call}\n");
    let silent = exchange(McpService::of([logs()]).unwrap(), &call).await;
    assert_eq!(silent.len(), 2, "{silent:?}");
    let loud = exchange(McpService::of([logs()]).unwrap().send_logs(true), &call).await;
    let entries = loud
        .iter()
        .filter(|it| it["method"] == "notifications/message");
    let entries: Vec<&Value> = entries.map(|entry| &entry["params"]).collect();
    assert_eq!(
        entries,
        [&json!({ "level": "warning", "data": "the disk is full" })]
    );
}

#[tokio::test]
async fn old_clients_get_the_uri_of_a_large_result_as_text() {
    let much = tool("much", |_| async { Ok("x".repeat(100_000)) });
    let call =
        json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "much" } });
    for (version, blocks) in [("2025-03-26", 1), ("2025-06-18", 2)] {
        let start = INITIALIZE.replace("2025-11-25", version);
        let service = McpService::of([much.clone()]).unwrap();
        let messages = exchange_bytes(service, format!("{start}{call}\n").as_bytes()).await;
        let content = &answer(&messages, &json!(2))["result"]["content"];
        assert_eq!(content.as_array().unwrap().len(), blocks, "{content}");
        let text = content[0]["text"].as_str().unwrap();
        assert!(text.contains("turnwright://results/"), "{text}");
    }
}

fn piece() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"pings"}}"#,
        r#"{"jsonrpc":"2.0","id":[],"method":"tools/list","params":{"cursor":7}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"initialize","params":null}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"pings","requestState":"x"}}"#,
        "\n",
        "[",
        "{",
        "}",
    ]);
    prop_oneof![
        known.prop_map(|text| text.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..20),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn whatever_a_client_sends_the_answers_are_messages(pieces in prop::collection::vec(piece(), 0..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        let mut input = INITIALIZE.as_bytes().to_vec();
        pieces.iter().for_each(|piece| input.extend(piece));
        let messages = runtime.block_on(exchange_bytes(service(), &input));
        for message in messages {
            prop_assert_eq!(&message["jsonrpc"], "2.0");
        }
    }
}
