//! How the fields of a chunk are read: forgiving where servers differ, borrowing where nothing is escaped.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Unexpected, Visitor,
};
use serde_json::Value;

/// Makes a struct that is read from an object: `null` is an empty one, unknown fields are skipped, and of a field that
/// stands there twice the last counts.
macro_rules! object {
    ($(#[$doc:meta])* $name:ident { $($(#[$field_doc:meta])* $wire:literal => $field:ident: $type:ty,)+ }) => {
        $(#[$doc])*
        #[derive(Default)]
        pub(super) struct $name<'a> {
            $($(#[$field_doc])* pub(super) $field: $type,)+
        }

        impl<'de: 'a, 'a> serde::Deserialize<'de> for $name<'a> {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let mut read = $name::default();
                Self::deserialize_in_place(from, &mut read)?;
                Ok(read)
            }

            fn deserialize_in_place<D: serde::Deserializer<'de>>(
                from: D,
                place: &mut Self,
            ) -> Result<(), D::Error> {
                struct Reader<'p, 'a>(&'p mut $name<'a>);

                impl<'de: 'a, 'a> serde::de::Visitor<'de> for Reader<'_, 'a> {
                    type Value = ();

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str("an object")
                    }

                    fn visit_unit<E>(self) -> Result<(), E> {
                        *self.0 = $name::default();
                        Ok(())
                    }

                    fn visit_map<A>(self, mut map: A) -> Result<(), A::Error>
                    where
                        A: serde::de::MapAccess<'de>,
                    {
                        use $crate::chat_completions::decode::shape::{InPlace, Key};
                        let read = self.0;
                        *read = $name::default();
                        while let Some(Key(key)) = map.next_key()? {
                            match &*key {
                                $($wire => map.next_value_seed(InPlace(&mut read.$field))?,)+
                                _ => {
                                    map.next_value::<serde::de::IgnoredAny>()?;
                                }
                            }
                        }
                        Ok(())
                    }
                }

                from.deserialize_any(Reader(place))
            }
        }
    };
}
pub(super) use object;

/// The name of a field.
pub(super) struct Key<'a>(pub(super) Cow<'a, str>);

/// Reads a value where it is to stand, instead of moving it there.
pub(super) struct InPlace<'p, T>(pub(super) &'p mut T);

/// What may be left out, or `null`.
pub(super) struct Told<T>(pub(super) Option<T>);

/// Text. `null` is no text, and a number is its digits.
#[derive(Default)]
pub(super) struct Text<'a>(Option<Cow<'a, str>>);

/// The items of a list. `null` is none.
pub(super) struct List<T>(pub(super) Vec<T>);

/// Whether there is something: not `null`, `false`, nor empty.
#[derive(Clone, Copy, Default)]
pub(super) struct Present(pub(super) bool);

/// Which of several, however it is written. It stands in every chunk, and is read the quick way.
#[derive(Clone, Copy, Default)]
pub(super) struct Index(pub(super) Option<u64>);

/// A count, however it is written. What is no number is none, and what is too large is as large as can be.
#[derive(Clone, Copy, Default)]
pub(super) struct Count(pub(super) Option<u64>);

impl<'a> Text<'a> {
    /// The text, unless it is empty.
    pub(super) fn said(self) -> Option<Cow<'a, str>> {
        self.0.filter(|text| !text.is_empty())
    }

    /// As [`Text::said`], of what is only borrowed.
    pub(super) fn take(&mut self) -> Option<Cow<'a, str>> {
        std::mem::take(self).said()
    }
}

impl<T> Default for List<T> {
    fn default() -> Self {
        List(Vec::new())
    }
}

impl<T> Default for Told<T> {
    fn default() -> Self {
        Told(None)
    }
}

impl<'de, T: Deserialize<'de>> DeserializeSeed<'de> for InPlace<'_, T> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        T::deserialize_in_place(from, self.0)
    }
}

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Told<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Option::deserialize(from).map(Told)
    }

    fn deserialize_in_place<D: Deserializer<'de>>(
        from: D,
        place: &mut Self,
    ) -> Result<(), D::Error> {
        from.deserialize_option(ToldOrNull(&mut place.0))
    }
}

struct ToldOrNull<'p, T>(&'p mut Option<T>);

impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for ToldOrNull<'_, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or null")
    }

    fn visit_none<E>(self) -> Result<(), E> {
        *self.0 = None;
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        *self.0 = None;
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        T::deserialize_in_place(from, self.0.insert(T::default()))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Key<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(AnyText).map(Key)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_option(TextOrNull).map(Text)
    }
}

/// Borrows where it can; `Cow` by itself would not.
struct AnyText;

impl<'de> Visitor<'de> for AnyText {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Cow::Owned(text.to_owned()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Cow::Owned(number.to_string()))
    }
}

struct TextOrNull;

impl<'de> Visitor<'de> for TextOrNull {
    type Value = Option<Cow<'de, str>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or null")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
        from.deserialize_any(AnyText).map(Some)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_option(ItemsOrNull(PhantomData)).map(List)
    }
}

struct ItemsOrNull<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ItemsOrNull<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or null")
    }

    fn visit_none<E>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_unit<E>(self) -> Result<Vec<T>, E> {
        Ok(Vec::new())
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Vec<T>, D::Error> {
        from.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            within_most(list.len())?;
            list.push(item);
        }
        Ok(list)
    }
}

/// The most calls, parts or details that one piece of a response may list: an item of two bytes takes hundreds in memory.
const MOST_LISTED: usize = 1_000;

pub(super) fn within_most<E: de::Error>(listed: usize) -> Result<(), E> {
    match listed < MOST_LISTED {
        true => Ok(()),
        false => Err(E::custom(format_args!(
            "more than {MOST_LISTED} items in a list"
        ))),
    }
}

impl<'de> Deserialize<'de> for Present {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(IsThere).map(Present)
    }
}

struct IsThere;

impl<'de> Visitor<'de> for IsThere {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_bool<E>(self, it: bool) -> Result<bool, E> {
        Ok(it)
    }

    fn visit_str<E>(self, text: &str) -> Result<bool, E> {
        Ok(!text.is_empty())
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(true)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<bool, A::Error> {
        let mut any = false;
        while items.next_element::<de::IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(any)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<bool, A::Error> {
        let mut any = false;
        while fields
            .next_entry::<de::IgnoredAny, de::IgnoredAny>()?
            .is_some()
        {
            any = true;
        }
        Ok(any)
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyCount).map(Count)
    }
}

struct AnyCount;

/// Rounds towards zero and stays in range; below zero is zero.
fn whole(number: f64) -> Option<u64> {
    (!number.is_nan()).then_some(number as u64)
}

impl<'de> Visitor<'de> for AnyCount {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a count")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(number))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Self::Value, E> {
        Ok(Some(u64::try_from(number).unwrap_or(0)))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok(whole(number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        let digits = text.parse().ok();
        Ok(digits.or_else(|| whole(text.parse().ok()?)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        while items.next_element::<de::IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        // So a fraction comes where a package of the program has `serde_json` keep all digits.
        let value = Value::deserialize(MapAccessDeserializer::new(fields))?;
        Ok(value.as_f64().and_then(whole))
    }
}

impl<'de> Deserialize<'de> for Index {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(AnyIndex).map(Index)
    }
}

struct AnyIndex;

impl<'de> Visitor<'de> for AnyIndex {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an index")
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_u64<E>(self, number: u64) -> Result<Self::Value, E> {
        Ok(Some(number))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_f64<E>(self, number: f64) -> Result<Self::Value, E> {
        Ok((number >= 0.0).then_some(number as u64))
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Self::Value, A::Error> {
        // As of a count.
        match Value::deserialize(MapAccessDeserializer::new(fields))?.as_f64() {
            Some(number) => self.visit_f64(number),
            None => Err(de::Error::invalid_type(Unexpected::Map, &self)),
        }
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(text.parse().ok())
    }
}
