//! Looks up the turns that run in this process.

use std::sync::Arc;

use super::turn_runner::TurnRunner;
use crate::storage::{Storage, TurnKey};
use crate::task::OnDrop;
use crate::tool::context::TurnContext;

/// Lists a turn until the returned guard is dropped, which ends the turn: also if its task is dropped before its end, because the
/// runtime is shut down. A turn without a conversation is not listed.
pub(super) fn run_until_dropped(turn: TurnContext) -> OnDrop<impl Fn()> {
    let conversation = turn.conversation_id().shared();
    let key = (conversation, Arc::clone(turn.shared_id()));
    if turn.record_store().is_some() {
        let live = turn.storage().live_turns();
        live.add(key.clone(), &turn.erased());
    }
    OnDrop(move || {
        turn.end();
        turn.storage().live_turns().remove(&key, &turn.erased());
    })
}

/// Returns the turn with this id that runs in this process on this storage. If there are several, all but the holder of the lease are
/// about to fail.
pub(super) fn running(storage: &Storage, key: &TurnKey) -> Option<TurnContext> {
    let same = storage.live_turns().find(key).into_iter();
    let mut same: Vec<TurnContext> = same.filter_map(TurnContext::of_erased).collect();
    let holder = same.iter().position(|turn| turn.lease().is_some());
    let last = same.len().checked_sub(1);
    Some(same.swap_remove(holder.or(last)?))
}

impl TurnRunner {
    /// Returns the turn with this id that this runner runs.
    pub(super) fn live_turn(&self, conversation: &Arc<str>, turn_id: &str) -> Option<TurnContext> {
        let key = (Arc::clone(conversation), turn_id.into());
        running(self.storage(), &key).filter(|turn| self.runs(turn))
    }
}
