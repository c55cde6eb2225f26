//! Who runs a conversation's turn.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Who runs a conversation's turn, and until when nobody else may. One for each conversation. Immutable.
#[derive(Clone)]
pub struct Lease {
    pub(crate) id: Arc<str>,
    pub(crate) turn_id: Option<Arc<str>>,
    pub(crate) owner: Arc<str>,
    pub(crate) fence: u64,
    pub(crate) until: SystemTime,
    /// For how long it was given.
    pub(crate) term: Duration,
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

    /// Who runs it: a name that nobody else has.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// The number by which the store knows a later owner from an earlier one.
    #[must_use]
    pub fn fence(&self) -> u64 {
        self.fence
    }

    /// When somebody else may take over, unless it is renewed before.
    #[must_use]
    pub fn until(&self) -> SystemTime {
        self.until
    }

    /// For how long it was given.
    #[must_use]
    pub fn term(&self) -> Duration {
        self.term
    }

    /// How long nobody else may run a turn of this conversation, from now on: nothing if nobody runs one, or nobody has
    /// renewed it in time. One that would last longer than it was given for is over, since the clock was set back: whoever holds
    /// it still renews it soon, and if another was faster, the fence decides.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        self.turn_id.as_ref()?;
        let left = self.until.duration_since(SystemTime::now()).ok()?;
        let most = self.term.min(Lease::LONGEST);
        (!left.is_zero() && left <= most).then_some(left)
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("turn_id", &self.turn_id)
            .field("fence", &self.fence)
            .finish_non_exhaustive()
    }
}
