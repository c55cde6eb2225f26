//! The list of tools.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{JsonObject, ListToolsResult, ToolAnnotations};
use serde_json::Value;
use turnwright_core::schema::near;
use turnwright_core::{Effects, Tool, ToolRegistry};

/// Maximum number of names that an error lists.
const MAX_LISTED: usize = 5;

/// Returns a page of the visible tools, in the order of the registry. The cursor is the name of the last tool of the page before.
pub(super) fn page(
    tools: &ToolRegistry,
    cursor: Option<&str>,
    most: usize,
) -> Result<ListToolsResult, ErrorData> {
    let visible = tools.visible();
    let start = match cursor {
        None => 0,
        Some(last) => {
            let unknown = "The cursor is not valid. Start again.";
            let at = visible.iter().position(|tool| tool.name() == last);
            at.ok_or_else(|| ErrorData::invalid_params(unknown, None))? + 1
        }
    };
    let rest = visible.get(start..).unwrap_or_default();
    let shown = rest.get(..most.max(1).min(rest.len())).unwrap_or(rest);
    let next = shown.last().filter(|_| shown.len() < rest.len());
    let mut result = ListToolsResult::with_all_items(shown.iter().map(definition).collect());
    result.next_cursor = next.map(|tool| tool.name().to_owned());
    Ok(result)
}

/// Returns a visible tool.
///
/// # Errors
/// Returns an error for the client that lists similar names.
pub(super) fn find(tools: &ToolRegistry, name: &str) -> Result<Tool, ErrorData> {
    if let Some(tool) = tools.get(name).filter(|_| !tools.is_hidden(name)) {
        return Ok(tool);
    }
    let visible = tools.visible();
    let names = || visible.iter().map(Tool::name);
    let asked = name.to_lowercase();
    let holds = |other: &&str| {
        *other != name && asked.len() > 3 && (other.contains(&asked) || asked.contains(*other))
    };
    let mut close = near(name, names());
    close.extend(names().filter(holds));
    close.dedup();
    close.truncate(MAX_LISTED);
    let shown: String = name.chars().filter(|c| !c.is_control()).take(64).collect();
    let message = match close.as_slice() {
        [] => format!("Unknown tool: {shown}. `tools/list` returns the tools."),
        close => format!(
            "Unknown tool: {shown}. Similar tools: {}.",
            close.join(", ")
        ),
    };
    Err(ErrorData::invalid_params(message, None))
}

/// Returns the definition that clients see.
pub(super) fn definition(tool: &Tool) -> rmcp::model::Tool {
    let reads = tool.effects() == Effects::ReadOnly;
    let mut annotations = ToolAnnotations::new().read_only(reads);
    // Only meaningful for tools that write. A tool does not declare more than that.
    annotations.destructive_hint = (!reads).then_some(true);
    let described = tool.describe();
    let (name, description) = (described.name.to_owned(), described.description.to_owned());
    let defined = rmcp::model::Tool::new(name, description, object(described.input_schema))
        .with_annotations(annotations);
    match tool.output_schema() {
        Some(schema) => defined.with_raw_output_schema(object(schema.document())),
        None => defined,
    }
}

/// Returns a schema with the root type that the protocol requires.
fn object(document: &Value) -> Arc<JsonObject> {
    let mut document = document.as_object().cloned().unwrap_or_default();
    document.entry("type").or_insert("object".into());
    Arc::new(document)
}
