//! The running turns of a runner.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::tool::context::{TurnContext, WeakTurnContext};

/// The running turns of a runner, by conversation and turn. Does not keep them alive.
#[derive(Default)]
pub(crate) struct LiveTurns(Mutex<HashMap<Key, Vec<WeakTurnContext>>>);

/// Conversation and turn.
type Key = (Arc<str>, Arc<str>);

impl LiveTurns {
    /// Adds a turn, unless it has no conversation. Such a turn cannot be looked up.
    pub(crate) fn add(&self, turn: &TurnContext) {
        if turn.record_store().is_none() {
            return;
        }
        let mut turns = self.0.lock();
        turns.entry(key(turn)).or_default().push(turn.downgrade());
    }

    pub(crate) fn remove(&self, turn: &TurnContext) {
        let mut turns = self.0.lock();
        if let Some(same) = turns.get_mut(&key(turn)) {
            same.retain(|other| !other.is(turn));
            if same.is_empty() {
                turns.remove(&key(turn));
            }
        }
    }

    /// Returns the turn with this id. If there are several, all but the holder of the lease are about to fail.
    pub(crate) fn find(&self, conversation: &Arc<str>, turn_id: &str) -> Option<TurnContext> {
        let turns = self.0.lock();
        let same = turns.get(&(Arc::clone(conversation), turn_id.into()))?;
        let mut found: Vec<TurnContext> = same.iter().filter_map(|turn| turn.upgrade()).collect();
        drop(turns);
        let holder = found.iter().position(|turn| turn.lease().is_some());
        match holder {
            Some(holder) => Some(found.swap_remove(holder)),
            None => found.pop(),
        }
    }
}

fn key(turn: &TurnContext) -> Key {
    (
        turn.conversation_id().shared(),
        Arc::clone(turn.shared_id()),
    )
}
