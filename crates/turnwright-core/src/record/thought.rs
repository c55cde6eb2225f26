//! Thoughts of the model.

use std::time::SystemTime;

use super::builder::{Body, OfResponse, RecordBuilder, check_stamp, stamped};
use super::exposure::Exposure;
use super::provider_state::ProviderState;
use super::response_ref::ResponseRef;
use super::stored::{is_default, part, stored};
use crate::error::ErrorCode;
use crate::ids::new_id;
use crate::validate::Violations;

stored! {
    StoredThought as "Thought";
    /// What the model thought before it answered or called a tool. The text may be empty if the provider returns only opaque state.
    /// Immutable.
    ///
    /// ```
    /// use turnwright_core::record::Thought;
    ///
    /// let record = Thought::new("The user wants to know the weather.").build()?;
    /// assert_eq!(record.text(), "The user wants to know the weather.");
    /// # Ok::<(), turnwright_core::Error>(())
    /// ```
    #[derive(Clone)]
    pub struct Thought {
        id: String,
        #[serde(with = "part")]
        created_at: SystemTime,
        #[serde(with = "part")]
        updated_at: SystemTime,
        text: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        response: Option<ResponseRef>,
        #[serde(with = "part", default, skip_serializing_if = "Option::is_none")]
        provider_state: Option<ProviderState>,
        #[serde(default, skip_serializing_if = "is_default")]
        pub(super) exposure: Exposure,
    }
}

stamped!(Thought);

impl Thought {
    /// Starts a thought with this text.
    pub fn new(text: impl Into<String>) -> RecordBuilder<Self> {
        let now = SystemTime::now();
        RecordBuilder(Thought {
            id: new_id(),
            created_at: now,
            updated_at: now,
            text: text.into(),
            response: None,
            provider_state: None,
            exposure: Exposure::default(),
        })
    }

    /// Returns the text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the model response that it belongs to, if known.
    #[must_use]
    pub fn response(&self) -> Option<&ResponseRef> {
        self.response.as_ref()
    }

    /// Returns the state that the provider expects back.
    #[must_use]
    pub fn provider_state(&self) -> Option<&ProviderState> {
        self.provider_state.as_ref()
    }

    /// Returns what the model had read when it had the thought.
    #[must_use]
    pub fn exposure(&self) -> Exposure {
        self.exposure
    }
}

impl OfResponse for Thought {
    fn origin(&mut self) -> (&mut Option<ResponseRef>, &mut Option<ProviderState>) {
        (&mut self.response, &mut self.provider_state)
    }
}

impl Body for Thought {
    const NAME: &'static str = "thought";
    const INVALID: ErrorCode = ErrorCode::INVALID_INITIAL_THOUGHT_VALUE;

    fn check(&mut self, wrong: &mut Violations) {
        check_stamp(self, wrong);
        let says = !self.text.trim().is_empty() || self.provider_state.is_some();
        wrong.check("text", says, "must not be empty");
        ResponseRef::check(self.response.as_ref(), wrong);
    }
}

debug_fields!(Thought { id });
