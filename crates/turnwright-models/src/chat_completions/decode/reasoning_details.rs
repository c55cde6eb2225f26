//! Assembles `reasoning_details`, which a server expects back unchanged, from their pieces.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// Fields whose text is split over pieces.
const SPLIT_FIELDS: [&str; 3] = ["text", "summary", "data"];

/// Items, and pieces of them.
#[derive(Clone, Default)]
pub(super) struct ReasoningDetails {
    items: Vec<Value>,
    /// The latest item of a type and an index.
    by_index: HashMap<(String, String), usize>,
    /// The number of items after the last list was added.
    before: usize,
}

impl ReasoningDetails {
    /// Adds the items or pieces of one chunk.
    ///
    /// Pieces with the same type and index form one item, unless their ids differ. Pieces without an index continue
    /// the last item of an earlier chunk, if it has the same type and no index.
    pub(super) fn add(&mut self, pieces: Vec<Value>) {
        for piece in pieces {
            let Value::Object(piece) = piece else {
                self.items.push(piece);
                continue;
            };
            match self.item_of(&piece) {
                Some(Value::Object(item)) => merge(item, piece),
                _ => {
                    if let Some(key) = key_of(&piece) {
                        self.by_index.insert(key, self.items.len());
                    }
                    self.items.push(Value::Object(piece));
                }
            }
        }
        self.before = self.items.len();
    }

    pub(super) fn into_items(self) -> Vec<Value> {
        self.items
    }

    fn item_of(&mut self, piece: &Map<String, Value>) -> Option<&mut Value> {
        let place = match key_of(piece) {
            Some(key) => *self.by_index.get(&key)?,
            None if self.items.len() == self.before => self.before.checked_sub(1)?,
            None => return None,
        };
        let item = self.items.get_mut(place)?;
        continues(item, piece).then_some(item)
    }
}

/// The type and the index.
fn key_of(item: &Map<String, Value>) -> Option<(String, String)> {
    let index = present(item, "index")?.to_string();
    let kind = item.get("type").map(Value::to_string).unwrap_or_default();
    Some((kind, index))
}

fn present<'a>(item: &'a Map<String, Value>, field: &str) -> Option<&'a Value> {
    item.get(field).filter(|value| !value.is_null())
}

fn continues(item: &Value, piece: &Map<String, Value>) -> bool {
    let Value::Object(item) = item else {
        return false;
    };
    let same = |field| present(item, field) == present(piece, field);
    let agree = |field| match (present(item, field), present(piece, field)) {
        (Some(one), Some(other)) => one == other,
        _ => true,
    };
    same("type") && same("index") && agree("id")
}

fn merge(item: &mut Map<String, Value>, piece: Map<String, Value>) {
    for (field, value) in piece {
        match (item.get_mut(&field), value) {
            (Some(Value::String(text)), Value::String(more))
                if SPLIT_FIELDS.contains(&field.as_str()) =>
            {
                text.push_str(&more);
            }
            (Some(_), Value::Null) => {}
            (_, value) => {
                item.insert(field, value);
            }
        }
    }
}
