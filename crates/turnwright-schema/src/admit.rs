//! Values that enter from the caller's code: arguments, answers at gates, stash values, tool metadata.
//!
//! Text from a model passes our own decoder. A [`Value`] that the caller built did not, and may hold what can be neither
//! handled nor stored: so much nesting that copying, writing or dropping it overflows the stack, or an object key that
//! `serde_json` interprets when it reads the value back. Each entry checks for both, once, with the functions below.

use std::fmt;

use serde_json::Value;

use super::decode::is_reserved;
use super::limits::MAX_DEPTH;
use super::raw::{dismantle, survey};

/// Why a value was not admitted: see [`admit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inadmissible {
    /// It is nested too deeply.
    TooDeep {
        /// Its levels of objects and arrays.
        levels: usize,
        /// How many are allowed.
        most: usize,
    },
    /// An object in it has a key that begins with `$serde_json::private::`.
    ReservedKey,
    /// A number in it is beyond the range of a double. Only possible with the feature `arbitrary_precision` of `serde_json`.
    NumberOutOfRange,
}

impl fmt::Display for Inadmissible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Inadmissible::TooDeep { levels, most } => {
                write!(f, "has {levels} levels: at most {most} are allowed")
            }
            Inadmissible::ReservedKey => f.write_str(
                "has a key that begins with `$serde_json::private::`, which serde_json interprets: rename it",
            ),
            Inadmissible::NumberOutOfRange => {
                f.write_str("has a number beyond the range of a double: give it as text")
            }
        }
    }
}

impl std::error::Error for Inadmissible {}

/// Returns the value if it can be handled and stored: at most 128 levels of objects and arrays, and no key that begins with
/// `$serde_json::private::`. Everything in this crate that takes a [`Value`] checks it like this.
///
/// A value that is refused is dropped without recursion, whatever its depth.
///
/// ```
/// use turnwright_schema::admit;
/// use serde_json::{Value, json};
///
/// assert_eq!(admit(json!({ "a": [1] })), Ok(json!({ "a": [1] })));
/// let deep = (0..100_000).fold(Value::Null, |value, _| Value::Array(vec![value]));
/// assert!(admit(deep).is_err());
/// ```
///
/// # Errors
/// Says what is wrong with the value.
pub fn admit(value: Value) -> Result<Value, Inadmissible> {
    admit_within(value, MAX_DEPTH)
}

/// As [`admit`], for another number of levels.
pub fn admit_within(value: Value, most: usize) -> Result<Value, Inadmissible> {
    match inspect(&value, most) {
        Ok(()) => Ok(value),
        Err(why) => {
            dismantle(value);
            Err(why)
        }
    }
}

/// The same of a value that belongs to the caller.
pub fn inspect(value: &Value, most: usize) -> Result<(), Inadmissible> {
    let survey = survey(value);
    if survey.depth > most {
        let levels = survey.depth;
        return Err(Inadmissible::TooDeep { levels, most });
    }
    if survey.reserved {
        return Err(Inadmissible::ReservedKey);
    }
    match survey.beyond_doubles {
        true => Err(Inadmissible::NumberOutOfRange),
        false => Ok(()),
    }
}

/// The same of a key alone.
pub fn admit_key(key: &str) -> Result<(), Inadmissible> {
    match is_reserved(key) {
        true => Err(Inadmissible::ReservedKey),
        false => Ok(()),
    }
}
