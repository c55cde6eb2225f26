//! Third-party text in definitions.
//!
//! Definitions are in the most privileged part of a prompt, without an envelope. So their text must not look like an envelope, must
//! not hide anything from a person who reads it, and must be short.

use std::borrow::Cow;

use serde_json::Value;
use turnwright_core::schema::is_invisible;
use turnwright_core::trust::{neutralise, remove_hidden};

/// Maximum length of a name in a schema, such as that of a property.
const MAX_NAME: usize = 200;

/// Keywords of a schema whose text is only for readers.
const PROSE: &[&str] = &["description", "title", "$comment"];

/// Returns a text without hidden characters and text that looks like an envelope, cut to a length.
pub(crate) fn harmless(text: &str, limit: usize) -> String {
    let mut shown = remove_hidden(text).into_owned();
    if shown.chars().nth(limit).is_some() {
        let cut: String = shown.chars().take(limit).collect();
        // A flag that is cut in the middle is hidden text.
        shown = remove_hidden(&cut).into_owned();
        shown.push('…');
    }
    neutralise(&shown).into_owned()
}

/// Returns a schema whose texts for readers are harmless.
///
/// # Errors
/// Returns the pointer of a text that is part of the contract, such as the name of a property, and is not harmless. It cannot be
/// changed: the server would not understand it.
pub(crate) fn harmless_schema(mut schema: Value, limit: usize) -> Result<Value, String> {
    make_harmless(&mut schema, limit)?;
    Ok(schema)
}

/// Recursive, as `serde_json` limits the depth. A pointer is built only for what is refused: a server chooses how long it is, and how
/// many values have one.
fn make_harmless(value: &mut Value, limit: usize) -> Result<(), String> {
    match value {
        Value::String(text) if !is_harmless_value(text) => Err(String::new()),
        Value::Array(items) => items.iter_mut().enumerate().try_for_each(|(index, item)| {
            let made = make_harmless(item, limit);
            made.map_err(|pointer| format!("/{index}{pointer}"))
        }),
        Value::Object(fields) => fields.iter_mut().try_for_each(|(name, field)| {
            let made = match field {
                _ if !is_harmless_name(name) => Err(String::new()),
                Value::String(text) if PROSE.contains(&name.as_str()) => {
                    *text = harmless(text, limit);
                    Ok(())
                }
                field => make_harmless(field, limit),
            };
            made.map_err(|pointer| format!("/{name}{pointer}"))
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

/// Returns a text of a server with its invisible characters made visible, for people.
///
/// ```
/// assert_eq!(turnwright_mcp::display_text("read\u{200b} me"), "read⟨U+200B⟩ me");
/// ```
#[must_use]
pub fn display_text(text: &str) -> String {
    with_code_points(text, is_hidden)
}

/// Returns a name of a server, such as that of a tool, for people. Names are usually ASCII, so the code points of all other characters
/// are shown: many letters look like one of ASCII.
///
/// ```
/// assert_eq!(turnwright_mcp::display_name("r\u{435}ad"), "r⟨U+0435⟩ad");
/// ```
#[must_use]
pub fn display_name(name: &str) -> String {
    with_code_points(name, |ch| !ch.is_ascii() || is_hidden(ch))
}

/// Replaces characters by their code points.
fn with_code_points(text: &str, is_replaced: impl Fn(char) -> bool) -> String {
    let replaced = text.chars().map(|ch| {
        if is_replaced(ch) {
            format!("⟨U+{:04X}⟩", u32::from(ch))
        } else {
            ch.into()
        }
    });
    replaced.collect()
}

/// Returns whether a name, such as that of a property, looks like what it is. Messages of the framework quote names.
fn is_harmless_name(name: &str) -> bool {
    let is_unusual = |ch: char| ch.is_control() || is_hidden(ch);
    let is_short = name.chars().count() <= MAX_NAME;
    is_short && !name.chars().any(is_unusual) && matches!(neutralise(name), Cow::Borrowed(_))
}

/// Returns whether a value, such as one of an `enum`, contains only what its script or its emoji need.
fn is_harmless_value(value: &str) -> bool {
    matches!(remove_hidden(value), Cow::Borrowed(_))
        && matches!(neutralise(value), Cow::Borrowed(_))
}

fn is_hidden(ch: char) -> bool {
    let is_layout = matches!(ch, '\n' | '\t' | '\r');
    !is_layout && (ch.is_control() || is_invisible(ch))
}
