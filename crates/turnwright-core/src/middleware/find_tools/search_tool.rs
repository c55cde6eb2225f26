//! The tool that the model searches with.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{FindTools, Hidden, NAME};
use crate::effects::{Concurrency, Effects};
use crate::error::Error;
use crate::schema::escape;
use crate::tool::context::ToolContext;
use crate::tool::{Tool, ToolOutput};

/// The most characters of a line about a tool.
const LINE: usize = 160;
const FOUND: &str = "These tools are available now:";

pub(super) fn search_tool(settings: &FindTools) -> Result<Tool, Error> {
    let (shared, results) = (Arc::clone(&settings.shared), settings.results);
    let schema = json!({
        "type": "object",
        "properties": {
            "query": {
                "type": "string", "minLength": 1, "maxLength": 1000,
                "description": "What you want to do, in a few words.",
            },
        },
        "required": ["query"],
        "additionalProperties": false,
    });
    Tool::dynamic(NAME, schema)
        .description(
            "Finds more tools by what they do. Most tools are not listed until you search for them. Search before you say \
             that something is not possible. The tools that it finds can be called from the next step on.",
        )
        .effects(Effects::ReadOnly)
        // Calls one after the other reveal tools in a defined order.
        .concurrency(Concurrency::Exclusive)
        .trusted(true)
        .inline(crate::artifact::Inline::Always)
        .handler(move |args: Value, ctx: ToolContext| {
            let query = args.get("query").and_then(Value::as_str);
            let hidden = ctx.turn().per_turn::<Hidden>();
            let index = shared.index(&hidden, ctx.turn().tools());
            let found = index.search(query.unwrap_or_default(), results);
            std::future::ready(answer(&ctx, &hidden, &found))
        })
        .build()
}

/// Reveals the tools and lists them.
fn answer(ctx: &ToolContext, hidden: &Hidden, found: &[&Tool]) -> ToolOutput {
    let mut lines = Vec::new();
    let mut third_party = false;
    for tool in found {
        hidden.show(tool.name(), ctx.turn().tools());
        third_party |= tool.source().is_some();
        lines.push(line(tool));
    }
    if lines.is_empty() {
        return ToolOutput::text("No tool matches. Try other words.");
    }
    let output = ToolOutput::text(format!("{FOUND}\n{}", lines.join("\n")));
    if third_party {
        output.untrusted()
    } else {
        output
    }
}

/// The name and the beginning of the description, on one line. The name is a word of plain characters, so that no description can
/// look like another line.
fn line(tool: &Tool) -> String {
    let description: Vec<&str> = tool.description().split_whitespace().collect();
    let description = escape(&description.join(" "), LINE);
    format!("- {}: {description}", tool.name())
}

/// Returns the names of the tools that an answer lists.
pub(super) fn names_in(answer: &str) -> impl Iterator<Item = &str> {
    let lines = answer.strip_prefix(FOUND).unwrap_or_default().lines();
    lines.filter_map(|line| Some(line.strip_prefix("- ")?.split_once(": ")?.0))
}
