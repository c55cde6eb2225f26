//! Validation of values that come from the caller's code: arguments, gate answers, stash values, tool metadata.
//!
//! Text from a model goes through our own decoder. A [`Value`] that the caller built does not. It may be nested so
//! deeply that copying, writing or dropping it overflows the stack, or it may have an object key that `serde_json`
//! interprets when it reads the value back. Each entry point checks for both, once, with the functions below.

use std::fmt;

use serde_json::Value;

use super::decode::is_reserved;
use super::limits::MAX_DEPTH;
use super::raw::{dismantle, survey};

/// The reason why [`admit`] rejected a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Inadmissible {
    /// The value is nested too deeply.
    TooDeep {
        /// The levels of objects and arrays in the value.
        levels: usize,
        /// The maximum number of levels.
        most: usize,
    },
    /// An object in the value has a key that starts with `$serde_json::private::`.
    ReservedKey,
    /// A number in the value is outside the range of an `f64`. Only possible with the `arbitrary_precision` feature
    /// of `serde_json`.
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
                f.write_str("has a number outside the range of a 64-bit float: send it as a string")
            }
        }
    }
}

impl std::error::Error for Inadmissible {}

/// Returns the value if it can be processed and stored: at most 128 levels of objects and arrays, and no key that
/// starts with `$serde_json::private::`. All functions of this crate that accept a [`Value`] apply this check.
///
/// A rejected value is dropped without recursion, whatever its depth.
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
/// Returns the reason if the value is nested too deeply, has a reserved key, or has a number out of range.
pub fn admit(value: Value) -> Result<Value, Inadmissible> {
    admit_within(value, MAX_DEPTH)
}

/// Like [`admit`], with another maximum number of levels.
pub fn admit_within(value: Value, most: usize) -> Result<Value, Inadmissible> {
    match inspect(&value, most) {
        Ok(()) => Ok(value),
        Err(why) => {
            dismantle(value);
            Err(why)
        }
    }
}

/// Like [`admit_within`], for a borrowed value.
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

/// Like [`admit`], for a single object key.
pub fn admit_key(key: &str) -> Result<(), Inadmissible> {
    match is_reserved(key) {
        true => Err(Inadmissible::ReservedKey),
        false => Ok(()),
    }
}
