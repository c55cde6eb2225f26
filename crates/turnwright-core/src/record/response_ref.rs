//! The response that a record belongs to.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Exposure;
use crate::ids::new_id;
use crate::trust::TrustTier;
use crate::validate::Violations;

/// The model response that a record belongs to. Its thoughts, messages and tool calls have the same id, so that any protocol can
/// group them again. Cheap to clone.
///
/// ```
/// use turnwright_core::record::{Message, ResponseRef, Thought};
///
/// let response = ResponseRef::new().cut("it reached the token limit");
/// let thought = Thought::new("Rome has…").response(response.clone()).build()?;
/// let message = Message::assistant("Rome is").response(response).build()?;
/// assert_eq!(thought.response(), message.response());
/// assert_eq!(message.response().and_then(ResponseRef::why_cut), Some("it reached the token limit"));
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseRef {
    id: Arc<str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cut: Option<Arc<str>>,
    /// What the model read for it that is in no record. Stored with the records of the response.
    #[serde(skip)]
    pub(crate) exposure: Exposure,
}

impl ResponseRef {
    /// Creates a reference to a response, with a new id.
    #[must_use]
    #[expect(
        clippy::new_without_default,
        reason = "each one is different, which a default is not"
    )]
    pub fn new() -> Self {
        ResponseRef::with_id(new_id())
    }

    /// Creates a reference to the response with this id. Records whose response has an empty id are invalid.
    pub fn with_id(id: impl Into<Arc<str>>) -> Self {
        ResponseRef {
            id: id.into(),
            cut: None,
            exposure: Exposure::default(),
        }
    }

    /// Marks the response as cut off, with the reason for the model, such as "it reached the token limit".
    #[must_use]
    pub fn cut(mut self, why: impl Into<Arc<str>>) -> Self {
        self.cut = Some(why.into());
        self
    }

    /// Notes that the model has read content of this tier for the response that is in no record: what a tool returned that ran at
    /// the provider. Every record of the response is [exposed](Exposure) to it.
    #[must_use]
    pub fn exposed_to(mut self, tier: TrustTier) -> Self {
        self.exposure = self.exposure.and(Exposure::of_tier(tier));
        self
    }

    pub(super) fn check(response: Option<&Self>, wrong: &mut Violations) {
        let has_id = response.is_none_or(|response| !response.id.is_empty());
        wrong.check("response", has_id, "must have an id");
    }

    /// Returns the id of the response.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns why the response was cut off, if it was.
    #[must_use]
    pub fn why_cut(&self) -> Option<&str> {
        self.cut.as_deref()
    }
}
