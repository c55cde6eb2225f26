//! Whether the holder of a lease is still there, judged by this process's own steady clock.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{DamagedRecord, Scope};
use crate::record::{Lease, is_gone};

/// Observations that are kept. Forgetting one costs a wait, and nothing else.
const MOST: usize = 4_096;

/// What this process has seen of leases, and since when each was as it is.
static OBSERVED: Mutex<Option<HashMap<Observed, Instant>>> = Mutex::new(None);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Observed {
    /// A renewal changes at least one of these.
    Lease {
        scope: Scope,
        owner: Arc<str>,
        fence: u64,
        until: SystemTime,
        renewals: u64,
    },
    Damaged {
        scope: Scope,
        reason: String,
    },
}

/// Returns for how long the turn that a lease names may still be running, or `None` if nobody holds the conversation.
///
/// A lease of another process has expired once this process has seen it without a renewal for its whole term, measured by
/// the monotonic clock. Wall clocks are not compared: the holder's may be ahead or behind, and either may be set. So the
/// first look at a lease that was not released returns its whole term, however old it is. What was seen is remembered for
/// the whole process: a caller that comes back later need not wait from the beginning.
///
/// A lease that was released, and one whose holder was a turn of this process that is gone, return `None` at once.
#[must_use]
pub fn observe_lease(scope: &Scope, lease: &Lease) -> Option<Duration> {
    if lease.is_released() || is_gone(lease) {
        return None;
    }
    let seen = Observed::Lease {
        scope: scope.clone(),
        owner: Arc::clone(&lease.owner),
        fence: lease.fence,
        until: lease.until,
        renewals: lease.renewals,
    };
    unchanged(seen, lease.term.min(Lease::LONGEST))
}

/// The same for a lease that cannot be read. Its holder, if it lives, soon writes another. How long its term was nobody
/// can say: `term` is the caller's own.
pub(crate) fn observe_damaged(
    scope: &Scope,
    lease: &DamagedRecord,
    term: Duration,
) -> Option<Duration> {
    let seen = Observed::Damaged {
        scope: scope.clone(),
        reason: lease.reason.clone(),
    };
    unchanged(seen, term)
}

/// How much of the term is left since this was first seen.
fn unchanged(seen: Observed, term: Duration) -> Option<Duration> {
    let now = Instant::now();
    let mut observed = OBSERVED.lock();
    let observed = observed.get_or_insert_default();
    if observed.len() >= MOST && !observed.contains_key(&seen) {
        forget_older_half(observed);
    }
    let since = *observed.entry(seen).or_insert(now);
    let left = term.saturating_sub(now.saturating_duration_since(since));
    (!left.is_zero()).then_some(left)
}

fn forget_older_half(observed: &mut HashMap<Observed, Instant>) {
    let mut all: Vec<Instant> = observed.values().copied().collect();
    let middle = all.len() / 2;
    let (_, median, _) = all.select_nth_unstable(middle);
    let median = *median;
    observed.retain(|_, since| *since > median);
}
