//! The frontmatter of a document: YAML, parsed to JSON.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;

use serde::Serialize;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde_json::{Map, Number, Value};

use super::document::Document;
use crate::error::Error;
use crate::schema::clip;

/// Maximum size of the frontmatter in bytes. A longer block is not frontmatter.
const LARGEST: usize = 64 * 1024;
/// Maximum size of the parsed values in bytes. Only a block with aliases can exceed it.
const UNFOLDED: usize = 256 * 1024;

/// The frontmatter: a block of YAML between lines of `---` at the very start of a document. A line of `...` also ends it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Frontmatter {
    /// The lines of the block, including the two delimiters.
    pub lines: Range<u64>,
    /// The source between the delimiters.
    pub raw: String,
    /// The parsed content. Dates, and numbers that JSON cannot represent, are strings.
    pub value: Value,
}

/// The position of a block.
pub(super) struct Block {
    pub(super) bytes: Range<usize>,
    inner: Range<usize>,
}

/// Finds the block that starts at `start`. If a blank line follows the first delimiter, or the block is not closed, the delimiter
/// is a thematic break.
pub(super) fn find(text: &str, start: usize) -> Option<Block> {
    let mut lines = text.get(start..)?.split_inclusive('\n');
    let first = lines.next().filter(|line| line.trim_end() == "---")?;
    let inner = start + first.len();
    let mut at = inner;
    for line in lines {
        let bare = line.trim_end();
        if matches!(bare, "---" | "...") {
            return Some(Block {
                bytes: start..at + line.len(),
                inner: inner..at,
            });
        }
        at += line.len();
        if at - inner > LARGEST || (at == inner + line.len() && bare.is_empty()) {
            return None;
        }
    }
    None
}

/// Returns the frontmatter of the document, if any.
pub(super) fn frontmatter(document: &Document) -> Result<Option<Frontmatter>, Error> {
    let Some(block) = document.frontmatter() else {
        return Ok(None);
    };
    let raw = document.slice(&block.inner);
    let lines = document.exact_lines_of(&block.bytes);
    let room = Cell::new(UNFOLDED);
    let parsed = Unfold { room: &room }.deserialize(yaml_serde::Deserializer::from_str(raw));
    let value = parsed.map_err(|error| malformed(&error, &lines))?;
    Ok(Some(Frontmatter {
        lines,
        raw: raw.to_owned(),
        value,
    }))
}

/// Returns the error for the block on these lines.
fn malformed(error: &yaml_serde::Error, lines: &Range<u64>) -> Error {
    let (start, end) = (lines.start, lines.end);
    let place = error.location().map_or_else(String::new, |place| {
        format!(" at line {}", (start + place.line() as u64).min(end))
    });
    let reason = clip(&error.to_string(), 240);
    Error::malformed_artifact(format!(
        "The frontmatter (lines {start}..{end}) is not valid YAML{place}: {reason}. Read it as text with artifact_cat \
         start={start} end={end}."
    ))
}

/// Builds a value and counts its expanded size. The parser limits the nesting depth.
#[derive(Clone, Copy)]
struct Unfold<'r> {
    room: &'r Cell<usize>,
}

impl Unfold<'_> {
    fn take<E: serde::de::Error>(self, bytes: usize) -> Result<(), E> {
        let left = self.room.get().checked_sub(bytes + 1);
        self.room.set(left.ok_or_else(|| {
            E::custom(format_args!(
                "its aliases expand to more than {UNFOLDED} bytes"
            ))
        })?);
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Unfold<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unfold<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.take(0).map(|()| Value::Null)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<Value, E> {
        self.take(0).map(|()| value.into())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Value, E> {
        self.take(0).map(|()| value.into())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        self.take(0).map(|()| value.into())
    }

    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<Value, E> {
        self.visit_str(&value.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        match Number::from_f64(value) {
            Some(number) => self.take(0).map(|()| number.into()),
            None => self.visit_str(&value.to_string()),
        }
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<Value, E> {
        self.take(value.len()).map(|()| value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        self.take(0)?;
        let mut values = Vec::new();
        while let Some(value) = from.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Value, A::Error> {
        self.take(0)?;
        let mut map = Map::new();
        while let Some(key) = from.next_key_seed(self)? {
            let key = match key {
                Value::String(key) => key,
                Value::Null | Value::Bool(_) | Value::Number(_) => key.to_string(),
                Value::Array(_) | Value::Object(_) => {
                    return Err(serde::de::Error::custom(
                        "a key must not be a list or a mapping",
                    ));
                }
            };
            if map.contains_key(&key) {
                return Err(serde::de::Error::custom(format_args!(
                    "the key {key:?} occurs twice"
                )));
            }
            map.insert(key, from.next_value_seed(self)?);
        }
        Ok(Value::Object(map))
    }

    /// A tagged value (`!tag value`): the tag has no meaning here, so only the value is used.
    fn visit_enum<A: EnumAccess<'de>>(self, from: A) -> Result<Value, A::Error> {
        let (_tag, value) = from.variant_seed(self)?;
        value.newtype_variant_seed(self)
    }
}
