//! The exclusive right to run a conversation's turns.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The exclusive right to run a conversation's turns. One for each conversation. Immutable.
///
/// Another process may take it over once it has seen no renewal for the whole term:
/// [`observe_lease`](crate::store::observe_lease).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Lease {
    pub(crate) id: Arc<str>,
    /// The turn that runs, or was cut off. None once it has ended.
    pub turn_id: Option<Arc<str>>,
    /// The unique name of the holder.
    pub owner: Arc<str>,
    /// The number by which the store knows a later owner from an earlier one.
    pub fencing_token: u64,
    /// When it expires unless it is renewed, by the wall clock of its holder. For display alone: clocks differ, and are set.
    pub until: SystemTime,
    /// For how long it was given.
    pub term: Duration,
    /// How often its holder has renewed it.
    pub renewals: u64,
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
