//! Parses frontmatter to JSON.

use std::cell::Cell;
use std::fmt;
use std::ops::Range;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde_json::{Map, Number, Value};

use super::FrontmatterFormat;
use crate::artifact::markdown::listing::clipped;
use crate::error::Error;

/// Maximum size of the parsed values in bytes. Only a block with aliases can exceed it.
const UNFOLDED: usize = 256 * 1024;

/// The key that the TOML parser uses for a date.
const TOML_DATE: &str = "$__toml_private_datetime";

/// Why a block is invalid, and the line within the block.
pub(super) struct Fault {
    reason: String,
    line: Option<u64>,
}

impl Fault {
    /// Converts to the error for the block on these lines.
    pub(super) fn into_error(self, format: FrontmatterFormat, lines: &Range<u64>) -> Error {
        let (start, end) = (lines.start, lines.end);
        let line = self.line.map(|line| start + 1 + line);
        let place = line.map_or_else(String::new, |line| format!(" at line {}", line.min(end)));
        Error::malformed_artifact(format!(
            "The frontmatter (lines {start}..{end}) is not valid {}{place}: {}. Read it as text with artifact_cat \
             start={start} end={end}.",
            format.as_str(),
            clipped(&self.reason, 240)
        ))
    }
}

pub(super) fn parsed(format: FrontmatterFormat, raw: &str) -> Result<Value, Fault> {
    let room = Cell::new(UNFOLDED);
    let seed = Unfold { room: &room };
    match format {
        FrontmatterFormat::Yaml => {
            let read = seed.deserialize(yaml_serde::Deserializer::from_str(raw));
            read.map_err(|error| Fault {
                line: error
                    .location()
                    .map(|place| place.line().saturating_sub(1) as u64),
                reason: error.to_string(),
            })
        }
        FrontmatterFormat::Toml => {
            let read = toml::Deserializer::parse(raw).and_then(|table| seed.deserialize(table));
            read.map_err(|error| {
                let before = error.span().and_then(|span| raw.get(..span.start));
                Fault {
                    line: before.map(|before| before.matches('\n').count() as u64),
                    reason: error.message().to_owned(),
                }
            })
        }
    }
}

/// Builds a value and counts its expanded size. Both parsers limit the nesting depth.
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
            let value = from.next_value_seed(self)?;
            if key == TOML_DATE && map.is_empty() {
                return Ok(value);
            }
            if let Some(_twice) = map.get(&key) {
                return Err(serde::de::Error::custom(format_args!(
                    "the key {key:?} occurs twice"
                )));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }

    /// A tagged value (`!tag value`): the tag has no meaning here, so only the value is used.
    fn visit_enum<A: EnumAccess<'de>>(self, from: A) -> Result<Value, A::Error> {
        let (_tag, value) = from.variant_seed(self)?;
        value.newtype_variant_seed(self)
    }
}
