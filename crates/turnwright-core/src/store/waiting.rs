//! Turns that wait for somebody, over all conversations.

use std::time::SystemTime;

use super::{FoundTurn, Store, StoreError, TurnCursor, TurnFilter};
use crate::record::TurnState;

/// Turns that are looked at before more are loaded, at least.
const LEAST_PAGE: usize = 64;

/// Finds the next turns, after `after`, that are suspended, wait at an open gate, or were interrupted.
pub(super) async fn waiting<S: Store + ?Sized>(
    store: &S,
    after: Option<TurnCursor>,
    limit: usize,
) -> Result<Vec<FoundTurn>, StoreError> {
    let size = limit.max(LEAST_PAGE);
    let mut filter = TurnFilter::all()
        .state(TurnState::Suspended)
        .state(TurnState::Running)
        .limit(size);
    filter.after = after;
    let (now, mut found) = (SystemTime::now(), Vec::new());
    while found.len() < limit {
        let page = store.find_turns(&filter).await?;
        let is_last = page.len() < size;
        filter.after = page.last().map(FoundTurn::cursor);
        found.extend(page.into_iter().filter(|turn| waits(turn, now)));
        if is_last {
            break;
        }
    }
    found.truncate(limit);
    Ok(found)
}

fn waits(found: &FoundTurn, now: SystemTime) -> bool {
    let is_running =
        |turn: &std::sync::Arc<crate::record::TurnRecord>| turn.state == TurnState::Running;
    let live = found.lease.as_ref().is_some_and(|lease| lease.until >= now);
    let runs = found.turn.as_ref().is_some_and(is_running) && live;
    !runs || !found.open_gates.is_empty()
}
