//! Shows the definition of a tool to the person who pins it.

use serde_json::Value;
use turnwright_mcp::{display_name, display_text};

use crate::terminal::style::{self, paint};
use crate::terminal::{Screen, one_line, plain};
use crate::units::count;

/// The most characters of a text: a model gets no more of a description.
const MAX_TEXT: usize = 10_000;

/// Shows the name of a tool and everything in its definition that a model reads: descriptions and titles, also those of parameters,
/// and the rest of the schema. Invisible characters are made visible. `server` is the name of the server in messages.
pub(super) fn show_definition(
    server: &str,
    name: &str,
    definition: &Value,
    screen: &mut Screen,
) -> anyhow::Result<()> {
    let name = paint(style::NAME, one_line(&display_name(name), 80));
    screen.line(format_args!("{server}: {name}"))?;
    let text = |key: &str| definition.get(key).and_then(Value::as_str);
    let description = text("description").or_else(|| text("title"));
    quote(description.unwrap_or("(no description)"), screen)?;
    for (pointer, text) in inner_texts(definition) {
        quote(&format!("{pointer}: {text}"), screen)?;
    }
    let schema = definition.get("inputSchema").unwrap_or(&Value::Null);
    let schema = format!("parameters: {}", without_prose(schema));
    quote_all(&display_text(&schema), screen)
}

/// Shows a text of a server.
pub(super) fn quote(text: &str, screen: &mut Screen) -> anyhow::Result<()> {
    let text = display_text(text.trim());
    let length = text.chars().count();
    let mut shown: String = text.chars().take(MAX_TEXT).collect();
    if length > MAX_TEXT {
        let more = count((length - MAX_TEXT) as u64);
        shown.push_str(&format!("… ({more} more characters)"));
    }
    quote_all(&shown, screen)
}

fn quote_all(text: &str, screen: &mut Screen) -> anyhow::Result<()> {
    Ok(screen.quoting(style::DIM, "  │ ", "  │ ", &plain(text))?)
}

/// The descriptions and titles inside of the fields of a definition, with their pointers.
fn inner_texts(definition: &Value) -> Vec<(String, &str)> {
    let mut texts = Vec::new();
    let mut open: Vec<(String, &Value)> = Vec::new();
    let fields = definition.as_object().into_iter().flatten();
    open.extend(fields.map(|(name, field)| (name.clone(), field)));
    open.reverse();
    while let Some((at, value)) = open.pop() {
        let first = open.len();
        match value {
            Value::Object(fields) => {
                for (name, field) in fields {
                    match field {
                        Value::String(text) if is_prose(name) => {
                            texts.push((format!("{at}.{name}"), text.as_str()));
                        }
                        field => open.push((format!("{at}.{name}"), field)),
                    }
                }
            }
            Value::Array(items) => {
                let items = items.iter().enumerate();
                open.extend(items.map(|(index, item)| (format!("{at}.{index}"), item)));
            }
            _ => {}
        }
        // The last one is taken first.
        if let Some(added) = open.get_mut(first..) {
            added.reverse();
        }
    }
    texts
}

/// A schema without the texts that are shown by themselves.
fn without_prose(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let mut open = vec![&mut schema];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                fields.retain(|name, field| !(is_prose(name) && field.is_string()));
                open.extend(fields.values_mut());
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    schema
}

fn is_prose(name: &str) -> bool {
    matches!(name, "description" | "title" | "$comment")
}
