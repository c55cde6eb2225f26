//! Types of stored fields.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::{Deserializer, Unexpected, Visitor};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::invalid::{Invalid, unstorable};
use super::time;
use crate::checksum::Hex;
use crate::error::Error;
use crate::record::RecordKind;
use crate::schema::{MAX_DEPTH, decode, survey};

/// The version of the stored format.
pub(super) const VERSION: u64 = 1;

/// A string, borrowed from the stored text if it has no escapes.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl Text<'_> {
    pub(super) fn into_owned(self) -> String {
        self.0.into_owned()
    }

    /// Returns the text, if it is not empty.
    pub(super) fn not_empty(self, field: &'static str) -> Result<Self, Invalid> {
        match self.0.is_empty() {
            true => Err(Invalid::new(field, "must not be empty")),
            false => Ok(self),
        }
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Text(Cow::Owned(text))
    }
}

impl<'a, T: AsRef<str> + ?Sized> From<&'a T> for Text<'a> {
    fn from(text: &'a T) -> Self {
        Text(Cow::Borrowed(text.as_ref()))
    }
}

impl std::ops::Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

/// A value that is stored as a string.
pub(super) trait TextField: Sized {
    const EXPECTED: &'static str;

    fn parse(text: &str) -> Option<Self>;

    fn to_text(&self) -> Cow<'_, str>;
}

#[derive(Clone, Copy)]
pub(super) struct Encoded<T>(pub(super) T);

pub(super) type Time = Encoded<SystemTime>;
pub(super) type Digest = Encoded<Hex>;
pub(super) type Base64 = Encoded<Vec<u8>>;
/// A value as JSON text. A database may change numbers and the order of keys in JSON, but not in a string.
pub(super) type Json<'a> = Encoded<Cow<'a, Value>>;

impl<T: TextField> Serialize for Encoded<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.to_text())
    }
}

impl<'de, T: TextField> Deserialize<'de> for Encoded<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(Parse(PhantomData))
    }
}

/// Parses a string without copying it.
struct Parse<T>(PhantomData<T>);

impl<T: TextField> Visitor<'_> for Parse<T> {
    type Value = Encoded<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Encoded<T>, E> {
        let parsed = T::parse(text).map(Encoded);
        parsed.ok_or_else(|| E::invalid_value(Unexpected::Other("text"), &self))
    }
}

impl TextField for SystemTime {
    const EXPECTED: &'static str = "a time like `2026-01-31T23:59:59.000000001Z`";

    fn parse(text: &str) -> Option<Self> {
        time::parse(text)
    }

    fn to_text(&self) -> Cow<'_, str> {
        time::format(*self).into()
    }
}

impl TextField for Hex {
    const EXPECTED: &'static str = "64 hex digits in lower case";

    fn parse(text: &str) -> Option<Self> {
        let digits = <[u8; 64]>::try_from(text.as_bytes()).ok()?;
        let hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        digits.iter().all(hex).then(|| Hex::new(digits))
    }

    fn to_text(&self) -> Cow<'_, str> {
        self.as_str().into()
    }
}

impl TextField for Vec<u8> {
    const EXPECTED: &'static str = "base64";

    fn parse(text: &str) -> Option<Self> {
        STANDARD.decode(text).ok()
    }

    fn to_text(&self) -> Cow<'_, str> {
        STANDARD.encode(self).into()
    }
}

/// Maximum depth of a stored value: one more than for arguments, because an approval request contains the arguments of its call.
const STORED_DEPTH: usize = MAX_DEPTH + 1;

impl TextField for Cow<'_, Value> {
    const EXPECTED: &'static str =
        "JSON text of at most 129 levels, without keys that begin with `$serde_json::private::`";

    fn parse(text: &str) -> Option<Self> {
        let decoded = decode(text, STORED_DEPTH).ok()?;
        Some(Cow::Owned(decoded.value))
    }

    fn to_text(&self) -> Cow<'_, str> {
        self.to_string().into()
    }
}

impl<'a> Json<'a> {
    /// Rejects a value that could not be read again.
    pub(super) fn new(kind: RecordKind, field: &str, value: &'a Value) -> Result<Self, Error> {
        match survey(value).problem(STORED_DEPTH) {
            None => Ok(Encoded(Cow::Borrowed(value))),
            Some(reason) => Err(unstorable(kind, &format!("{field}: {reason}"))),
        }
    }

    /// Like [`Json::new`], by value.
    pub(super) fn owned(kind: RecordKind, field: &str, value: Value) -> Result<Self, Error> {
        Json::new(kind, field, &value)?;
        Ok(Encoded(Cow::Owned(value)))
    }

    pub(super) fn into_value(self) -> Value {
        self.0.into_owned()
    }
}
