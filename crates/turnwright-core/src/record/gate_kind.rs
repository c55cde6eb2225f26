//! The kind of a gate.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::stored::AsText;

/// The kind of a gate. Stored and serialised by name.
///
/// ```
/// use turnwright_core::gate::GateKind;
///
/// assert_eq!(GateKind::from("approval"), GateKind::Approval);
/// assert_eq!(GateKind::from("delivery_address").as_str(), "delivery_address");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum GateKind {
    /// Whether a call may run. Opened when a policy requires approval. Named `approval`.
    Approval,
    /// Whether a call of a dead process took effect. Opened by [`ask_operator`](crate::tool::reconcile::ask_operator). Named
    /// `unknown_call`.
    UnknownCall,
    /// A gate of a handler or of middleware, with a custom name.
    Custom(Arc<str>),
}

impl GateKind {
    /// The name of [`GateKind::Approval`].
    const APPROVAL: &str = "approval";
    /// The name of [`GateKind::UnknownCall`].
    const UNKNOWN_CALL: &str = "unknown_call";

    /// Returns the name that is stored and displayed.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            GateKind::Approval => GateKind::APPROVAL,
            GateKind::UnknownCall => GateKind::UNKNOWN_CALL,
            GateKind::Custom(name) => name,
        }
    }
}

impl From<&str> for GateKind {
    fn from(name: &str) -> Self {
        GateKind::from(Arc::<str>::from(name))
    }
}

impl From<String> for GateKind {
    fn from(name: String) -> Self {
        GateKind::from(Arc::<str>::from(name))
    }
}

impl From<Arc<str>> for GateKind {
    fn from(name: Arc<str>) -> Self {
        match &*name {
            GateKind::APPROVAL => GateKind::Approval,
            GateKind::UNKNOWN_CALL => GateKind::UnknownCall,
            _ => GateKind::Custom(name),
        }
    }
}

impl fmt::Display for GateKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for GateKind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.as_str())
    }
}

impl AsText for GateKind {
    const EXPECTED: &'static str = "the kind of a gate";

    fn parse(text: &str) -> Option<Self> {
        (!text.is_empty()).then(|| text.into())
    }

    fn to_text(&self) -> Result<Cow<'_, str>, String> {
        Ok(self.as_str().into())
    }
}
