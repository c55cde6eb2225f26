//! Whether a lease has expired, judged by this process's monotonic clock.
//!
//! A process may take over a lease only after it has observed it without renewal for its full duration. Wall clocks are
//! not compared. Observations are remembered, so that several short attempts add up.

use std::collections::HashMap;
use std::sync::LazyLock;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::{ConversationId, DamagedRecord};
use crate::record::{Lease, is_gone};

/// Maximum number of observations. Forgetting one costs only a wait.
const MOST: usize = 4_096;

/// The lease states that this process has seen, each with the time when it was first seen.
static OBSERVED: LazyLock<Mutex<HashMap<Observed, Instant>>> = LazyLock::new(Mutex::default);

/// A conversation, and the state of its lease as text.
type Observed = (ConversationId, String);

/// Returns for how long the turn that a lease names may still be running, or `None` if the lease has expired or was
/// released.
///
/// A lease of another process has expired once this process has seen it without a renewal for its whole term, measured by
/// the monotonic clock. Wall clocks are not compared: the holder's may be ahead or behind, and either may be set. So the
/// first look at a lease that was not released returns its whole term, however old it is. Observations are shared
/// by the whole process: a caller that looks again later need not wait from the beginning.
///
/// Returns `None` immediately for a lease that was released, and for one whose holder was a turn of this process that is gone.
#[must_use]
pub fn observe_lease(conversation_id: &ConversationId, lease: &Lease) -> Option<Duration> {
    if lease.is_released() || is_gone(lease) {
        return None;
    }
    // A renewal changes at least one field.
    let state = (conversation_id.clone(), format!("{lease:?}"));
    left(state, lease.term.min(Lease::MAX_TERM))
}

/// Like [`observe_lease`], for a lease that cannot be read. A live holder soon writes another one. Its duration is unknown, so
/// `term` is the caller's own.
pub(crate) fn observe_damaged(
    conversation_id: &ConversationId,
    lease: &DamagedRecord,
    term: Duration,
) -> Option<Duration> {
    left((conversation_id.clone(), lease.reason.clone()), term)
}

/// Returns how much of the lease duration is left since a state was first seen.
fn left(state: Observed, term: Duration) -> Option<Duration> {
    let now = Instant::now();
    let mut observed = OBSERVED.lock();
    if observed.len() >= MOST && !observed.contains_key(&state) {
        forget_older_half(&mut observed);
    }
    let since = *observed.entry(state).or_insert(now);
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
