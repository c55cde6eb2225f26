//! Shows how definitions differ from the lock file.

use std::collections::HashMap;

use serde_json::{Value, json};
use turnwright_mcp::{Change, Difference, shown_name};

use super::word_diff::word_diff;
use crate::mcp_servers::{McpServers, quote, show_definition, shown};
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, one_line, plain};

/// Shows all differences. Returns their number.
pub(super) fn show(servers: &McpServers, screen: &mut Screen) -> anyhow::Result<usize> {
    let pins = servers.mcp.pins();
    let mut count = 0;
    for status in servers.mcp.status() {
        let alias = status.alias.as_str();
        let label = servers.config.label(alias);
        for difference in &status.differences {
            count += 1;
            if screen.is_json() {
                screen.value(&value(servers, alias, difference))?;
                continue;
            }
            let text = plain(&difference.to_string()).into_owned();
            let text = paint(style::WARN, text);
            screen.line(format_args!("{}: {text}", paint(style::BOLD, &label)))?;
            show_change(&label, difference, screen)?;
            if difference.change == Change::NewServer {
                let server = pins.servers.get(alias);
                if let Some(instructions) = server.and_then(|server| server.instructions.as_deref())
                {
                    quote(&format!("instructions: {instructions}"), screen)?;
                }
                let tools = pins.servers.get(alias).map(|server| &server.tools);
                for (name, tool) in tools.into_iter().flatten() {
                    show_definition(&label, name, &tool.definition, screen)?;
                }
            }
        }
    }
    Ok(count)
}

fn show_change(server: &str, difference: &Difference, screen: &mut Screen) -> anyhow::Result<()> {
    let name = difference.tool.as_deref().unwrap_or_default();
    match &difference.change {
        Change::Changed { before, after } => {
            for (pointer, before, after) in changed_fields(before, after) {
                let pointer = one_line(&shown_name(&pointer), 200);
                screen.line(format_args!("  {}", paint(style::NAME, pointer)))?;
                let (before, after) = (before.map(text), after.map(text));
                let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
                screen.line(word_diff(&before, &after, screen.width()))?;
            }
        }
        Change::Instructions { before, after } => {
            let (before, after) = (before.as_deref(), after.as_deref());
            let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
            screen.line(word_diff(before, after, screen.width()))?;
        }
        Change::Added(definition) => show_definition(server, name, definition, screen)?,
        Change::Removed(definition) => show_definition(server, name, definition, screen)?,
        _ => {}
    }
    Ok(())
}

/// A value as text: a string without quotes, anything else as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

type Field<'v> = (String, Option<&'v Value>, Option<&'v Value>);

/// The fields that differ, by pointer, in the order of the new definition; those that were removed are last.
fn changed_fields<'v>(before: &'v Value, after: &'v Value) -> Vec<Field<'v>> {
    let (before, after) = (leaves(before), leaves(after));
    let old: HashMap<&str, &Value> = before
        .iter()
        .map(|(at, leaf)| (at.as_str(), *leaf))
        .collect();
    let new: HashMap<&str, &Value> = after
        .iter()
        .map(|(at, leaf)| (at.as_str(), *leaf))
        .collect();
    let changed = after.iter().filter_map(|(at, leaf)| {
        let before = old.get(at.as_str()).copied();
        (before != Some(*leaf)).then(|| (at.clone(), before, Some(*leaf)))
    });
    let removed = before
        .iter()
        .filter(|(at, _)| !new.contains_key(at.as_str()));
    let removed = removed.map(|(at, leaf)| (at.clone(), Some(*leaf), None));
    changed.chain(removed).collect()
}

/// All values without fields or items of their own, with their pointers.
fn leaves(value: &Value) -> Vec<(String, &Value)> {
    let mut leaves = Vec::new();
    let mut open = vec![(String::new(), value)];
    while let Some((at, value)) = open.pop() {
        let first = open.len();
        match value {
            Value::Object(fields) if !fields.is_empty() => {
                open.extend(fields.iter().map(|(name, field)| {
                    let name = name.replace('~', "~0").replace('/', "~1");
                    (format!("{at}/{name}"), field)
                }));
            }
            Value::Array(items) if !items.is_empty() => {
                let items = items.iter().enumerate();
                open.extend(items.map(|(index, item)| (format!("{at}/{index}"), item)));
            }
            leaf => leaves.push((at, leaf)),
        }
        // The last one is taken first.
        if let Some(added) = open.get_mut(first..) {
            added.reverse();
        }
    }
    leaves
}

fn value(servers: &McpServers, alias: &str, difference: &Difference) -> Value {
    let (kind, before, after) = match &difference.change {
        Change::NewServer => ("newServer", None, None),
        Change::Source => ("source", None, None),
        Change::Instructions { before, after } => {
            ("instructions", Some(json!(before)), Some(json!(after)))
        }
        Change::Added(after) => ("added", None, Some(after.clone())),
        Change::Removed(before) => ("removed", Some(before.clone()), None),
        Change::Renamed { from, after } => ("renamed", Some(json!(from)), Some(after.clone())),
        Change::Changed { before, after } => ("changed", Some(before.clone()), Some(after.clone())),
        _ => ("other", None, None),
    };
    json!({
        "server": alias,
        "file": shown(&servers.config.file),
        "tool": difference.tool,
        "change": kind,
        "message": difference.to_string(),
        "before": before,
        "after": after,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_fields_that_differ_are_listed() {
        let before = json!({ "name": "x", "a": { "b/c": 1, "d": [1, 2] }, "gone": {} });
        let after = json!({ "name": "x", "a": { "b/c": 2, "d": [1] }, "new": "text" });
        let fields = changed_fields(&before, &after);
        let fields: Vec<(&str, Option<String>, Option<String>)> = fields
            .iter()
            .map(|(at, before, after)| (at.as_str(), before.map(text), after.map(text)))
            .collect();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            fields,
            [
                ("/a/b~1c", some("1"), some("2")),
                ("/new", None, some("text")),
                ("/a/d/1", some("2"), None),
                ("/gone", some("{}"), None),
            ]
        );
    }
}
