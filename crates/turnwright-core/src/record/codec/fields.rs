//! The fields of a stored object, read with care: whatever a store gives, the answer is a value or an error that names the
//! field and shows nothing of its content.

use std::time::SystemTime;

use serde::de::IntoDeserializer as _;
use serde::de::value::{Error as NoWord, StrDeserializer};
use serde_json::{Map, Value};

use super::node::{Part, Parts};
use super::place::Place;
use super::time;
use crate::error::{Error, ErrorCode, ErrorKind};
use crate::record::RecordKind;
use crate::record::stamp::Stamp;
use crate::schema::{MAX_DEPTH, decode, inspect, quote};
use crate::tool::Hex;

/// A stored object, and where it stands in its record.
pub(super) struct Fields<'v> {
    kind: RecordKind,
    id: Option<&'v str>,
    place: Place,
    all: Parts<'v>,
}

impl<'v> Fields<'v> {
    pub(super) fn of_record(kind: RecordKind, whole: Option<Part<'v>>) -> Result<Self, Error> {
        let Some(all) = whole.and_then(Part::as_object) else {
            return Err(unreadable(kind, None, "it is no JSON object"));
        };
        let mut fields = Fields {
            kind,
            id: None,
            place: Place::default(),
            all,
        };
        fields.id = fields.get("id").and_then(Part::as_text);
        Ok(fields)
    }

    /// What stands under a name; `null` counts as nothing.
    pub(super) fn get(&self, name: &str) -> Option<Part<'v>> {
        self.all.named(name).filter(|part| !part.is_null())
    }

    fn need<T>(
        &self,
        name: &str,
        what: &str,
        take: impl FnOnce(Part<'v>) -> Option<T>,
    ) -> Result<T, Error> {
        let part = self.get(name).ok_or_else(|| self.wrong(name, "is missing"));
        take(part?).ok_or_else(|| self.wrong(name, what))
    }

    fn may<T>(
        &self,
        name: &str,
        what: &str,
        take: impl FnOnce(Part<'v>) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(part) => take(part).map(Some).ok_or_else(|| self.wrong(name, what)),
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<&'v str, Error> {
        self.need(name, "is no text", Part::as_text)
    }

    pub(super) fn text_if_any(&self, name: &str) -> Result<Option<&'v str>, Error> {
        self.may(name, "is no text", Part::as_text)
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, Error> {
        self.need(name, "is neither true nor false", Part::as_flag)
    }

    pub(super) fn number(&self, name: &str) -> Result<u64, Error> {
        self.need(name, NO_NUMBER, Part::as_number)
    }

    pub(super) fn number_if_any(&self, name: &str) -> Result<Option<u64>, Error> {
        self.may(name, NO_NUMBER, Part::as_number)
    }

    /// A SHA-256 digest.
    pub(super) fn sha256(&self, name: &str) -> Result<Hex, Error> {
        let hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        self.need(
            name,
            "is no digest of 64 hex digits in lower case",
            |part| {
                let digits = <[u8; 64]>::try_from(part.as_text()?.as_bytes()).ok()?;
                digits.iter().all(hex).then(|| Hex::new(digits))
            },
        )
    }

    pub(super) fn time(&self, name: &str) -> Result<SystemTime, Error> {
        self.need(name, NO_TIME, |part| time::parse(part.as_text()?))
    }

    pub(super) fn time_if_any(&self, name: &str) -> Result<Option<SystemTime>, Error> {
        self.may(name, NO_TIME, |part| time::parse(part.as_text()?))
    }

    /// Id and times.
    pub(super) fn stamp(&self) -> Result<Stamp, Error> {
        Ok(Stamp {
            id: self.text("id")?.to_owned(),
            created_at: self.time("createdAt")?,
            updated_at: self.time("updatedAt")?,
        })
    }

    /// One of the words that a type is written with.
    pub(super) fn word<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        self.need(name, NO_WORD, word)
    }

    /// A list of them.
    pub(super) fn words_if_any<T: serde::de::DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Option<Vec<T>>, Error> {
        self.may(name, NO_WORD, |part| {
            part.as_list()?.into_iter().map(word).collect()
        })
    }

    /// A value that was written as JSON text.
    pub(super) fn json(&self, name: &str) -> Result<Value, Error> {
        let decoded = decode(self.text(name)?, STORED_DEPTH);
        let decoded = decoded.map_err(|_| self.wrong(name, NO_JSON))?;
        Ok(decoded.value)
    }

    pub(super) fn json_if_any(&self, name: &str) -> Result<Option<Value>, Error> {
        self.get(name).map(|_| self.json(name)).transpose()
    }

    pub(super) fn object(&self, name: &'static str) -> Result<Fields<'v>, Error> {
        let part = self.get(name).ok_or_else(|| self.wrong(name, "is missing"));
        self.below(self.place.field(name), part?)
    }

    pub(super) fn object_if_any(&self, name: &'static str) -> Result<Option<Fields<'v>>, Error> {
        self.get(name).map(|_| self.object(name)).transpose()
    }

    /// The objects of a list.
    pub(super) fn objects(&self, name: &'static str) -> Result<Vec<Fields<'v>>, Error> {
        let items = self.need(name, "is no list", Part::as_list)?;
        (0..)
            .zip(items)
            .map(|(index, item)| self.below(self.place.item(name, index), item))
            .collect()
    }

    fn below(&self, place: Place, part: Part<'v>) -> Result<Fields<'v>, Error> {
        let (kind, id) = (self.kind, self.id);
        let Some(all) = part.as_object() else {
            let why = if part.is_null() {
                "is missing"
            } else {
                "is no object"
            };
            return Err(unreadable(kind, id, &format!("{place}: {why}")));
        };
        Ok(Fields {
            kind,
            id,
            place,
            all,
        })
    }

    /// The object as a whole, for types that read themselves.
    pub(super) fn whole(&self) -> Map<String, Value> {
        self.all.to_map()
    }

    /// An error that names a field.
    pub(super) fn wrong(&self, name: &str, why: &str) -> Error {
        let dot = if self.place.is_record() { "" } else { "." };
        let why = format!("{}{dot}{name}: {why}", self.place);
        unreadable(self.kind, self.id, &why)
    }

    /// An error that names the object itself.
    pub(super) fn wrong_whole(&self, why: &str) -> Error {
        match self.place.is_record() {
            true => unreadable(self.kind, self.id, why),
            false => unreadable(self.kind, self.id, &format!("{}: {why}", self.place)),
        }
    }

    /// What a builder says against what was read.
    pub(super) fn refused(&self, error: Error) -> Error {
        self.wrong_whole(error.message()).with_source(error)
    }
}

/// The levels that a stored value may have: one more than arguments may, since the question of an approval holds those of its
/// call.
const STORED_DEPTH: usize = MAX_DEPTH + 1;
const NO_JSON: &str = "is no JSON text that can be read: it may have 129 levels, and no key that begins with `$serde_json::private::`";
const NO_NUMBER: &str = "is no whole number from 0 on";
const NO_WORD: &str = "is none of the words that may stand there";
const NO_TIME: &str = "is no time: write it like `2026-01-31T23:59:59.000000001Z`";

fn word<T: serde::de::DeserializeOwned>(part: Part<'_>) -> Option<T> {
    let word: StrDeserializer<'_, NoWord> = part.as_text()?.into_deserializer();
    T::deserialize(word).ok()
}

pub(super) fn unreadable(kind: RecordKind, id: Option<&str>, why: &str) -> Error {
    let id = id.map_or(String::new(), |id| format!(" {}", quote(&id.into())));
    let message = format!("the stored {kind}{id} cannot be read: {why}");
    // No retry mends it.
    Error::new(ErrorCode::Store, message).with_kind(ErrorKind::Internal)
}

/// A value as JSON text.
pub(super) fn json_text(kind: RecordKind, name: &str, value: &Value) -> Result<Value, Error> {
    // What cannot be read back is not written, and writing recurses.
    match inspect(value, STORED_DEPTH) {
        Ok(()) => Ok(Value::String(value.to_string())),
        Err(why) => Err(unstorable(kind, &format!("{name}: {why}"))),
    }
}

/// Why a record cannot be written.
pub(super) fn unstorable(kind: RecordKind, why: &str) -> Error {
    let message = format!("the {kind} cannot be stored: {why}");
    Error::new(ErrorCode::Store, message).with_kind(ErrorKind::Internal)
}

/// Adds a field.
pub(super) fn put(map: &mut Map<String, Value>, name: &str, value: impl Into<Value>) {
    map.insert(name.to_owned(), value.into());
}
