//! The exclusive right to run a conversation's turns.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The exclusive right to run a conversation's turns. One for each conversation. Immutable.
///
/// Another process may take it over once it has seen no renewal for the whole term:
/// [`observe_lease`](crate::store::observe_lease).
#[derive(Clone)]
pub struct Lease {
    pub(crate) id: Arc<str>,
    pub(crate) turn_id: Option<Arc<str>>,
    pub(crate) owner: Arc<str>,
    pub(crate) fencing_token: u64,
    pub(crate) until: SystemTime,
    /// For how long it was given.
    pub(crate) term: Duration,
    /// How often the holder has renewed it.
    pub(crate) renewals: u64,
}

impl Lease {
    /// The longest time for which a conversation can be held: what claims to last longer was written by a clock that was wrong.
    pub const LONGEST: Duration = Duration::from_secs(60 * 60);

    /// The id of the one that runners take.
    pub const ID: &str = "lease";

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The turn that runs, or was cut off. None once it has ended.
    #[must_use]
    pub fn turn_id(&self) -> Option<&str> {
        self.turn_id.as_deref()
    }

    /// The unique name of the holder.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The number by which the store knows a later owner from an earlier one.
    #[must_use]
    pub fn fencing_token(&self) -> u64 {
        self.fencing_token
    }

    /// When it expires unless it is renewed, by the wall clock of its holder. For display alone: clocks differ, and are set.
    #[must_use]
    pub fn until(&self) -> SystemTime {
        self.until
    }

    /// For how long it was given.
    #[must_use]
    pub fn term(&self) -> Duration {
        self.term
    }

    /// How often its holder has renewed it.
    #[must_use]
    pub fn renewals(&self) -> u64 {
        self.renewals
    }

    /// Whether its holder has released it.
    #[must_use]
    pub fn is_released(&self) -> bool {
        self.turn_id.is_none() || self.term.is_zero()
    }

    /// Estimates for how long it lasts, by the wall clock; `None` if it was released or seems to have expired. For display
    /// alone: [`observe_lease`](crate::store::observe_lease) decides whether it has expired.
    #[must_use]
    pub fn estimated_left(&self) -> Option<Duration> {
        if self.is_released() {
            return None;
        }
        let left = self.until.duration_since(SystemTime::now()).ok()?;
        let left = left.min(self.term).min(Lease::LONGEST);
        (!left.is_zero()).then_some(left)
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("turn_id", &self.turn_id)
            .field("fence", &self.fencing_token)
            .finish_non_exhaustive()
    }
}
