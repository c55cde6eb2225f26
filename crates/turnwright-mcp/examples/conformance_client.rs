//! The client for the official conformance suite: `scripts/mcp-conformance.sh client`. The suite gives the URL of its server as the
//! last argument and the name of the scenario in the environment.
#![allow(clippy::indexing_slicing)]

use serde_json::{Value, json};
use turnwright_core::gate::GateAnswer;
use turnwright_core::{BoxError, DispatchContext, EventKind, Tool};
use turnwright_mcp::{Mcp, McpExt as _, McpServer, OAuth, Pinning};
use turnwright_models::http::tls_config;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let url = std::env::args()
        .next_back()
        .ok_or("the URL of the server is missing")?;
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let version = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_default();
    let server = McpServer::http(url).alias("suite").oauth(oauth(&scenario)?);
    let server = match version.as_str() {
        "" | "2026-07-28" => server,
        _ => server.sessions_only(),
    };
    let mcp = Mcp::new([server]).pinning(Pinning::Unpinned);
    mcp.start().await?;
    println!("{scenario}: {:?}", mcp.status());
    let calls = calls(&mcp)?;
    let executor = move |ctx: DispatchContext| {
        let calls = calls.clone();
        async move {
            for (name, args) in calls {
                let call = ctx.call(name.as_str(), args).await;
                println!("{name}: {:?}", call.text().await);
            }
            ctx.answer("done").await?;
            Ok(())
        }
    };
    let runner = turnwright_core::runner(executor).mcp(mcp.clone()).build()?;
    let mut turn = runner.start("Call every tool.");
    while let Some(event) = turn.next().await {
        if let EventKind::GateOpened(gate) = event.kind {
            // The defaults of the form are the answer.
            turn.gates()
                .answer(&gate.id, GateAnswer::value(json!({})))?;
        }
    }
    turn.await.into_answer()?;
    Ok(())
}

async fn visit(url: impl reqwest::IntoUrl) -> Result<reqwest::Response, BoxError> {
    let client = reqwest::Client::builder().tls_backend_preconfigured(tls_config()?);
    Ok(client.build()?.get(url).send().await?)
}

/// Returns the settings for the scenarios about authorisation. No person is there: the page is fetched, and redirects at once.
fn oauth(scenario: &str) -> Result<OAuth, BoxError> {
    let oauth = OAuth::new().prompt(|prompt| {
        tokio::spawn(async move {
            let page = visit(prompt.url).await;
            println!("{}: {:?}", prompt.host, page.map(|page| page.status()));
        });
    });
    Ok(match scenario {
        "auth/basic-cimd" => {
            oauth.client_metadata_url("https://conformance-test.local/client-metadata.json")
        }
        "auth/pre-registration" => {
            let context = context()?;
            let field = |name: &str| context[name].as_str().unwrap_or_default().to_owned();
            oauth
                .client_id(field("client_id"))
                .client_secret(field("client_secret"))
                .issuer(field("issuer"))
        }
        _ => oauth,
    })
}

/// Returns what the suite says about the scenario.
fn context() -> Result<Value, BoxError> {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_else(|_| "{}".to_owned());
    Ok(serde_json::from_str(&context)?)
}

/// Returns the calls that the suite asks for, or the simplest call of each tool.
fn calls(mcp: &Mcp) -> Result<Vec<(String, Value)>, BoxError> {
    let context = context()?;
    if let Some(wanted) = context["toolCalls"].as_array() {
        let call = |call: &Value| {
            let name = format!("suite__{}", call["name"].as_str().unwrap_or_default());
            (name, call["arguments"].clone())
        };
        return Ok(wanted.iter().map(call).collect());
    }
    let mut calls: Vec<(String, Value)> = mcp.tools().iter().map(call_of).collect();
    // One scenario wants to see the definition of another tool as it was received.
    let pins = mcp.pins();
    let tools = pins
        .servers
        .values()
        .flat_map(|server| server.tools.values());
    let definitions: Vec<&Value> = tools.map(|tool| &tool.definition).collect();
    let focal = definitions
        .iter()
        .find(|tool| tool["name"] == "json_schema_2020_12_tool");
    for (name, args) in &mut calls {
        if name == "suite__json_schema_echo"
            && let Some(focal) = focal
        {
            *args = json!({ "schema": focal["inputSchema"] });
        }
    }
    Ok(calls)
}

/// Returns the simplest call of a tool: each required argument has a value of its type.
fn call_of(tool: &Tool) -> (String, Value) {
    let schema = tool.describe().input_schema;
    let empty = serde_json::Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let required = properties
        .iter()
        .filter(|(name, _)| required.iter().any(|other| other == *name));
    let args = required.map(|(name, schema)| {
        let value = match schema["type"].as_str() {
            Some("integer") => json!(7),
            Some("number") => json!(1.5),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => json!("text"),
        };
        (name.clone(), value)
    });
    (tool.name().to_owned(), Value::Object(args.collect()))
}
