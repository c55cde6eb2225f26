//! Lists of tools, and what a server says about itself.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::FutureExt as _;
use rmcp::model::{PaginatedRequestParams, ServerNotification, SubscriptionFilter};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex, split};
use tokio::time::{Instant, timeout};
use turnwright_core::schema::{integer, object};
use turnwright_core::{DispatchContext, Effects, Tool, ToolRegistry};
use turnwright_mcp::McpService;
use turnwright_mcp::serve::{ServeLimits, agent_tool};

use super::person::{Connected, LIFECYCLES, Lifecycle, Person, text_of, tool};

#[tokio::test]
async fn definitions_have_annotations_and_schemas() {
    let reads = Tool::dynamic("reads", json!({ "type": "object" }))
        .description("Reads.")
        .effects(Effects::ReadOnly)
        .output_schema(object().field("n", integer().required()))
        .handler(async |_: Value, _| json!({ "n": 1 }))
        .build();
    let writes = tool("writes", |_| async { Ok(String::new()) });
    for lifecycle in LIFECYCLES {
        let service = McpService::of([reads.clone().unwrap(), writes.clone()]).unwrap();
        let service = service.name("shop", "2.1").instructions("Be kind.");
        let connected = Connected::over_streams(service, Person::absent(), lifecycle).await;
        let tools = connected.client.list_all_tools().await.unwrap();
        let [reads, writes] = tools.as_slice() else {
            panic!("{tools:?}")
        };
        let hints = reads.annotations.as_ref().unwrap();
        assert_eq!(
            (hints.read_only_hint, hints.destructive_hint),
            (Some(true), None)
        );
        assert_eq!(
            reads.output_schema.as_ref().unwrap()["required"],
            json!(["n"])
        );
        let hints = writes.annotations.as_ref().unwrap();
        assert_eq!(
            (hints.read_only_hint, hints.destructive_hint),
            (Some(false), Some(true))
        );
        assert!(writes.output_schema.is_none());
        let info = connected.client.peer_info().unwrap();
        assert_eq!(info.instructions.as_deref(), Some("Be kind."));
    }
}

#[tokio::test]
async fn pages_have_every_tool_once_and_in_order() {
    let names: Vec<String> = (0..7).map(|n| format!("tool_{}", (n * 3) % 7)).collect();
    let tools = names
        .iter()
        .map(|name| tool(name, |_| async { Ok(String::new()) }));
    let limits = ServeLimits {
        page: 3,
        ..ServeLimits::default()
    };
    let service = McpService::of(tools).unwrap().limits(limits);
    let connected = Connected::over_streams(service, Person::absent(), Lifecycle::Sessions).await;
    for _ in 0..2 {
        let listed = connected.client.list_all_tools().await.unwrap();
        let listed: Vec<&str> = listed.iter().map(|tool| &*tool.name).collect();
        assert_eq!(listed, names);
    }
    let first = connected.client.list_tools(None).await.unwrap();
    assert_eq!(first.tools.len(), 3);
    let bad = PaginatedRequestParams::default().with_cursor(Some("no_such_tool".to_owned()));
    assert!(connected.client.list_tools(Some(bad)).await.is_err());
}

#[tokio::test]
async fn changes_of_the_registry_are_announced_in_a_session() {
    let tools = ToolRegistry::new([tool("first", |_| async { Ok(String::new()) })]).unwrap();
    let person = Person::absent();
    let service = McpService::new(tools.clone());
    let connected = Connected::over_streams(service, person.clone(), Lifecycle::Sessions).await;
    // The client is initialised when it gets an answer.
    connected.client.list_all_tools().await.unwrap();
    tools
        .register(tool("second", |_| async { Ok(String::new()) }))
        .unwrap();
    drop(person.changes.acquire().await.unwrap());
    assert_eq!(connected.client.list_all_tools().await.unwrap().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_change_is_announced_once_however_often_the_client_is_initialised() {
    let tools = ToolRegistry::new([tool("first", |_| async { Ok(String::new()) })]).unwrap();
    let (near, far) = duplex(64 << 10);
    let (input, output) = split(far);
    let _server = tokio::spawn(McpService::new(tools.clone()).serve(input, output));
    let (near, mut client) = split(near);
    let mut lines = BufReader::new(near).lines();
    let opening = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","#,
        r#""capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#,
        "\n",
    );
    client.write_all(opening.as_bytes()).await.unwrap();
    // Time passes only when nothing else happens.
    let mut received = async || {
        let mut all = Vec::new();
        while let Ok(line) = timeout(Duration::from_secs(60), lines.next_line()).await {
            all.push(line.unwrap().unwrap());
        }
        all
    };
    assert_eq!(received().await.len(), 2);
    tools
        .register(tool("second", |_| async { Ok(String::new()) }))
        .unwrap();
    let announced = received().await;
    assert_eq!(announced.len(), 1, "{announced:?}");
    assert!(announced[0].contains("notifications/tools/list_changed"));
}

fn tool_changes() -> SubscriptionFilter {
    serde_json::from_value(json!({ "toolsListChanged": true })).unwrap()
}

#[tokio::test]
async fn changes_of_the_registry_are_announced_to_those_who_listen() {
    for http in [false, true] {
        let tools = ToolRegistry::new([tool("first", |_| async { Ok(String::new()) })]).unwrap();
        let service = McpService::new(tools.clone());
        let (person, lifecycle) = (Person::absent(), Lifecycle::Stateless);
        let connected = if http {
            Connected::over_http(service, person.clone(), lifecycle).await
        } else {
            Connected::over_streams(service, person.clone(), lifecycle).await
        };
        let mut listens = connected.client.listen(tool_changes()).await.unwrap();
        assert_eq!(listens.acknowledged(), &tool_changes());
        // Another one did not ask for changes of tools.
        let other = connected.client.listen(SubscriptionFilter::default()).await;
        let mut other = other.unwrap();
        for name in ["second", "third"] {
            let added = tool(name, |_| async { Ok(String::new()) });
            tools.register(added).unwrap();
            let announced = listens.next().await.unwrap();
            let is_change = matches!(
                announced,
                Some(ServerNotification::ToolListChangedNotification(_))
            );
            assert!(is_change, "{announced:?}");
        }
        assert!(other.next().now_or_never().is_none());
    }
}

#[tokio::test]
async fn subscriptions_are_limited() {
    let limits = ServeLimits {
        subscriptions: 1,
        ..ServeLimits::default()
    };
    let service = McpService::of([]).unwrap().limits(limits);
    let connected = Connected::over_streams(service, Person::absent(), Lifecycle::Stateless).await;
    let mut first = connected.client.listen(tool_changes()).await.unwrap();
    let mut second = connected.client.listen(tool_changes()).await.unwrap();
    let refused = second.next().await.unwrap_err().to_string();
    assert!(refused.contains("Too many subscriptions"), "{refused}");
    first.cancel().await.unwrap();
    connected.client.list_all_tools().await.unwrap();
    let mut third = connected.client.listen(tool_changes()).await.unwrap();
    connected.client.list_all_tools().await.unwrap();
    assert!(third.next().now_or_never().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_subscription_does_not_delay_the_end() {
    let service = McpService::of([]).unwrap();
    let connected = Connected::over_streams(service, Person::absent(), Lifecycle::Stateless).await;
    let _listens = connected.client.listen(tool_changes()).await.unwrap();
    let before = Instant::now();
    connected.leave().await;
    // Time passes only while everything waits.
    assert_eq!(Instant::now(), before);
}

#[tokio::test]
async fn structured_results_match_their_schema_or_fail() {
    let number = |name: &str, result: Value| {
        Tool::dynamic(name, json!({ "type": "object" }))
            .description("Returns a number.")
            .output_schema(object().field("n", integer().required()))
            .handler_with(result, async |result, _: Value, _| Value::clone(&result))
            .build()
            .unwrap()
    };
    let tools = [
        number("good", json!({ "n": 1 })),
        number("bad", json!({ "n": "many" })),
    ];
    let service = McpService::of(tools).unwrap();
    let connected = Connected::over_streams(service, Person::absent(), Lifecycle::Sessions).await;
    let good = connected.call("good", json!({})).await.unwrap();
    assert_eq!(good.structured_content, Some(json!({ "n": 1 })));
    assert_eq!(text_of(&good), r#"{"n":1}"#);
    let bad = connected.call("bad", json!({})).await.unwrap();
    assert_eq!((bad.is_error, bad.structured_content), (Some(true), None));
}

#[tokio::test]
async fn added_methods_are_served_as_json() {
    let service = McpService::of([]).unwrap();
    let service = service
        .capability("prompts", json!({}))
        .method("prompts/list", async |_, _| {
            Ok(json!({ "prompts": [{ "name": "greet", "arguments": [] }] }))
        })
        .method("prompts/get", async |params: Value, _| {
            let text = json!({ "type": "text", "text": params["arguments"]["name"] });
            Ok(json!({ "messages": [{ "role": "user", "content": text }] }))
        });
    for lifecycle in LIFECYCLES {
        let connected = Connected::over_streams(service.clone(), Person::absent(), lifecycle).await;
        let prompts = connected.client.list_all_prompts().await.unwrap();
        assert_eq!(prompts[0].name, "greet");
        let arguments = BTreeMap::from([("name", "Ada")]);
        let get = json!({ "name": "greet", "arguments": arguments });
        let get = serde_json::from_value(get).unwrap();
        let prompt = connected.client.get_prompt(get).await.unwrap();
        let prompt = serde_json::to_value(prompt).unwrap();
        assert_eq!(prompt["messages"][0]["content"]["text"], "Ada");
    }
}

#[tokio::test]
async fn an_agent_is_one_tool_whose_calls_are_progress() {
    let looks_up = tool("looks_up", |_| async { Ok("three books".to_owned()) });
    let model = |ctx: DispatchContext| async move {
        match ctx.records().own_tool_calls().pop() {
            None => drop(ctx.call("looks_up", "{}").await),
            Some(found) => drop(ctx.answer(found.text().await.unwrap_or_default()).await?),
        }
        Ok(())
    };
    let runner = turnwright_core::runner(model)
        .tool(looks_up)
        .build()
        .unwrap();
    let agent = agent_tool("research", "Asks a librarian.", runner).unwrap();
    for lifecycle in LIFECYCLES {
        let service = McpService::of([agent.clone()]).unwrap();
        let person = Person::absent();
        let connected = Connected::over_streams(service, person.clone(), lifecycle).await;
        let result = connected
            .call("research", json!({ "task": "books" }))
            .await
            .unwrap();
        assert_eq!(text_of(&result), "three books");
        let progress = person.next_progress().await;
        assert_eq!(progress.message.as_deref(), Some("calls looks_up"));
    }
}
