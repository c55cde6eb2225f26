//! What an author says of a tool for their own middleware.

use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::dot_path;
use crate::schema::{Inadmissible, admit};

/// Facts about a tool, by dot path. Turnwright does not interpret them: permission scopes, flags, hints for telemetry.
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
pub struct Meta(Option<Result<Arc<Map<String, Value>>, Inadmissible>>);

impl Meta {
    /// What stands at `path`.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<&Value> {
        dot_path::get(self.facts()?, path)
    }

    /// What stands at `path`, as a type; `None` if nothing does, or something else.
    #[must_use]
    pub fn get_as<T: DeserializeOwned>(&self, path: &str) -> Option<T> {
        T::deserialize(self.get(path)?).ok()
    }

    /// Whether anything was said at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.facts().is_none_or(Map::is_empty)
    }

    fn facts(&self) -> Option<&Map<String, Value>> {
        self.0.as_ref()?.as_deref().ok()
    }

    /// Why it was not taken, if it was not.
    pub(super) fn refused(&self) -> Option<Inadmissible> {
        self.0.as_ref()?.as_ref().err().copied()
    }
}

impl From<Value> for Meta {
    /// An object as it is; anything else under the key `value`. A value that [`admit`] refuses is dropped, and
    /// [`ToolBuilder::build`](crate::ToolBuilder::build) says why.
    fn from(value: Value) -> Self {
        let facts = match admit(value) {
            Ok(Value::Null) => return Meta::default(),
            Ok(Value::Object(map)) => Ok(Arc::new(map)),
            Ok(other) => Ok(Arc::new(Map::from_iter([("value".to_owned(), other)]))),
            Err(why) => Err(why),
        };
        Meta(Some(facts))
    }
}

impl fmt::Debug for Meta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set()
            .entries(self.facts().into_iter().flat_map(Map::keys))
            .finish()
    }
}
