//! The fields of a stored object, read with care: whatever a store gives, the answer is a value or an error that names the
//! field and shows nothing of its content.

use std::time::SystemTime;

use serde_json::{Map, Value};

use super::time;
use crate::error::{Error, ErrorCode, ErrorKind};
use crate::record::RecordKind;
use crate::schema::{MAX_DEPTH, decode, quote, survey};

/// A stored object, and where it stands in its record.
pub(super) struct Fields<'v> {
    kind: RecordKind,
    id: Option<&'v str>,
    place: String,
    map: &'v Map<String, Value>,
}

impl<'v> Fields<'v> {
    pub(super) fn of_record(kind: RecordKind, value: &'v Value) -> Result<Self, Error> {
        match value {
            Value::Object(map) => Ok(Fields {
                kind,
                id: map.get("id").and_then(Value::as_str),
                place: String::new(),
                map,
            }),
            _ => Err(unreadable(kind, None, "it is no JSON object")),
        }
    }

    /// What stands under a name; `null` counts as nothing.
    pub(super) fn get(&self, name: &str) -> Option<&'v Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    fn need<T>(
        &self,
        name: &str,
        what: &str,
        take: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Result<T, Error> {
        let value = self.get(name).ok_or_else(|| self.wrong(name, "is missing"));
        take(value?).ok_or_else(|| self.wrong(name, what))
    }

    fn may<T>(
        &self,
        name: &str,
        what: &str,
        take: impl FnOnce(&'v Value) -> Option<T>,
    ) -> Result<Option<T>, Error> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => take(value).map(Some).ok_or_else(|| self.wrong(name, what)),
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<&'v str, Error> {
        self.need(name, "is no text", Value::as_str)
    }

    pub(super) fn text_if_any(&self, name: &str) -> Result<Option<&'v str>, Error> {
        self.may(name, "is no text", Value::as_str)
    }

    pub(super) fn flag(&self, name: &str) -> Result<bool, Error> {
        self.need(name, "is neither true nor false", Value::as_bool)
    }

    pub(super) fn number(&self, name: &str) -> Result<u64, Error> {
        self.need(name, NO_NUMBER, Value::as_u64)
    }

    pub(super) fn number_if_any(&self, name: &str) -> Result<Option<u64>, Error> {
        self.may(name, NO_NUMBER, Value::as_u64)
    }

    pub(super) fn time(&self, name: &str) -> Result<SystemTime, Error> {
        self.need(name, NO_TIME, |value| time::parse(value.as_str()?))
    }

    pub(super) fn time_if_any(&self, name: &str) -> Result<Option<SystemTime>, Error> {
        self.may(name, NO_TIME, |value| time::parse(value.as_str()?))
    }

    /// One of the words that a type is written with.
    pub(super) fn word<T: serde::de::DeserializeOwned>(&self, name: &str) -> Result<T, Error> {
        self.need(name, "is none of the words that may stand there", |value| {
            T::deserialize(value).ok()
        })
    }

    /// A value that was written as JSON text.
    pub(super) fn json(&self, name: &str) -> Result<Value, Error> {
        let decoded = decode(self.text(name)?, MAX_DEPTH);
        let decoded = decoded.map_err(|_| self.wrong(name, "is no JSON text of 128 levels"))?;
        Ok(decoded.value)
    }

    pub(super) fn json_if_any(&self, name: &str) -> Result<Option<Value>, Error> {
        self.get(name).map(|_| self.json(name)).transpose()
    }

    pub(super) fn object(&self, name: &str) -> Result<Fields<'v>, Error> {
        let value = self.get(name);
        self.below(name, value.unwrap_or(&Value::Null))
    }

    pub(super) fn object_if_any(&self, name: &str) -> Result<Option<Fields<'v>>, Error> {
        self.get(name).map(|_| self.object(name)).transpose()
    }

    /// The objects of a list.
    pub(super) fn objects(&self, name: &str) -> Result<Vec<Fields<'v>>, Error> {
        let items = self.need(name, "is no list", Value::as_array)?;
        (0..)
            .zip(items)
            .map(|(index, item): (usize, _)| self.below(&format!("{name}[{index}]"), item))
            .collect()
    }

    fn below(&self, name: &str, value: &'v Value) -> Result<Fields<'v>, Error> {
        match value {
            Value::Object(map) => Ok(Fields {
                kind: self.kind,
                id: self.id,
                place: format!("{}{name}.", self.place),
                map,
            }),
            Value::Null => Err(self.wrong(name, "is missing")),
            _ => Err(self.wrong(name, "is no object")),
        }
    }

    /// The object as a whole, for types that read themselves.
    pub(super) fn whole(&self) -> &'v Map<String, Value> {
        self.map
    }

    /// An error that names a field.
    pub(super) fn wrong(&self, name: &str, why: &str) -> Error {
        let Fields {
            kind, id, place, ..
        } = self;
        unreadable(*kind, *id, &format!("{place}{name}: {why}"))
    }

    /// An error that names the object itself.
    pub(super) fn wrong_whole(&self, why: &str) -> Error {
        let place = self.place.strip_suffix('.');
        let place = place.map_or(String::new(), |place| format!("{place}: "));
        unreadable(self.kind, self.id, &format!("{place}{why}"))
    }

    /// What a builder says against what was read.
    pub(super) fn refused(&self, error: Error) -> Error {
        self.wrong_whole(error.message()).with_source(error)
    }
}

const NO_NUMBER: &str = "is no whole number from 0 on";
const NO_TIME: &str = "is no time: write it like `2026-01-31T23:59:59.000000001Z`";

fn unreadable(kind: RecordKind, id: Option<&str>, why: &str) -> Error {
    let id = id.map_or(String::new(), |id| format!(" {}", quote(&id.into())));
    let message = format!("the stored {kind}{id} cannot be read: {why}");
    // No retry mends it.
    Error::new(ErrorCode::Store, message).with_kind(ErrorKind::Internal)
}

/// A value as JSON text.
pub(super) fn json_text(kind: RecordKind, name: &str, value: &Value) -> Result<Value, Error> {
    // Writing recurses.
    let levels = survey(value).depth;
    if levels > MAX_DEPTH {
        let why = format!("{name}: has {levels} levels, where {MAX_DEPTH} can be kept");
        return Err(unstorable(kind, &why));
    }
    Ok(Value::String(value.to_string()))
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
