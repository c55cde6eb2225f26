//! Tools that are hidden behind a search.

mod questions;
mod turns;

use std::path::PathBuf;

use serde_json::{Value, json};
use turnwright_core::artifact::text::TokenCount;
use turnwright_core::middleware::find_tools;
use turnwright_core::*;

use questions::QUESTIONS;

/// The definitions of real servers. Not copied: read from the folder of test vectors.
fn definitions() -> Option<Vec<Value>> {
    let vectors = std::env::var_os("TURNWRIGHT_VECTORS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"),
        PathBuf::from,
    );
    let text = std::fs::read_to_string(vectors.join("mcp/tools.jsonl")).ok()?;
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    Some(lines.collect())
}

/// The tool of a definition. A schema that a strict reading refuses is replaced by one with its parameters and their descriptions.
fn tool_of(definition: &Value) -> Tool {
    let (server, tool) = (&definition["server"], &definition["tool"]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let (server, schema) = (text(server), &tool["inputSchema"]);
    let build = |schema: Value| {
        let name: String = format!("{server}__{}", text(&tool["name"]));
        Tool::dynamic(name.chars().take(64).collect::<String>(), schema)
            .description(text(&tool["description"]))
            .source(server.clone())
            .handler(|_: Value, _: ToolContext| async { "ok" })
            .build()
    };
    build(schema.clone()).unwrap_or_else(|_| {
        let all = schema["properties"].as_object().into_iter().flatten();
        let described = all.map(|(name, schema)| {
            let description = schema["description"].as_str().unwrap_or_default();
            (name.clone(), json!({ "description": description }))
        });
        let properties: serde_json::Map<String, Value> = described.collect();
        build(json!({ "type": "object", "properties": properties })).unwrap()
    })
}

fn tokens(tools: &[Tool]) -> u64 {
    let texts = tools
        .iter()
        .map(|tool| serde_json::to_string(&tool.describe()).unwrap());
    texts
        .map(|text| TokenCount::of_text(&text, "").tokens)
        .sum()
}

#[tokio::test]
async fn the_right_tool_of_737_is_nearly_always_among_the_first_five() {
    let Some(definitions) = definitions() else {
        crate::say(
            "SKIPPED: the definitions of real MCP servers (vectors/mcp/tools.jsonl) are not there",
        );
        return;
    };
    let tools: Vec<Tool> = definitions.iter().map(tool_of).collect();
    assert_eq!(tools.len(), 737);
    let registry = ToolRegistry::new(tools).unwrap();
    let known = |name: &&str| registry.has(name);
    assert!(QUESTIONS.iter().all(|(_, right)| right.iter().all(&known)));
    let before = tokens(&registry.visible());

    let ctx = std::sync::Arc::new(parking_lot::Mutex::new(None));
    let seen = ctx.clone();
    let runner = runner(move |ctx: DispatchContext| {
        let seen = seen.clone();
        async move {
            let mut missed = Vec::new();
            let (mut first, mut after_one) = (0, 0);
            let hidden = tokens(&ctx.tools().visible());
            for (question, right) in QUESTIONS {
                let call = ctx.call("find_tools", json!({ "query": question })).await;
                let text = call.text().await.unwrap();
                let names = text.lines().skip(1).filter_map(|line| {
                    Some(line.strip_prefix("- ")?.split_once(": ")?.0.to_owned())
                });
                let names: Vec<String> = names.collect();
                if after_one == 0 {
                    after_one = tokens(&ctx.tools().visible());
                }
                match names.iter().position(|name| right.contains(&name.as_str())) {
                    Some(0) => first += 1,
                    Some(_) => {}
                    None => missed.push(format!("{question}: {}", names.join(", "))),
                }
            }
            *seen.lock() = Some((hidden, after_one, first, missed));
            ctx.answer("done").await?;
            Ok(())
        }
    })
    .tools(registry.all())
    .dispatch_input(find_tools(8_000))
    .build()
    .unwrap();
    assert!(runner.run("go").await.is_answered());
    let (hidden, after_one, first, missed) = ctx.lock().take().unwrap();
    let found = QUESTIONS.len() - missed.len();
    crate::say(format_args!(
        "find_tools: {before} tokens of definitions before, {hidden} after, {after_one} after one search; of {} questions the right \
         tool is first for {first}, among the first five for {found}",
        QUESTIONS.len()
    ));
    if std::env::args().any(|arg| arg == "--nocapture") {
        crate::say(missed.join("\n"));
    }
    assert!(before > 100 * hidden, "{before} {hidden}");
    assert!(found >= 80, "{found}: {missed:#?}");
}
