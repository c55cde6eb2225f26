//! Values of one turn that dispatches, handlers and middleware share.

use std::fmt;
use std::sync::Arc;

use parking_lot::RwLock;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::dot_path;
use crate::error::{Error, ErrorCode};
use crate::schema::escape;

/// JSON values by dot path. Clones share the content; values that are returned are copies.
///
/// ```
/// use turnwright_core::Stash;
/// use serde_json::json;
///
/// let stash = Stash::new();
/// stash.set("user.name", "Ada")?;
/// assert_eq!(stash.get("user"), Some(json!({ "name": "Ada" })));
/// // Atomic, even if handlers run concurrently:
/// stash.update("calls", |count| json!(count.and_then(|n| n.as_u64()).unwrap_or(0) + 1))?;
/// assert_eq!(stash.get_as::<u64>("calls"), Some(1));
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Stash(Arc<RwLock<Map<String, Value>>>);

impl Stash {
    /// Creates an empty stash.
    #[must_use]
    pub fn new() -> Self {
        Stash::default()
    }

    /// Returns a copy of the value at `path`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<Value> {
        dot_path::get(&self.0.read(), path).cloned()
    }

    /// Returns the value at `path` as a type, or `None` if there is no such value or it has another type.
    #[must_use]
    pub fn get_as<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        // Deserialise a copy: user code runs here, and may use this stash.
        T::deserialize(self.get(path)?).ok()
    }

    /// Returns whether there is a value at `path`.
    #[must_use]
    pub fn has(&self, path: &str) -> bool {
        dot_path::get(&self.0.read(), path).is_some()
    }

    /// Sets the value at `path` and creates missing objects. Returns the previous value.
    ///
    /// # Errors
    /// Returns `E_INVALID_STASH_PATH` and changes nothing if:
    ///
    /// - the path or one of its keys is empty,
    /// - the path goes through a value that is neither an object nor an item of an array.
    pub fn set(&self, path: &str, value: impl Into<Value>) -> Result<Option<Value>, Error> {
        let keys = keys_of(path)?;
        let value = value.into();
        self.at(path, &keys, |slot| std::mem::replace(slot, value))
            .map(|before| (!before.is_null()).then_some(before))
    }

    /// Replaces the value at `path` with the result of `change`. The update is atomic. `change` must not use this stash. If it
    /// panics, nothing is changed.
    ///
    /// # Errors
    /// See [`Stash::set`].
    pub fn update(
        &self,
        path: &str,
        change: impl FnOnce(Option<Value>) -> Value,
    ) -> Result<(), Error> {
        let keys = keys_of(path)?;
        self.at(path, &keys, |slot| {
            *slot = change((!slot.is_null()).then(|| slot.clone()));
        })
    }

    /// Removes the value at `path`. An item of an array becomes `null`.
    pub fn remove(&self, path: &str) -> Option<Value> {
        dot_path::remove(&mut self.0.write(), &dot_path::keys(path)?)
    }

    /// Returns a copy of all values.
    #[must_use]
    pub fn snapshot(&self) -> Map<String, Value> {
        self.0.read().clone()
    }

    /// Runs a function on the value at `path`.
    fn at<T>(
        &self,
        path: &str,
        keys: &[String],
        work: impl FnOnce(&mut Value) -> T,
    ) -> Result<T, Error> {
        let why = "goes through a value that has no such key: remove that value first";
        let mut root = self.0.write();
        let slot = dot_path::slot(&mut root, keys);
        slot.map(work).ok_or_else(|| wrong(path, why))
    }
}

/// Splits a path that a value can be set at into keys.
fn keys_of(path: &str) -> Result<Vec<String>, Error> {
    let empty = || wrong(path, "has an empty key: use the form `a.b.c`");
    dot_path::keys(path).ok_or_else(empty)
}

fn wrong(path: &str, why: &str) -> Error {
    let path = escape(path, 80);
    Error::new(ErrorCode::INVALID_STASH_PATH, format!("`{path}` {why}"))
}

impl fmt::Debug for Stash {
    /// Shows only the first keys: values may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.read().keys()).finish()
    }
}
