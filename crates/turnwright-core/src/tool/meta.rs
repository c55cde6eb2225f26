//! What an author says of a tool for their own middleware.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::dot_path;

/// Facts about a tool, by dot path, interpreted by nobody here: scopes, flags, hints for telemetry.
///
/// ```
/// use turnwright_core::Meta;
/// use serde_json::json;
///
/// let meta = Meta::from(json!({ "rbac": { "scopes": ["read"] } }));
/// assert_eq!(meta.get("rbac.scopes.0"), Some(&json!("read")));
/// assert_eq!(meta.get_as::<Vec<String>>("rbac.scopes"), Some(vec!["read".to_owned()]));
/// ```
#[derive(Clone, Default, PartialEq)]
pub struct Meta(Option<Arc<Map<String, Value>>>);

impl Meta {
    /// What stands at `path`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Value> {
        dot_path::get(self.0.as_deref()?, path)
    }

    /// What stands at `path`, as a type; `None` if nothing does, or something else.
    #[must_use]
    pub fn get_as<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        T::deserialize(self.get(path)?).ok()
    }

    /// Whether anything was said at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.as_deref().is_none_or(Map::is_empty)
    }
}

impl From<Value> for Meta {
    /// An object as it is; anything else under the key `value`.
    fn from(value: Value) -> Self {
        match value {
            Value::Object(map) => Meta(Some(Arc::new(map))),
            Value::Null => Meta::default(),
            other => Meta(Some(Arc::new(Map::from_iter([(
                "value".to_owned(),
                other,
            )])))),
        }
    }
}

impl fmt::Debug for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.0.iter().flat_map(|map| map.keys()))
            .finish()
    }
}
