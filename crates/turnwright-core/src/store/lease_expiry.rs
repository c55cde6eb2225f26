//! Whether a lease has expired, judged by this process's monotonic clock.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{ConversationId, DamagedRecord};
use crate::record::{Lease, is_gone};

/// The maximum number of observations. Forgetting one costs only a wait.
const MOST: usize = 4_096;

/// The leases that this process has seen, and when it first saw each in this state.
static OBSERVED: Mutex<Option<HashMap<Observed, Instant>>> = Mutex::new(None);

#[derive(Clone, PartialEq, Eq, Hash)]
enum Observed {
    /// A renewal changes at least one of these.
    Lease {
        conversation_id: ConversationId,
        owner: Arc<str>,
        fencing_token: u64,
        until: SystemTime,
        renewals: u64,
    },
    Damaged {
        conversation_id: ConversationId,
        reason: String,
    },
}

/// Returns for how long the turn that a lease names may still be running, or `None` if the lease has expired or was
/// released.
///
/// A lease of another process has expired once this process has seen it without a renewal for its whole term, measured by
/// the monotonic clock. Wall clocks are not compared: the holder's may be ahead or behind, and either may be set. So the
/// first look at a lease that was not released returns its whole term, however old it is. Observations are shared
/// by the whole process: a caller that looks again later need not wait from the beginning.
///
/// A lease that was released, and one whose holder was a turn of this process that is gone, return `None` at once.
#[must_use]
pub fn observe_lease(conversation_id: &ConversationId, lease: &Lease) -> Option<Duration> {
    if lease.is_released() || is_gone(lease) {
        return None;
    }
    let seen = Observed::Lease {
        conversation_id: conversation_id.clone(),
        owner: Arc::clone(&lease.owner),
        fencing_token: lease.fencing_token,
        until: lease.until,
        renewals: lease.renewals,
    };
    unchanged(seen, lease.term.min(Lease::LONGEST))
}

/// The same for a lease that cannot be read. A live holder soon writes another one. Its term is unknown: `term` is the caller's
/// own.
pub(crate) fn observe_damaged(
    conversation_id: &ConversationId,
    lease: &DamagedRecord,
    term: Duration,
) -> Option<Duration> {
    let seen = Observed::Damaged {
        conversation_id: conversation_id.clone(),
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
