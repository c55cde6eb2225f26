//! Leases.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::builder::Body;
use super::stored::{part, stored};
use crate::error::ErrorCode;
use crate::validate::Violations;

stored! {
    StoredLease as "Lease";
    /// The exclusive right to run turns of a conversation. There is one per conversation. Immutable.
    ///
    /// Another process may take over once it has seen no renewal for the complete lease duration: see
    /// [`observe_lease`](crate::store::observe_lease).
    #[derive(Clone, Debug)]
    #[non_exhaustive]
    pub struct Lease {
        pub(crate) id: Arc<str>,
        /// The turn that is running or was interrupted. `None` once it has ended.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub turn_id: Option<Arc<str>>,
        /// The unique name of the holder.
        pub owner: Arc<str>,
        /// The fencing token. It grows with every lease, so that the store can reject writes of earlier holders.
        pub fencing_token: u64,
        /// When the lease expires unless it is renewed, by the wall clock of its holder. For display only, because clocks differ and
        /// can be set.
        #[serde(with = "part")]
        pub until: SystemTime,
        /// The lease duration.
        #[serde(rename = "termMs", with = "part")]
        pub term: Duration,
        /// The number of renewals.
        pub renewals: u64,
    }
}

impl Lease {
    /// Maximum lease duration. A longer lease was written with a wrong clock.
    pub(crate) const MAX_TERM: Duration = Duration::from_secs(60 * 60);

    /// The id of the lease that runners use.
    pub const ID: &str = "lease";

    /// Returns the id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns whether the holder has released the lease.
    #[must_use]
    pub fn is_released(&self) -> bool {
        self.turn_id.is_none() || self.term.is_zero()
    }

    /// Estimates the remaining time by the wall clock. `None` if the lease was released or seems to have expired. For display
    /// only: [`observe_lease`](crate::store::observe_lease) decides whether it has expired.
    #[must_use]
    pub fn estimated_remaining(&self) -> Option<Duration> {
        if self.is_released() {
            return None;
        }
        let left = self.until.duration_since(SystemTime::now()).ok()?;
        let left = left.min(self.term).min(Lease::MAX_TERM);
        (!left.is_zero()).then_some(left)
    }
}

impl Body for Lease {
    const NAME: &'static str = "lease";
    const INVALID: ErrorCode = ErrorCode::STORE_ERROR;

    fn check(&mut self, wrong: &mut Violations) {
        wrong.check("id", !self.id.is_empty(), "must not be empty");
        wrong.check("owner", !self.owner.is_empty(), "must not be empty");
    }
}
