//! The items of a response: what they say, and what goes back with them.

use serde_json::{Map, Value};

use super::streamed_text::{Fragment, Kind};
use super::{ANNOTATIONS, CONTENT, MESSAGE, MORE, REFUSAL, SUMMARY};
use crate::engine::{Block, Part};

/// An item that is complete.
pub(super) enum Item {
    Message {
        fragments: Vec<Fragment>,
        /// The annotations of each fragment.
        annotations: Vec<Vec<Value>>,
        fields: Map<String, Value>,
    },
    Reasoning {
        fragments: Vec<Fragment>,
        fields: Map<String, Value>,
    },
    Call {
        id: Option<String>,
        name: String,
        arguments: String,
        /// Whether the arguments are truncated.
        is_cut: bool,
        fields: Map<String, Value>,
    },
    /// An item of a tool that runs at the provider.
    Other(Value),
}

impl Item {
    /// Reads an item. Anything that is not an object with a type is `None`.
    pub(super) fn read(item: Value) -> Option<Item> {
        let Value::Object(mut fields) = item else {
            return None;
        };
        let kind = match fields.get("type") {
            Some(Value::String(kind)) => kind.as_str(),
            _ if fields.contains_key("role") => "message",
            _ => return None,
        };
        match kind {
            "message" => Some(message(fields)),
            "reasoning" => Some(reasoning(fields)),
            "function_call" => Some(call(fields)),
            _ => {
                fields.retain(|_, value| !value.is_null());
                Some(Item::Other(fields.into()))
            }
        }
    }

    /// Returns the id of an item. The calls of some servers have only the id that results refer to.
    pub(super) fn id(item: &Value) -> Option<&str> {
        let ids = ["id", "call_id"].iter();
        ids.filter_map(|name| item.get(*name)?.as_str()).next()
    }
}

/// Removes the fields that the records have, or that say nothing. The rest goes back to the server.
fn without(mut fields: Map<String, Value>, names: &[&str]) -> Map<String, Value> {
    fields.retain(|name, value| !value.is_null() && !names.contains(&name.as_str()));
    fields
}

fn message(mut fields: Map<String, Value>) -> Item {
    let (mut fragments, mut annotations) = (Vec::new(), Vec::new());
    for (index, part) in (0_u64..).zip(list(fields.remove("content"))) {
        let kind = match part.get("type").and_then(Value::as_str) {
            Some("refusal") => Kind::Refusal,
            Some("output_text" | "text") | None => Kind::Text,
            Some(_) => continue,
        };
        let text = match kind {
            Kind::Refusal => part.get("refusal"),
            _ => part.get("text"),
        };
        let text = text.or(Some(&part)).and_then(Value::as_str);
        fragments.push(Fragment::new(kind, index, text.unwrap_or_default()));
        let attached = part.get("annotations").and_then(Value::as_array);
        annotations.push(attached.cloned().unwrap_or_default());
    }
    Item::Message {
        fragments,
        annotations,
        fields: without(fields, &["type", "role", "status"]),
    }
}

fn reasoning(mut fields: Map<String, Value>) -> Item {
    let mut fragments = Vec::new();
    for (name, kind) in [("summary", Kind::Summary), ("content", Kind::Content)] {
        for (index, part) in (0_u64..).zip(list(fields.remove(name))) {
            let text = part.get("text").or(Some(&part)).and_then(Value::as_str);
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                fragments.push(Fragment::new(kind, index, text));
            }
        }
    }
    Item::Reasoning {
        fragments,
        fields: without(fields, &["type", "status"]),
    }
}

fn call(mut fields: Map<String, Value>) -> Item {
    let mut text = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => Some(text),
        None | Some(Value::Null) => None,
        Some(other) => Some(other.to_string()),
    };
    let id = text("call_id").filter(|id| !id.is_empty());
    let name = text("name").unwrap_or_default();
    let arguments = text("arguments").unwrap_or_default();
    let is_cut = fields.get("status").and_then(Value::as_str) == Some("incomplete");
    let id = id.or_else(|| Some(fields.get("id")?.as_str()?.to_owned()));
    Item::Call {
        id,
        name,
        arguments,
        is_cut,
        fields: without(fields, &["type", "status"]),
    }
}

/// Returns the items of a list; text counts as a list of one.
fn list(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(items)) => items,
        Some(text @ Value::String(_)) => vec![text],
        _ => Vec::new(),
    }
}

/// Returns the parts of a message. Without fields of its own, it is plain text.
pub(super) fn message_parts(
    fragments: &[Fragment],
    annotations: Vec<Vec<Value>>,
    fields: Map<String, Value>,
) -> Vec<Part> {
    let mut annotations = annotations.into_iter();
    let mut fields = Some(fields).filter(|fields| !fields.is_empty());
    let is_own = fields.is_some();
    let empty = [Fragment::new(Kind::Text, 0, "")];
    // A message without content is one too.
    let fragments = if fragments.is_empty() && is_own {
        &empty
    } else {
        fragments
    };
    let part = |fragment: &Fragment| {
        let mut block = Block {
            bytes: fragment.text.len(),
            ..Block::default()
        };
        match fields.take() {
            Some(fields) => {
                block.fields.insert(MESSAGE.to_owned(), fields.into());
            }
            None if is_own => {
                block.fields.insert(MORE.to_owned(), true.into());
            }
            None => {}
        }
        if fragment.kind == Kind::Refusal {
            block.fields.insert(REFUSAL.to_owned(), true.into());
        }
        if let Some(annotations) = annotations.next().filter(|items| !items.is_empty()) {
            block
                .fields
                .insert(ANNOTATIONS.to_owned(), annotations.into());
        }
        Part::Text(block)
    };
    fragments.iter().map(part).collect()
}

/// Returns the part of a reasoning item.
pub(super) fn reasoning_part(fragments: &[Fragment], mut fields: Map<String, Value>) -> Part {
    let bytes = fragments.iter().map(|fragment| fragment.text.len()).sum();
    if !fields.is_empty() {
        for (name, kind) in [(SUMMARY, Kind::Summary), (CONTENT, Kind::Content)] {
            let of_kind = fragments.iter().filter(|fragment| fragment.kind == kind);
            let lengths: Vec<usize> = of_kind.map(|fragment| fragment.text.len()).collect();
            if !lengths.is_empty() {
                fields.insert(name.to_owned(), lengths.into());
            }
        }
    }
    Part::Reasoning(Block { bytes, fields })
}
