//! The tokens of many definitions, with and without `find_tools`, and whether a search finds the right tool.

use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use turnwright_core::artifact::text::TokenCount;
use turnwright_core::middleware::find_tools;
use turnwright_core::{DispatchContext, Tool, ToolContext, ToolRegistry, runner};

use crate::server;

/// The questions of core's test, each with the tools that answer it.
#[path = "../../../crates/turnwright-core/tests/it/find_tools/questions.rs"]
mod questions;

use questions::QUESTIONS;

/// The budget from which tools are hidden.
pub(crate) const BUDGET: u64 = 8_000;

/// What was counted.
#[derive(Clone, Copy, Default)]
pub(crate) struct Counted {
    pub(crate) tools: usize,
    /// Tokens of all definitions.
    pub(crate) all: u64,
    /// Tokens of what is visible at first, and after one search.
    pub(crate) hidden: u64,
    pub(crate) after_one: u64,
    pub(crate) questions: usize,
    /// For how many questions the right tool is the first, and among the first five.
    pub(crate) first: usize,
    pub(crate) among_five: usize,
}

/// Counts in one turn.
pub(crate) async fn count() -> Result<Counted, Box<dyn Error>> {
    let definitions = server::definitions()?;
    let tools: Result<Vec<Tool>, _> = definitions.iter().map(tool_of).collect();
    let registry = ToolRegistry::new(tools?)?;
    let counted = Arc::new(Mutex::new(Counted {
        tools: definitions.len(),
        all: tokens(&registry.visible()),
        questions: QUESTIONS.len(),
        ..Counted::default()
    }));
    let shared = Arc::clone(&counted);
    let runner = runner(move |ctx: DispatchContext| {
        let shared = Arc::clone(&shared);
        async move {
            let hidden = tokens(&ctx.tools().visible());
            let (mut after_one, mut first, mut among_five) = (0, 0, 0);
            for (question, right) in QUESTIONS {
                let call = ctx.call("find_tools", json!({ "query": question })).await;
                let text = call.text().await.unwrap_or_default();
                let mut names = text
                    .lines()
                    .skip(1)
                    .filter_map(|line| Some(line.strip_prefix("- ")?.split_once(": ")?.0));
                let place = names.position(|name| right.contains(&name));
                first += usize::from(place == Some(0));
                among_five += usize::from(place.is_some());
                if after_one == 0 {
                    after_one = tokens(&ctx.tools().visible());
                }
            }
            {
                let mut counted = shared.lock().unwrap_or_else(PoisonError::into_inner);
                (counted.hidden, counted.after_one) = (hidden, after_one);
                (counted.first, counted.among_five) = (first, among_five);
            }
            ctx.answer("done").await?;
            Ok(())
        }
    })
    .tools(registry.all())
    .dispatch_input(find_tools(BUDGET))
    .build()?;
    let outcome = runner.run("go").await;
    if outcome.is_answered() {
        Ok(*counted.lock().unwrap_or_else(PoisonError::into_inner))
    } else {
        Err(format!("{outcome:?}").into())
    }
}

/// Returns the tool of a definition. A schema that a strict reading refuses is replaced by one with its parameters and their
/// descriptions.
fn tool_of(definition: &Value) -> Result<Tool, turnwright_core::Error> {
    let (server, tool) = (&definition["server"], &definition["tool"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (server, schema) = (text(server), &tool["inputSchema"]);
    let name: String = format!("{server}__{}", text(&tool["name"]));
    let name: String = name.chars().take(64).collect();
    let build = |schema: Value| {
        Tool::dynamic(name.clone(), schema)
            .description(text(&tool["description"]))
            .source(server.clone())
            .handler(|_: Value, _: ToolContext| async { "ok" })
            .build()
    };
    build(schema.clone()).or_else(|_| {
        let all = schema["properties"].as_object().into_iter().flatten();
        let described = all.map(|(name, schema)| {
            let description = schema["description"].as_str().unwrap_or_default();
            (name.clone(), json!({ "description": description }))
        });
        let properties: Map<String, Value> = described.collect();
        build(json!({ "type": "object", "properties": properties }))
    })
}

/// Returns the estimated tokens of definitions.
fn tokens(tools: &[Tool]) -> u64 {
    let texts = tools.iter().map(|tool| json!(tool.describe()).to_string());
    texts
        .map(|text| TokenCount::of_text(&text, "").tokens)
        .sum()
}
