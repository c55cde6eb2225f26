//! The builder of records.

use std::sync::Arc;
use std::time::SystemTime;

use super::stamp::Stamp;
use crate::error::{Error, ErrorCode};
use crate::validate::Violations;

/// Builds a record: a [`Message`](super::Message), a [`Memory`](super::Memory), a [`Thought`](super::Thought), a
/// [`Retrievable`](super::Retrievable) or a [`StandingInstruction`](super::StandingInstruction). Returned by constructors such as
/// [`Message::user`](super::Message::user).
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

/// A record that can be built. Public only as a bound: this module is private.
pub trait Build: Sized {
    /// The name in error messages.
    const NAME: &'static str;
    /// The error code for an invalid record.
    const INVALID: ErrorCode;

    fn stamp_mut(&mut self) -> &mut Stamp;

    /// Validates everything except the stamp.
    fn check(&self, wrong: &mut Violations);
}

impl<R: Build> RecordBuilder<R> {
    /// Sets the id.
    ///
    /// Default: a new id.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.0.stamp_mut().id = id.into();
        self
    }

    /// Sets when the record was created and last changed.
    ///
    /// Default: now.
    pub fn created_at(mut self, at: SystemTime) -> Self {
        let stamp = self.0.stamp_mut();
        (stamp.created_at, stamp.updated_at) = (at, at);
        self
    }

    /// Sets when the record was last changed. A time before `created_at` becomes `created_at`.
    pub fn updated_at(mut self, at: SystemTime) -> Self {
        self.0.stamp_mut().updated_at = at;
        self
    }

    /// Builds the record.
    ///
    /// # Errors
    /// Returns `E_INVALID_INITIAL_MESSAGE_VALUE`, or the corresponding code of another kind. The error lists all invalid fields.
    pub fn build(mut self) -> Result<Arc<R>, Error> {
        let mut wrong = Violations::default();
        self.0.stamp_mut().check(&mut wrong);
        self.0.check(&mut wrong);
        wrong.finish(R::INVALID, R::NAME)?;
        Ok(Arc::new(self.0))
    }
}
