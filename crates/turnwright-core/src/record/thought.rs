//! Thoughts of the model.

use std::time::SystemTime;

use super::builder::{Build, RecordBuilder};
use super::exposure::Exposure;
use super::provider_state::ProviderState;
use super::response_ref::ResponseRef;
use super::stamp::Stamp;
use crate::error::ErrorCode;
use crate::validate::Violations;

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
    pub(super) stamp: Stamp,
    text: String,
    response: Option<ResponseRef>,
    provider_state: Option<ProviderState>,
    pub(super) exposure: Exposure,
}

impl Thought {
    /// Starts a thought with this text.
    pub fn new(text: impl Into<String>) -> RecordBuilder<Self> {
        Thought::stamped(text.into(), Stamp::new())
    }

    /// Starts a record with an existing id and times.
    pub(super) fn stamped(text: String, stamp: Stamp) -> RecordBuilder<Self> {
        RecordBuilder(Thought {
            stamp,
            text,
            response: None,
            provider_state: None,
            exposure: Exposure::default(),
        })
    }

    /// Returns the id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.stamp.id
    }

    /// Returns when it was created.
    #[must_use]
    pub fn created_at(&self) -> SystemTime {
        self.stamp.created_at
    }

    /// Returns when it was last changed.
    #[must_use]
    pub fn updated_at(&self) -> SystemTime {
        self.stamp.updated_at
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

    /// Returns the id of the model response that it belongs to, if known.
    #[must_use]
    pub fn response_id(&self) -> Option<&str> {
        self.response().map(ResponseRef::id)
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

impl RecordBuilder<Thought> {
    /// Sets the model response that it belongs to and the state that its provider expects back, if known.
    pub(crate) fn of_response(
        mut self,
        response: Option<ResponseRef>,
        state: Option<ProviderState>,
    ) -> Self {
        (self.0.response, self.0.provider_state) = (response, state);
        self
    }

    /// Sets the model response that it belongs to.
    pub fn response(mut self, response: ResponseRef) -> Self {
        self.0.response = Some(response);
        self
    }

    /// Sets the state that the provider expects back.
    pub fn provider_state(mut self, state: ProviderState) -> Self {
        self.0.provider_state = Some(state);
        self
    }
}

impl Build for Thought {
    const NAME: &'static str = "thought";
    const INVALID: ErrorCode = ErrorCode::INVALID_INITIAL_THOUGHT_VALUE;

    fn stamp_mut(&mut self) -> &mut Stamp {
        &mut self.stamp
    }

    fn check(&self, wrong: &mut Violations) {
        let says = !self.text.trim().is_empty() || self.provider_state.is_some();
        wrong.check("text", says, "must not be empty");
        ResponseRef::check(self.response.as_ref(), wrong);
    }
}

debug_fields!(Thought { stamp.id });
