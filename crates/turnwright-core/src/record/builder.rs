//! What all records have, and the builder of those with times.

use std::sync::Arc;
use std::time::SystemTime;

use super::stored::Stored;
use super::{ProviderState, ResponseRef};
use crate::artifact::SpooledArtifact;
use crate::error::{Error, ErrorCode};
use crate::media::Media;
use crate::validate::Violations;

/// A record of any type. Public only as a bound: this module is private.
pub trait Body: Stored + Clone {
    /// The name in error messages.
    const NAME: &'static str;
    /// The error code for an invalid record.
    const INVALID: ErrorCode;

    /// Validates the record, after it was built or read. Also puts times in order: the clock may have been set back in between.
    fn check(&mut self, wrong: &mut Violations);

    fn validate(&mut self) -> Result<(), Error> {
        let mut wrong = Violations::default();
        self.check(&mut wrong);
        wrong.finish(Self::INVALID, Self::NAME)
    }

    fn artifacts_mut(&mut self) -> &mut [SpooledArtifact] {
        &mut []
    }

    fn media_mut(&mut self) -> &mut [Media] {
        &mut []
    }
}

/// A record with an id and times that a builder sets. Public only as a bound: this module is private.
pub trait Stamped: Body {
    /// Returns the id, when it was created and when it was last changed.
    fn stamp(&mut self) -> (&mut String, &mut SystemTime, &mut SystemTime);

    /// Validates what is required of a new record only.
    fn check_new(&self, _wrong: &mut Violations) {}
}

/// A record that can be part of a model response. Public only as a bound: this module is private.
pub trait OfResponse: Stamped {
    /// Returns the response that it belongs to, and the state that the provider expects back.
    fn origin(&mut self) -> (&mut Option<ResponseRef>, &mut Option<ProviderState>);
}

/// Adds the id and the times to a record.
macro_rules! stamped {
    ($record:ident $(, $check_new:item)?) => {
        impl $record {
            /// Returns the id.
            #[must_use]
            pub fn id(&self) -> &str {
                &self.id
            }

            /// Returns when it was created.
            #[must_use]
            pub fn created_at(&self) -> SystemTime {
                self.created_at
            }

            /// Returns when it was last changed.
            #[must_use]
            pub fn updated_at(&self) -> SystemTime {
                self.updated_at
            }
        }

        impl crate::record::builder::Stamped for $record {
            fn stamp(&mut self) -> (&mut String, &mut SystemTime, &mut SystemTime) {
                (&mut self.id, &mut self.created_at, &mut self.updated_at)
            }

            $($check_new)?
        }
    };
}

pub(super) use stamped;

/// Checks the id, and puts the times in order.
pub(super) fn check_stamp(record: &mut impl Stamped, wrong: &mut Violations) {
    let (id, created_at, updated_at) = record.stamp();
    wrong.check_id(id);
    *updated_at = (*updated_at).max(*created_at);
}

/// Builds a record: a [`Message`](super::Message), a [`ToolCall`](super::ToolCall), a [`Memory`](super::Memory), a
/// [`Thought`](super::Thought), a [`Retrievable`](super::Retrievable) or a [`StandingInstruction`](super::StandingInstruction).
/// Returned by constructors such as [`Message::user`](super::Message::user).
///
/// ```
/// use turnwright_core::record::Memory;
///
/// let memory = Memory::new("The user likes short answers.").id("style").build()?;
/// assert_eq!(memory.id(), "style");
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Debug)]
#[must_use = "a builder does nothing until `build` is called"]
pub struct RecordBuilder<R>(pub(super) R);

impl<R: Stamped> RecordBuilder<R> {
    /// Sets the id.
    ///
    /// Default: a new id.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        *self.0.stamp().0 = id.into();
        self
    }

    /// Sets when the record was created and last changed.
    ///
    /// Default: now.
    pub fn created_at(mut self, at: SystemTime) -> Self {
        let (_, created_at, updated_at) = self.0.stamp();
        (*created_at, *updated_at) = (at, at);
        self
    }

    /// Sets when the record was last changed. A time before `created_at` becomes `created_at`.
    pub fn updated_at(mut self, at: SystemTime) -> Self {
        *self.0.stamp().2 = at;
        self
    }

    /// Builds the record.
    ///
    /// # Errors
    /// Returns `E_INVALID_INITIAL_MESSAGE_VALUE`, or the corresponding code of another kind. The error lists all invalid fields.
    pub fn build(mut self) -> Result<Arc<R>, Error> {
        let mut wrong = Violations::default();
        self.0.check_new(&mut wrong);
        self.0.check(&mut wrong);
        wrong.finish(R::INVALID, R::NAME)?;
        Ok(Arc::new(self.0))
    }
}

impl<R: OfResponse> RecordBuilder<R> {
    pub(crate) fn of_response(
        mut self,
        response: Option<ResponseRef>,
        state: Option<ProviderState>,
    ) -> Self {
        let origin = self.0.origin();
        (*origin.0, *origin.1) = (response, state);
        self
    }

    /// Sets the model response that it belongs to. All records of a response share it.
    pub fn response(mut self, response: ResponseRef) -> Self {
        *self.0.origin().0 = Some(response);
        self
    }

    /// Sets the state that the provider expects back.
    pub fn provider_state(mut self, state: ProviderState) -> Self {
        *self.0.origin().1 = Some(state);
        self
    }
}
