//! Decodes JSON text in one pass that also counts levels and detects repeated keys.
//!
//! `serde_json::Value` silently keeps the last of two equal keys and fails at 128 levels. For text from a model both
//! must be reported.

use std::cell::{Cell, RefCell};
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

use super::pointer::{Pointer, join};

/// Arguments that were decoded: JSON within the limits.
pub struct Opened {
    /// The value.
    pub value: Value,
    /// Some object has a key twice; the last one won.
    pub(crate) repeats_keys: bool,
    /// Some whole number is written with a fraction or exponent.
    pub(crate) whole_floats: bool,
    /// The maximum depth once JSON inside strings is decoded: the text's own depth, or the limit if some string may
    /// hold JSON.
    pub(crate) depth: usize,
}

impl Opened {
    /// Returns empty arguments (`{}`).
    #[doc(hidden)]
    pub fn nothing() -> Self {
        Opened {
            value: Value::Object(Map::new()),
            whole_floats: false,
            repeats_keys: false,
            depth: 1,
        }
    }
}

// Arguments may contain secrets.
debug_fields!(Opened {});

/// The reason why a text could not be decoded.
#[derive(Debug)]
pub enum DecodeError {
    /// The text has more levels than allowed.
    TooDeep,
    /// An object has a key that `serde_json` reserves: see [`is_reserved`].
    Reserved,
    /// The text is not JSON.
    NotJson(serde_json::Error),
}

/// Returns `true` for keys that `serde_json` interprets if one of its features is enabled anywhere in the program.
/// The value under such a key would be read back as something other than what was checked.
pub(crate) fn is_reserved(name: &str) -> bool {
    name.starts_with("$serde_json::private::")
}

/// Decodes `text`, allowing at most `max_depth` levels.
///
/// # Errors
/// Fails if the text is not JSON, is too deep, or has a reserved key.
pub fn decode(text: &str, max_depth: usize) -> Result<Opened, DecodeError> {
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
    Ok(Opened {
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

/// Returns the pointers of the first repeated keys in `text`, and how many more there are. Decodes a second time, so
/// that the common case pays nothing for it.
pub(crate) fn repeated_keys(text: &str, max_depth: usize) -> (Vec<String>, usize) {
    let notes = Notes::default();
    let build = Build::<true> {
        notes: &notes,
        depth: 0,
        max_depth,
    };
    // The text was decoded before. If it fails now, there are simply no pointers to report.
    let _ = run(text, build);
    (notes.repeated.into_inner(), notes.more_repeated.get())
}

/// The maximum number of repeated keys that are reported. A pointer can be as long as the text.
const MAX_REPORTED: usize = 20;

fn run<const TRACK: bool>(text: &str, seed: Build<'_, TRACK>) -> Result<Value, serde_json::Error> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // The seed counts levels itself, against our limit instead of the crate's.
    deserializer.disable_recursion_limit();
    let value = seed.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok(value)
}

/// The key under which `serde_json` passes the digits of a number that does not fit into 64 bits, if the
/// `arbitrary_precision` feature is enabled anywhere in the program.
const NUMBER: &str = "$serde_json::private::Number";

/// Reads those digits. They arrive as an owned string, which never happens for text that is read from a `&str`. This
/// distinguishes a number from an object in the text that has the same key.
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
        Err(E::custom("a reserved key"))
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
    /// Some string starts like JSON.
    holds_json: Cell<bool>,
}

/// Builds one value. With `TRACK` it also tracks its location.
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

    /// Returns the number passed under [`NUMBER`] as the `f64` that it would be without the feature. An object in the
    /// text that has this key is rejected.
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
        if TRACK && notes.repeated.borrow().len() >= MAX_REPORTED {
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
                return Err(serde::de::Error::custom("a reserved key"));
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
