//! JSON text to a value: one pass that also counts levels and notices repeated keys.
//!
//! `serde_json::Value` keeps the last of two equal keys without a word and stops at 127 levels; a model's
//! text needs both said.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::pointer::{Pointer, join};

/// What a text said.
#[derive(Debug)]
pub struct Decoded {
    /// The value.
    pub value: Value,
    /// Some object has a key twice; the last one counted.
    pub(crate) repeats_keys: bool,
    /// Some number was written with a fraction or exponent and is whole all the same.
    pub(crate) whole_floats: bool,
    /// How deep it may be once text inside it is decoded: its own levels, or all that are allowed.
    pub(crate) depth: usize,
}

/// Why a text could not be decoded.
#[derive(Debug)]
pub enum DecodeError {
    /// More levels than allowed.
    TooDeep,
    /// An object has a name with which `serde_json` tells itself something: see [`is_reserved`].
    Reserved,
    /// Not JSON.
    NotJson(serde_json::Error),
}

/// Whether a name is one with which `serde_json` tells itself something, where one of its features is on in any package of a
/// program: what stands under it would be read as something else than what was checked.
pub(crate) fn is_reserved(name: &str) -> bool {
    name.starts_with("$serde_json::private::")
}

/// Decodes `text`, allowing `max_depth` levels.
///
/// # Errors
/// The text is not JSON, is too deep, or has a reserved name.
pub fn decode(text: &str, max_depth: usize) -> Result<Decoded, DecodeError> {
    let notes = Notes::default();
    let build = Build::<false> {
        notes: &notes,
        depth: 0,
        max_depth,
    };
    let value = run(text, build).map_err(|error| {
        if notes.too_deep.get() {
            DecodeError::TooDeep
        } else if notes.reserved.get() {
            DecodeError::Reserved
        } else {
            DecodeError::NotJson(error)
        }
    })?;
    Ok(Decoded {
        value,
        repeats_keys: notes.repeats_keys.get(),
        whole_floats: notes.whole_floats.get(),
        depth: if notes.holds_json.get() {
            max_depth
        } else {
            notes.depth.get()
        },
    })
}

/// Where the repeated keys of `text` stand: the first of them, and how many more there are. Decodes again, so that the
/// common case pays nothing for it.
pub(crate) fn repeated_keys(text: &str, max_depth: usize) -> (Vec<String>, usize) {
    let notes = Notes::default();
    let build = Build::<true> {
        notes: &notes,
        depth: 0,
        max_depth,
    };
    // The text was decoded before; were it to fail now, there would simply be no places to name.
    let _ = run(text, build);
    (notes.repeated.into_inner(), notes.more_repeated.get())
}

/// Places of repeated keys that are named. A place may be as long as the text.
const MOST_NAMED: usize = 20;

fn run<const TRACK: bool>(text: &str, seed: Build<'_, TRACK>) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // The seed counts levels itself, to our limit instead of the crate's.
    deserializer.disable_recursion_limit();
    let value = seed.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// The key under which `serde_json` hands over the digits of a number that 64 bits do not hold as an integer, where some
/// package of the program turns on its feature `arbitrary_precision`.
const NUMBER: &str = "$serde_json::private::Number";

/// Those digits. They come as an owned string, which text that is read from a `&str` never does: so an object in the text
/// that has the same key is told apart from a number.
struct Digits;

impl<'de> DeserializeSeed<'de> for Digits {
    type Value = String;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<String, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Visitor<'_> for Digits {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the digits of a number")
    }

    fn visit_str<E: serde::de::Error>(self, _: &str) -> Result<String, E> {
        Err(E::custom("a reserved name"))
    }

    fn visit_string<E>(self, digits: String) -> Result<String, E> {
        Ok(digits)
    }
}

#[derive(Default)]
struct Notes {
    too_deep: Cell<bool>,
    reserved: Cell<bool>,
    repeats_keys: Cell<bool>,
    whole_floats: Cell<bool>,
    place: RefCell<Pointer>,
    repeated: RefCell<Vec<String>>,
    more_repeated: Cell<usize>,
    depth: Cell<usize>,
    /// Some text in it begins like JSON.
    holds_json: Cell<bool>,
}

/// Builds one value; with `TRACK` it knows where it is.
struct Build<'n, const TRACK: bool> {
    notes: &'n Notes,
    depth: usize,
    max_depth: usize,
}

impl<const TRACK: bool> Build<'_, TRACK> {
    fn below<E: serde::de::Error>(&self) -> Result<Self, E> {
        if self.depth >= self.max_depth {
            self.notes.too_deep.set(true);
            return Err(E::custom("too deep"));
        }
        let depth = self.depth + 1;
        if depth > self.notes.depth.get() {
            self.notes.depth.set(depth);
        }
        Ok(Build {
            notes: self.notes,
            depth,
            max_depth: self.max_depth,
        })
    }

    /// A number, if that is what comes under [`NUMBER`], as the double that it is without the feature; an object of the text
    /// with that key is refused.
    fn number<'de, A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        self.notes.reserved.set(true);
        let digits = entries.next_value_seed(Digits)?;
        self.notes.reserved.set(false);
        let out_of_range = |_| serde::de::Error::custom("number out of range");
        self.visit_f64(digits.parse().map_err(out_of_range)?)
    }

    fn look_at(&self, text: &str) {
        if text.trim_start().starts_with(['{', '[']) {
            self.notes.holds_json.set(true);
        }
    }

    fn at<T>(&self, step: impl FnOnce(&mut Pointer), work: impl FnOnce() -> T) -> T {
        if !TRACK {
            return work();
        }
        let mark = self.notes.place.borrow().mark();
        step(&mut self.notes.place.borrow_mut());
        let result = work();
        self.notes.place.borrow_mut().back_to(mark);
        result
    }

    fn note_repeat(&self, key: &str) {
        let notes = self.notes;
        notes.repeats_keys.set(true);
        if TRACK && notes.repeated.borrow().len() >= MOST_NAMED {
            notes.more_repeated.set(notes.more_repeated.get() + 1);
        } else if TRACK {
            let place = join(notes.place.borrow().as_str(), key);
            notes.repeated.borrow_mut().push(place);
        }
    }
}

impl<'de, const TRACK: bool> DeserializeSeed<'de> for Build<'_, TRACK> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, const TRACK: bool> Visitor<'de> for Build<'_, TRACK> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        if value.fract() == 0.0 {
            self.notes.whole_floats.set(true);
        }
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        self.look_at(value);
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        self.look_at(&value);
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            let seed = self.below::<A::Error>()?;
            match self.at(
                |place| place.push_index(items.len()),
                || seq.next_element_seed(seed),
            )? {
                Some(item) => items.push(item),
                None => return Ok(Value::Array(items)),
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        let mut next = entries.next_key::<String>()?;
        if next.as_deref() == Some(NUMBER) {
            return self.number(entries);
        }
        // An empty object is a level too.
        self.below::<A::Error>()?;
        while let Some(key) = next {
            if is_reserved(&key) {
                self.notes.reserved.set(true);
                return Err(serde::de::Error::custom("a reserved name"));
            }
            let seed = self.below::<A::Error>()?;
            let value = self.at(
                |place| place.push_key(&key),
                || entries.next_value_seed(seed),
            )?;
            match map.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(mut entry) => {
                    self.note_repeat(entry.key());
                    entry.insert(value);
                }
            }
            next = entries.next_key()?;
        }
        Ok(Value::Object(map))
    }
}
