//! Lenient parsing of JSON fields whose types differ between servers.
//!
//! A derived `Deserialize` does not work here: it rejects repeated fields, which servers send, and it accepts an
//! array as an object by position.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{
    DeserializeSeed, Deserializer, Error, Expected, IgnoredAny, MapAccess, SeqAccess, Unexpected,
    Visitor,
};
use serde_json::Value;

use super::fields::as_index;
use super::server_error::{EXCERPT, excerpt, unreadable};

/// The maximum number of items in one list. An item of two bytes can take hundreds in memory.
const MAX_ITEMS: usize = 1_000;

/// An object of the protocol. If a field is repeated, the last one wins.
pub(crate) trait Object<'de>: Default {
    /// Reads a field. Must consume it, with [`Field::skip`] if the name is unknown.
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error>;
}

impl<'de, T: Object<'de>> Object<'de> for Box<T> {
    fn read<A: MapAccess<'de>>(&mut self, field: Field<'_, 'de, A>) -> Result<(), A::Error> {
        T::read(self, field)
    }
}

/// A field whose value has not been read yet.
pub(crate) struct Field<'m, 'de, A> {
    pub(crate) name: Cow<'de, str>,
    access: &'m mut A,
}

impl<'de, A: MapAccess<'de>> Field<'_, 'de, A> {
    pub(crate) fn skip(self) -> Result<(), A::Error> {
        self.access.next_value().map(|IgnoredAny| ())
    }

    pub(crate) fn any(self) -> Result<Any<'de>, A::Error> {
        self.access.next_value()
    }

    /// Returns the value unchanged; `None` for `null`.
    pub(crate) fn value(self) -> Result<Option<Value>, A::Error> {
        self.access.next_value()
    }

    /// Returns the name and the unchanged value; `None` for `null`.
    pub(crate) fn named_value(self) -> Result<(Cow<'de, str>, Option<Value>), A::Error> {
        Ok((self.name, self.access.next_value()?))
    }

    /// Returns non-empty text. An integer is converted to its digits.
    pub(crate) fn text(self) -> Result<Option<Cow<'de, str>>, A::Error> {
        match self.any()? {
            Any::Text(text) => Ok(Some(text).filter(|text| !text.is_empty())),
            Any::Other(Value::Null) => Ok(None),
            Any::Other(Value::Number(number)) if !number.is_f64() => {
                Ok(Some(Cow::Owned(number.to_string())))
            }
            other => Err(other.invalid(&"text or null")),
        }
    }

    /// Returns an index. A number or text that is not an index counts as absent.
    pub(crate) fn index(self) -> Result<Option<u64>, A::Error> {
        match self.any()? {
            Any::Text(text) => Ok(text.parse().ok()),
            Any::Other(Value::Null) => Ok(None),
            Any::Other(Value::Number(number)) => Ok(as_index(&number)),
            other => Err(other.invalid(&"an index")),
        }
    }

    /// Returns `true` if the value is not `null`, `false` or empty.
    pub(crate) fn presence(self) -> Result<bool, A::Error> {
        Ok(match self.any()? {
            Any::Text(text) => !text.is_empty(),
            Any::List(items) => !items.is_empty(),
            Any::Other(Value::Object(fields)) => !fields.is_empty(),
            Any::Other(value) => !matches!(value, Value::Null | Value::Bool(false)),
        })
    }

    /// Reads an object in place: chunks are large and would otherwise be moved at every level.
    pub(crate) fn object<T: Object<'de>>(self, target: &mut Option<T>) -> Result<(), A::Error> {
        self.access.next_value_seed(ObjectSeed(target))
    }

    /// Reads a list of objects. `null` counts as no list, and a `null` item is skipped.
    pub(crate) fn objects<T: Object<'de>>(
        self,
        target: &mut Option<Vec<T>>,
    ) -> Result<(), A::Error> {
        self.access.next_value_seed(ListSeed(target))
    }
}

/// Any JSON value. Text without escapes is borrowed.
pub(crate) enum Any<'a> {
    Text(Cow<'a, str>),
    List(Vec<Value>),
    /// An object, a number, a Boolean or `null`.
    Other(Value),
}

impl Default for Any<'_> {
    fn default() -> Self {
        Any::Other(Value::Null)
    }
}

impl<'a> Any<'a> {
    /// Returns text unchanged, `null` as empty text, and everything else as compact JSON.
    pub(crate) fn into_text(self) -> Cow<'a, str> {
        match self {
            Any::Text(text) => text,
            Any::Other(Value::Null) => Cow::Borrowed(""),
            Any::Other(value) => Cow::Owned(value.to_string()),
            Any::List(items) => Cow::Owned(Value::Array(items).to_string()),
        }
    }

    /// Returns the error for a value of the wrong type.
    pub(crate) fn invalid<E: Error>(&self, expected: &dyn Expected) -> E {
        let found = match self {
            Any::Text(_) => "text",
            Any::List(_) => "a list",
            Any::Other(Value::Object(_)) => "an object",
            Any::Other(_) => "a number, a boolean or null",
        };
        E::invalid_type(Unexpected::Other(found), expected)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Any<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyVisitor)
    }
}

struct AnyVisitor;

impl<'de> Visitor<'de> for AnyVisitor {
    type Value = Any<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_unit<E>(self) -> Result<Any<'de>, E> {
        Ok(Any::default())
    }

    fn visit_bool<E>(self, value: bool) -> Result<Any<'de>, E> {
        Ok(Any::Other(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Any<'de>, E> {
        Ok(Any::Other(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Any<'de>, E> {
        Ok(Any::Other(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Any<'de>, E> {
        Ok(Any::Other(value.into()))
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Any<'de>, E> {
        Ok(Any::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Any<'de>, E> {
        Ok(Any::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Any<'de>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            push(&mut list, item)?;
        }
        Ok(Any::List(list))
    }

    /// Numbers arrive here too if the `arbitrary_precision` feature of `serde_json` is enabled anywhere in the
    /// program.
    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Any<'de>, A::Error> {
        Value::deserialize(MapAccessDeserializer::new(fields)).map(Any::Other)
    }
}

fn push<T, E: Error>(list: &mut Vec<T>, item: T) -> Result<(), E> {
    if list.len() >= MAX_ITEMS {
        return Err(E::custom(format_args!(
            "more than {MAX_ITEMS} items in a list"
        )));
    }
    list.push(item);
    Ok(())
}

/// The name of a field, borrowed where possible.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Reads an object, or `None` for `null`.
pub(crate) struct ObjectSeed<'t, T>(pub(crate) &'t mut Option<T>);

impl<'de, T: Object<'de>> DeserializeSeed<'de> for ObjectSeed<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: Object<'de>> Visitor<'de> for ObjectSeed<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        *self.0 = None;
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let object = self.0.insert(T::default());
        while let Some(Name(name)) = fields.next_key()? {
            let access = &mut fields;
            object.read(Field { name, access })?;
        }
        Ok(())
    }
}

/// Reads a list of objects, or `None` for `null`.
pub(crate) struct ListSeed<'t, T>(pub(crate) &'t mut Option<Vec<T>>);

impl<'de, T: Object<'de>> DeserializeSeed<'de> for ListSeed<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de, T: Object<'de>> Visitor<'de> for ListSeed<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        *self.0 = None;
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        // Nearly all lists have exactly one item, which is large.
        let list = self.0.insert(Vec::with_capacity(1));
        let mut item = None;
        while items.next_element_seed(ObjectSeed(&mut item))?.is_some() {
            if let Some(item) = item.take() {
                push(list, item)?;
            }
        }
        Ok(())
    }
}

/// Parses a frame or a body into `object`, because an object is too large to move for every delta. `what` names it in
/// errors.
///
/// # Errors
/// `E_WIRE_ERROR` if it is not one JSON object, or a field has the wrong type.
pub(crate) fn parse<'c, 'a, T: Object<'a>>(
    what: &str,
    text: &'a str,
    object: &'c mut Option<T>,
) -> Result<&'c mut T, turnwright_core::Error> {
    if !text.starts_with('{') {
        return Err(unreadable(what, "it is not a JSON object", text));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let parsed = ObjectSeed(&mut *object).deserialize(&mut json);
    parsed.and_then(|()| json.end()).map_err(|error| {
        if error.is_data() {
            // The error message quotes the value.
            unreadable(what, &excerpt(&error.to_string(), EXCERPT), "")
        } else {
            unreadable(what, &error.to_string(), text)
        }
    })?;
    Ok(object.get_or_insert_default())
}
