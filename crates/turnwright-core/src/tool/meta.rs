//! Metadata of a tool for the author's own middleware.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::dot_path;

/// Metadata of a tool, by dot path. Turnwright does not interpret it. Use it for permission scopes, flags or telemetry hints.
///
/// ```
/// use turnwright_core::tool::Meta;
/// use serde_json::json;
///
/// let meta = Meta::from(json!({ "rbac": { "scopes": ["read"] } }));
/// assert_eq!(meta.get("rbac.scopes.0"), Some(&json!("read")));
/// assert_eq!(meta.get_as::<Vec<String>>("rbac.scopes"), Some(vec!["read".to_owned()]));
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Meta(Option<Arc<Map<String, Value>>>);

impl Meta {
    /// Returns the value at `path`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Value> {
        dot_path::get(self.facts()?, path)
    }

    /// Returns the value at `path` as a type, or `None` if there is no such value or it has another type.
    #[must_use]
    pub fn get_as<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        T::deserialize(self.get(path)?).ok()
    }

    fn facts(&self) -> Option<&Map<String, Value>> {
        self.0.as_deref()
    }
}

impl From<Value> for Meta {
    /// Uses an object as it is. Any other value gets the key `value`.
    fn from(value: Value) -> Self {
        Meta(match value {
            Value::Null => None,
            Value::Object(map) => Some(Arc::new(map)),
            other => Some(Arc::new(Map::from_iter([("value".to_owned(), other)]))),
        })
    }
}

impl fmt::Debug for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.facts().into_iter().flat_map(Map::keys))
            .finish()
    }
}
