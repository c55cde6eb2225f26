//! Who a turn acts for.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, ErrorCode};
use crate::validate::Violations;

/// The id of a person or a service: who a turn acts for ([`TurnInput::principal`](crate::TurnInput::principal)). Cheap to clone.
///
/// It is your text, such as the subject of a login; Turnwright compares it and knows nothing else of it. It has 1 to 256
/// characters, none of them control or invisible characters, and no space at either end. Ids are compared exactly: `ada` and `Ada` are two
/// principals. Like a conversation id, it is checked where it is used, and when
/// it is deserialised from a string.
///
/// ```
/// use turnwright_core::Principal;
///
/// let ada = Principal::new("ada");
/// assert_eq!((ada.as_str(), ada.to_string()), ("ada", "ada".to_owned()));
/// assert_eq!(serde_json::to_string(&ada).unwrap(), r#""ada""#);
/// for wrong in ["", "ada "] {
///     assert!(serde_json::from_value::<Principal>(wrong.into()).is_err());
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(inline)]
pub struct Principal(Arc<str>);

impl Principal {
    /// Creates a principal.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Principal(id.into())
    }

    /// Returns the id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Adds what is wrong with the id.
    pub(crate) fn check(&self, field: &str, wrong: &mut Violations) {
        wrong.check_named_id(field, &self.0);
        let is_trimmed = self.0.trim() == &*self.0;
        wrong.check(field, is_trimmed, "must not begin or end with a space");
    }

    /// Returns the principal if its id is valid.
    ///
    /// # Errors
    /// Returns `E_INVALID_TURN_CONTEXT` if it is empty, too long, or has characters that are not allowed.
    pub fn checked(self) -> Result<Self, Error> {
        let mut wrong = Violations::default();
        self.check("id", &mut wrong);
        wrong.finish(ErrorCode::INVALID_TURN_CONTEXT, "principal")?;
        Ok(self)
    }
}

impl AsRef<str> for Principal {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for Principal {
    fn from(id: &str) -> Self {
        Principal::new(id)
    }
}

impl From<String> for Principal {
    fn from(id: String) -> Self {
        Principal::new(id)
    }
}

impl From<&Principal> for Principal {
    fn from(principal: &Principal) -> Self {
        principal.clone()
    }
}

impl<'de> Deserialize<'de> for Principal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = String::deserialize(deserializer)?;
        let checked = Principal::new(id).checked();
        checked.map_err(|error| serde::de::Error::custom(error.message()))
    }
}
