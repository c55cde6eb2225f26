//! The id and the times of a record.

use std::time::SystemTime;

use crate::ids::new_id;
use crate::validate::Violations;

/// An id and times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) id: String,
    pub(super) created_at: SystemTime,
    pub(super) updated_at: SystemTime,
}

impl Stamp {
    pub(super) fn new() -> Self {
        let now = SystemTime::now();
        Stamp {
            id: new_id(),
            created_at: now,
            updated_at: now,
        }
    }

    /// Checks the id, and puts the times in order: the clock may have been set back in between.
    pub(super) fn check(&mut self, wrong: &mut Violations) {
        wrong.check_id(&self.id);
        self.updated_at = self.updated_at.max(self.created_at);
    }
}

/// The methods that records with a [`Stamp`] and their builders share. A macro, so that they are listed on the page of each
/// type; a generic would need a public trait for them.
macro_rules! stamped {
    ($record:ident, $builder:ident) => {
        impl $record {
            /// Its id.
            #[must_use]
            pub fn id(&self) -> &str {
                &self.stamp.id
            }

            /// When it was created.
            #[must_use]
            pub fn created_at(&self) -> std::time::SystemTime {
                self.stamp.created_at
            }

            /// When it was last changed.
            #[must_use]
            pub fn updated_at(&self) -> std::time::SystemTime {
                self.stamp.updated_at
            }
        }

        impl $builder {
            /// Sets the id. Default: a new one.
            pub fn id(mut self, id: impl Into<String>) -> Self {
                self.0.stamp.id = id.into();
                self
            }

            /// Sets when it was created and last changed. Default: now.
            pub fn created_at(mut self, at: std::time::SystemTime) -> Self {
                self.0.stamp.created_at = at;
                self.0.stamp.updated_at = at;
                self
            }

            /// Sets when it was last changed. A time before `created_at` becomes `created_at`.
            pub fn updated_at(mut self, at: std::time::SystemTime) -> Self {
                self.0.stamp.updated_at = at;
                self
            }
        }
    };
}

pub(super) use stamped;
