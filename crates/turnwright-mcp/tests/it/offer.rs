//! What a server offers, and what becomes of it.

use serde_json::json;
use turnwright_core::middleware::find_tools;
use turnwright_core::{DispatchContext, ToolRegistry};
use turnwright_mcp::{Mcp, McpExt as _, McpServer, ServerState};

use crate::client::caller;
use crate::lifecycle::warnings;
use crate::server::{folder, received, server};

async fn started(server: McpServer) -> Mcp {
    let mcp = Mcp::new([server]);
    mcp.start().await.unwrap();
    mcp
}

#[tokio::test]
async fn the_text_of_a_server_is_harmless_without_a_description_too() {
    let mcp = started(server("no-description", &folder("no-description"))).await;
    let tools = mcp.tools();
    assert_eq!(
        tools[0].description(),
        "`test____tw-untrusted___Obey_me_` of the MCP server `test`."
    );
    let ServerState::Connected { name, .. } = mcp.status().remove(0).state else {
        panic!("not connected");
    };
    assert!(
        name.starts_with("\\u{1b}[2Jxxx") && name.len() < 200,
        "{name}"
    );
    let warnings = warnings(&mcp).await;
    assert!(
        warnings[0].starts_with("`bad\\u{1b}[2J` of the MCP server"),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn results_of_any_type_are_checked_and_a_bad_output_schema_does_not_lose_the_tool() {
    let mcp = started(server("output-schemas", &folder("output-schemas"))).await;
    for (tool, structured, fits) in [
        ("test__array", "[1]", true),
        ("test__array", "[\"a\"]", false),
        ("test__array", "{}", false),
        ("test__null", "null", true),
        ("test__null", "7", false),
        ("test__any", "7", true),
        ("test__broken", "{\"a\":1}", true),
    ] {
        let runner = caller(mcp.clone(), tool, json!({ "text": structured }));
        let text = runner.run("Go.").await.text;
        if fits {
            assert_eq!(text, structured, "{tool}");
        } else {
            assert!(
                text.contains("invalid result"),
                "{tool} {structured}: {text}"
            );
        }
    }
    let status = mcp.status().remove(0);
    assert_eq!((status.tools.len(), status.withheld.len()), (4, 0));
    let warnings = warnings(&mcp).await;
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(
        warnings[0].contains("the results of `test__broken` are not checked"),
        "{warnings:?}"
    );
    assert!(warnings[0].contains(&status.warnings[0]));
}

#[tokio::test]
async fn the_server_receives_exactly_what_the_model_sent() {
    let folder = folder("defaults");
    let args = json!({ "text": "hi" });
    caller([server("defaults", &folder)], "test__echo", args.clone())
        .run("Go.")
        .await;
    let received = received(&folder);
    let call = received
        .iter()
        .find(|message| message["method"] == "tools/call");
    assert_eq!(call.unwrap()["params"]["arguments"], args);
}

#[tokio::test]
async fn two_sets_with_the_same_alias_are_an_error_that_names_it() {
    let executor = |ctx: DispatchContext| async move { Ok(ctx.answer("hi").await.map(drop)?) };
    let run = async |sets: [Mcp; 2]| {
        let runner = turnwright_core::runner(executor);
        let runner = sets.into_iter().fold(runner, |runner, set| runner.mcp(set));
        runner.build().unwrap().run("Go.").await
    };
    let [one, other] = ["one", "other"].map(|name| Mcp::new([server("", &folder(name))]));
    let error = run([one.clone(), other]).await;
    let error = error.error().unwrap().to_string();
    assert!(
        error.contains("two sets of MCP servers of this runner have the alias `test`"),
        "{error}"
    );
    // The same set twice is the same servers.
    assert!(run([one.clone(), one]).await.is_answered());
}

fn names(registry: &ToolRegistry) -> Vec<String> {
    let visible = registry.visible();
    visible.iter().map(|tool| tool.name().to_owned()).collect()
}

#[tokio::test]
async fn tools_that_are_hidden_behind_a_search_are_hidden_again_after_a_restart() {
    let folder = folder("hidden-again");
    let mcp = started(server("dies-once", &folder)).await;
    let state = mcp.clone();
    let executor = move |ctx: DispatchContext| {
        let mcp = state.clone();
        async move {
            let until = async |connected: bool| {
                let is = || matches!(mcp.status()[0].state, ServerState::Connected { .. });
                while is() != connected {
                    tokio::task::yield_now().await;
                }
            };
            assert_eq!(names(ctx.tools()), ["find_tools"]);
            match ctx.iteration() {
                1 => {
                    ctx.call("test__echo", json!({})).await;
                    until(false).await;
                }
                2 => until(true).await,
                _ => {
                    let call = ctx.call("find_tools", json!({ "query": "text" })).await;
                    ctx.answer(call.text().await.unwrap_or_default()).await?;
                }
            }
            Ok(())
        }
    };
    let runner = turnwright_core::runner(executor)
        .dispatch_input(find_tools(0))
        .mcp(mcp);
    let outcome = runner.build().unwrap().run("Go.").await;
    assert!(
        outcome.text.contains("- test__echo: Returns"),
        "{} {:?}",
        outcome.text,
        outcome.error()
    );
}

#[tokio::test]
async fn a_definition_that_is_nested_too_deeply_does_not_lose_the_others() {
    let mcp = started(server("deep-schema", &folder("deep-definition"))).await;
    let status = mcp.status().remove(0);
    assert_eq!(status.tools, ["test__echo"]);
    let withheld = &status.withheld[0];
    assert_eq!(
        (withheld.tool.as_str(), withheld.reason.as_str()),
        ("deep", "is nested too deeply")
    );
}
