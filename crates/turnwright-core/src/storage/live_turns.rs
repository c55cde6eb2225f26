//! The turns of this process that run on a storage.

use std::any::Any;
use std::collections::HashMap;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// The turns of this process that run on a storage, by conversation and turn. Does not keep them alive. Their type is defined in a
/// module above this one.
#[derive(Default)]
pub(crate) struct LiveTurns(Mutex<HashMap<TurnKey, Vec<Weak<LiveTurn>>>>);

/// Conversation and turn.
pub(crate) type TurnKey = (Arc<str>, Arc<str>);

pub(crate) type LiveTurn = dyn Any + Send + Sync;

impl LiveTurns {
    pub(crate) fn add(&self, key: TurnKey, turn: &Arc<LiveTurn>) {
        let mut turns = self.0.lock();
        turns.entry(key).or_default().push(Arc::downgrade(turn));
    }

    pub(crate) fn remove(&self, key: &TurnKey, turn: &Arc<LiveTurn>) {
        let mut turns = self.0.lock();
        if let Some(same) = turns.get_mut(key) {
            same.retain(|other| !std::ptr::addr_eq(other.as_ptr(), Arc::as_ptr(turn)));
            if same.is_empty() {
                turns.remove(key);
            }
        }
    }

    /// Returns the turns with this key.
    pub(crate) fn find(&self, key: &TurnKey) -> Vec<Arc<LiveTurn>> {
        let turns = self.0.lock();
        let same = turns.get(key).into_iter().flatten();
        same.filter_map(Weak::upgrade).collect()
    }
}
