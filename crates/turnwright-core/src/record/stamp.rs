//! The id and the times of a record.

use std::time::SystemTime;

use crate::ids::new_id;
use crate::validate::Violations;

/// An id and times. Public only as a part of [`Build`](super::builder::Build).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stamp {
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

    /// Checks the id, and orders the times: the clock may have been set back in between.
    pub(super) fn check(&mut self, wrong: &mut Violations) {
        wrong.check_id(&self.id);
        self.updated_at = self.updated_at.max(self.created_at);
    }
}
