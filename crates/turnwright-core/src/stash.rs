//! What belongs to a turn and is seen by its dispatches and handlers.
//!
//! ```
//! use turnwright_core::Stash;
//! use serde_json::json;
//!
//! let stash = Stash::new();
//! stash.set("user.name", "Ada")?;
//! assert_eq!(stash.get("user"), Some(json!({ "name": "Ada" })));
//! // Atomic, also when handlers run side by side:
//! stash.update("calls", |count| json!(count.and_then(|n| n.as_u64()).unwrap_or(0) + 1))?;
//! assert_eq!(stash.get_as::<u64>("calls"), Some(1));
//! # Ok::<(), turnwright_core::Error>(())
//! ```

use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::dot_path;
use crate::error::{Error, ErrorCode};
use crate::schema::{Inadmissible, MAX_DEPTH, admit_key, admit_within, escape};

/// JSON values by dot path. Clones share it; what you take out is yours.
#[derive(Clone, Default)]
pub struct Stash(Arc<RwLock<Map<String, Value>>>);

impl Stash {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Stash::default()
    }

    /// A copy of what stands at `path`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<Value> {
        dot_path::get(&self.0.read(), path).cloned()
    }

    /// What stands at `path`, as a type; `None` if nothing does, or something else.
    #[must_use]
    pub fn get_as<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        // A copy: deserialising is foreign code, and may use this stash.
        T::deserialize(self.get(path)?).ok()
    }

    /// Whether something stands at `path`.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        dot_path::get(&self.0.read(), path).is_some()
    }

    /// Puts a value at `path`, making objects on the way; gives what stood there.
    ///
    /// # Errors
    /// `E_INVALID_STASH_PATH` for an empty path or key, or where the way leads through something that is neither an
    /// object nor an item of an array, or for a value that [`admit`](crate::schema::admit) refuses, or that would be
    /// deeper than 128 levels with
    /// its path. Nothing is changed then.
    pub fn set(&self, path: &str, value: impl Into<Value>) -> Result<Option<Value>, Error> {
        let keys = keys_of(path)?;
        let value = admitted(path, &keys, value.into())?;
        self.at(path, &keys, |slot| std::mem::replace(slot, value))
            .map(|before| (!before.is_null()).then_some(before))
    }

    /// Replaces what stands at `path` by what `change` makes of it. Nobody sees a state in between; `change` must not
    /// use this stash. If it panics, nothing has changed.
    ///
    /// # Errors
    /// As [`Stash::set`].
    pub fn update(
        &self,
        path: &str,
        change: impl FnOnce(Option<Value>) -> Value,
    ) -> Result<(), Error> {
        let keys = keys_of(path)?;
        self.at(path, &keys, |slot| {
            let changed = change((!slot.is_null()).then(|| slot.clone()));
            *slot = admitted(path, &keys, changed)?;
            Ok(())
        })?
    }

    /// Takes away what stands at `path`; an item of an array leaves `null` behind.
    pub fn remove(&self, path: &str) -> Option<Value> {
        dot_path::remove(&mut self.0.write(), &dot_path::keys(path)?)
    }

    /// A copy of everything.
    #[must_use]
    pub fn snapshot(&self) -> Map<String, Value> {
        self.0.read().clone()
    }

    /// Works on what stands at `path`.
    fn at<T>(
        &self,
        path: &str,
        keys: &[String],
        work: impl FnOnce(&mut Value) -> T,
    ) -> Result<T, Error> {
        let why = "leads through a value that has no such part: remove that value first";
        let mut root = self.0.write();
        let slot = dot_path::slot(&mut root, keys);
        slot.map(work).ok_or_else(|| wrong(path, why))
    }
}

/// The keys of a path that a value can be put at.
fn keys_of(path: &str) -> Result<Vec<String>, Error> {
    let empty = || wrong(path, "has an empty key: write `a.b.c`");
    let keys = dot_path::keys(path).ok_or_else(empty)?;
    if keys.len() > MAX_DEPTH {
        return Err(wrong(path, "has more than 128 keys: keep it flat"));
    }
    match keys.iter().try_for_each(|key| admit_key(key)) {
        Ok(()) => Ok(keys),
        Err(why) => Err(wrong(path, &why.to_string())),
    }
}

/// The value, if it can be kept below these keys.
fn admitted(path: &str, keys: &[String], value: Value) -> Result<Value, Error> {
    let room = MAX_DEPTH.saturating_sub(keys.len());
    admit_within(value, room).map_err(|why| refused(path, why))
}

pub(crate) fn refused(path: &str, why: Inadmissible) -> Error {
    wrong(path, &format!("is given a value that {why}"))
}

fn wrong(path: &str, why: &str) -> Error {
    let path = escape(path, 80);
    Error::new(ErrorCode::INVALID_STASH_PATH, format!("`{path}` {why}"))
}

impl fmt::Debug for Stash {
    /// Values may be secrets: only the first keys are shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.read().keys()).finish()
    }
}
