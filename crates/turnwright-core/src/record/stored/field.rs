//! How values are stored that serde does not know, or not as they should be stored.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde::de::{DeserializeOwned, Deserializer, Unexpected, Visitor};
use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};

use super::invalid::OURS;
use crate::checksum::Hex;
use crate::record::GateAnswer;
use crate::schema::{MAX_DEPTH, decode, survey};
use crate::settings::ModelSettings;

/// A record, or a part of one, that can be stored. Public only as a bound: this module is private.
pub trait Stored: Sized {
    /// Writes the fields.
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error>;

    /// Reads the fields, without a check.
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;
}

/// `#[serde(with = "part")]` for a field whose type is [`Stored`].
pub(in crate::record) mod part {
    use serde::{Deserializer, Serializer};

    use super::Stored;

    pub(in crate::record) fn serialize<T: Stored, S: Serializer>(
        value: &T,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        value.write(to)
    }

    pub(in crate::record) fn deserialize<'de, T: Stored, D: Deserializer<'de>>(
        from: D,
    ) -> Result<T, D::Error> {
        T::read(from)
    }
}

/// A [`Stored`] value for serde.
struct Part<T>(T);

impl<T: Stored> Serialize for Part<&T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.0.write(to)
    }
}

impl<'de, T: Stored> Deserialize<'de> for Part<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::read(from).map(Part)
    }
}

impl<T: Stored> Stored for Option<T> {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.as_ref().map(Part).serialize(to)
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let value = Option::<Part<T>>::deserialize(from)?;
        Ok(value.map(|part| part.0))
    }
}

impl<T: Stored> Stored for Vec<T> {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(self.iter().map(Part))
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let all = Vec::<Part<T>>::deserialize(from)?;
        Ok(all.into_iter().map(|part| part.0).collect())
    }
}

/// In milliseconds.
impl Stored for Duration {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(self.as_millis()).unwrap_or(u64::MAX))
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}

/// A value that is stored as a string.
pub(in crate::record) trait AsText: Sized {
    const EXPECTED: &'static str;

    fn parse(text: &str) -> Option<Self>;

    /// Fails with the reason if the text could not be read again.
    fn to_text(&self) -> Result<Cow<'_, str>, String>;
}

impl<T: AsText> Stored for T {
    fn write<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self.to_text() {
            Ok(text) => to.serialize_str(&text),
            Err(reason) => Err(S::Error::custom(format_args!("{OURS}{reason}"))),
        }
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(Parse(PhantomData))
    }
}

/// Parses a string without copying it.
struct Parse<T>(PhantomData<T>);

impl<T: AsText> Visitor<'_> for Parse<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        T::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Other("text"), &self))
    }
}

/// Formats a time as RFC 3339 text in UTC with nine fractional digits. A time outside of the range of [`Timestamp`] (years -9999 to
/// 9999) is clamped.
pub(crate) fn time_text(time: SystemTime) -> String {
    let clamped = if time < SystemTime::UNIX_EPOCH {
        Timestamp::MIN
    } else {
        Timestamp::MAX
    };
    format!("{:.9}", Timestamp::try_from(time).unwrap_or(clamped))
}

/// Serialises a time as [`time_text`] writes it.
pub(crate) fn rfc3339<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&time_text(*time))
}

impl AsText for SystemTime {
    const EXPECTED: &'static str = "a time like `2026-01-31T23:59:59.000000001Z`";

    fn parse(text: &str) -> Option<Self> {
        text.parse().ok().map(Timestamp::into)
    }

    fn to_text(&self) -> Result<Cow<'_, str>, String> {
        Ok(time_text(*self).into())
    }
}

impl AsText for Hex {
    const EXPECTED: &'static str = "64 hex digits in lower case";

    fn parse(text: &str) -> Option<Self> {
        let digits = <[u8; 64]>::try_from(text.as_bytes()).ok()?;
        let hex = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        digits.iter().all(hex).then(|| Hex::new(digits))
    }

    fn to_text(&self) -> Result<Cow<'_, str>, String> {
        Ok(self.as_str().into())
    }
}

/// Bytes that are not UTF-8.
pub(super) struct Base64<'a>(pub(super) Cow<'a, [u8]>);

impl AsText for Base64<'_> {
    const EXPECTED: &'static str = "base64";

    fn parse(text: &str) -> Option<Self> {
        Some(Base64(STANDARD.decode(text).ok()?.into()))
    }

    fn to_text(&self) -> Result<Cow<'_, str>, String> {
        Ok(STANDARD.encode(&self.0).into())
    }
}

/// Maximum depth of a stored value: one more than for arguments, because an approval request contains the arguments of its call.
const STORED_DEPTH: usize = MAX_DEPTH + 1;

/// As JSON text. A database may change numbers and the order of keys in JSON, but not in a string.
impl AsText for Value {
    const EXPECTED: &'static str =
        "JSON text of at most 129 levels, without keys that begin with `$serde_json::private::`";

    fn parse(text: &str) -> Option<Self> {
        Some(decode(text, STORED_DEPTH).ok()?.value)
    }

    /// Rejects a value that could not be read again.
    fn to_text(&self) -> Result<Cow<'_, str>, String> {
        match survey(self).problem(STORED_DEPTH) {
            Some(reason) => Err(reason),
            None => Ok(self.to_string().into()),
        }
    }
}

impl AsText for Arc<Value> {
    const EXPECTED: &'static str = Value::EXPECTED;

    fn parse(text: &str) -> Option<Self> {
        Value::parse(text).map(Arc::new)
    }

    fn to_text(&self) -> Result<Cow<'_, str>, String> {
        (**self).to_text()
    }
}

/// Implements [`AsText`] as JSON text.
macro_rules! json_text {
    ($($type:ty = $expected:literal,)+) => {$(
        impl AsText for $type {
            const EXPECTED: &'static str = $expected;

            fn parse(text: &str) -> Option<Self> {
                from_json(text)
            }

            fn to_text(&self) -> Result<Cow<'_, str>, String> {
                to_json(self)
            }
        }
    )+};
}

json_text! {
    Map<String, Value> = "JSON text of an object",
    ModelSettings = "JSON text of model settings",
    GateAnswer = "JSON text of an answer",
}

fn from_json<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_value(Value::parse(text)?).ok()
}

fn to_json(value: &impl Serialize) -> Result<Cow<'static, str>, String> {
    let value = serde_json::to_value(value).map_err(|error| error.to_string())?;
    Ok(value.to_text()?.into_owned().into())
}
