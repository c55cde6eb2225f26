//! Shows how definitions differ from the lock file.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};
use turnwright_mcp::{Change, Difference, display_name};

use super::definition::{quote, show_definition};
use super::{McpServers, shown};
use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, one_line, plain};

/// Maximum number of characters of a pointer.
const MAX_POINTER: usize = 200;

/// After this time a difference is coarser.
const TIMEOUT: Duration = Duration::from_secs(1);

/// Shows all differences. Returns their number.
pub(crate) fn show(servers: &McpServers, screen: &mut Screen) -> anyhow::Result<usize> {
    let pins = servers.mcp.pins();
    let mut count = 0;
    for status in servers.mcp.status() {
        let alias = status.alias.as_str();
        let label = servers.config.label(alias);
        for difference in &status.differences {
            count += 1;
            screen.value(&value(servers, alias, difference))?;
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
            let mut fields = Vec::new();
            compare(String::new(), Some(before), Some(after), &mut fields);
            for (pointer, before, after) in fields {
                let pointer = one_line(&display_name(&pointer), MAX_POINTER);
                screen.line(format_args!("  {}", paint(style::NAME, pointer)))?;
                let (before, after) = (before.map(text), after.map(text));
                let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
                show_lines(&before, &after, screen)?;
            }
        }
        Change::Instructions { before, after } => {
            let (before, after) = (before.as_deref(), after.as_deref());
            let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
            show_lines(before, after, screen)?;
        }
        Change::Added(definition) => show_definition(server, name, definition, screen)?,
        Change::Removed(definition) => show_definition(server, name, definition, screen)?,
        _ => {}
    }
    Ok(())
}

/// Shows the lines of two texts that differ, behind the margin of third-party text. Invisible characters are made visible.
fn show_lines(before: &str, after: &str, screen: &mut Screen) -> anyhow::Result<()> {
    let readable = |text: &str| plain(&turnwright_mcp::display_text(text)).into_owned();
    let (before, after) = (readable(before), readable(after));
    let mut config = TextDiff::configure();
    let diff = config.timeout(TIMEOUT).diff_lines(&before, &after);
    for hunk in diff.unified_diff().iter_hunks() {
        for change in hunk.iter_changes() {
            let (style, text) = match change.tag() {
                ChangeTag::Delete => (style::BAD, format!("-{}", change.value())),
                ChangeTag::Insert => (style::GOOD, format!("+{}", change.value())),
                ChangeTag::Equal => (style::DIM, format!(" {}", change.value())),
            };
            screen.paragraph(style, "  │ ", text.trim_end_matches('\n'))?;
        }
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

/// Adds the fields that differ, by pointer. Compares both definitions at once: a pointer that was cut does not identify a value.
fn compare<'v>(
    at: String,
    before: Option<&'v Value>,
    after: Option<&'v Value>,
    fields: &mut Vec<Field<'v>>,
) {
    let (old, new) = (parts(before), parts(after));
    // What has parts does not differ itself.
    let before = before.filter(|_| old.is_empty());
    let after = after.filter(|_| new.is_empty());
    let mut old: BTreeMap<_, _> = old.into_iter().collect();
    for (name, part) in new {
        compare(join(&at, &name), old.remove(&name), Some(part), fields);
    }
    for (name, part) in old {
        compare(join(&at, &name), Some(part), None, fields);
    }
    if before != after {
        fields.push((at, before, after));
    }
}

/// The pointer of a part, cut where it is longer than what is shown: a server chooses how long names are.
fn join(at: &str, name: &str) -> String {
    let name = name.replace('~', "~0").replace('/', "~1");
    let pointer = at.chars().chain(['/']).chain(name.chars());
    pointer.take(MAX_POINTER + 1).collect()
}

/// The fields or items of a value.
fn parts(value: Option<&Value>) -> Vec<(Cow<'_, str>, &Value)> {
    match value {
        Some(Value::Object(fields)) => {
            let fields = fields.iter();
            fields.map(|(name, field)| (name.into(), field)).collect()
        }
        Some(Value::Array(items)) => {
            let items = items.iter().enumerate();
            items
                .map(|(index, item)| (index.to_string().into(), item))
                .collect()
        }
        _ => Vec::new(),
    }
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
        let mut fields = Vec::new();
        compare(String::new(), Some(&before), Some(&after), &mut fields);
        let fields: Vec<(&str, Option<String>, Option<String>)> = fields
            .iter()
            .map(|(at, before, after)| (at.as_str(), before.map(text), after.map(text)))
            .collect();
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(
            fields,
            [
                ("/a/b~1c", some("1"), some("2")),
                ("/a/d/1", some("2"), None),
                ("/new", None, some("text")),
                ("/gone", some("{}"), None),
            ]
        );
    }

    #[test]
    fn pointers_of_long_names_are_cut() {
        let definition = |value: u64| {
            let items = vec![json!(value); 1_000];
            json!({ "n".repeat(10_000): { "items": items } })
        };
        let (before, after) = (definition(1), definition(2));
        let mut fields = Vec::new();
        compare(String::new(), Some(&before), Some(&after), &mut fields);
        assert_eq!(fields.len(), 1_000);
        assert!(fields.iter().all(|(at, ..)| at.len() == MAX_POINTER + 1));
    }
}
