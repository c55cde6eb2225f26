//! What the engine remembers during a turn: the warnings so far, and whether another model answers when the current one fails.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;
use turnwright_core::DispatchContext;

/// The warnings of a turn.
#[derive(Default)]
struct Warned(Mutex<HashSet<String>>);

/// Emits a [`Warning`](turnwright_core::event::EventKind::Warning) event, once per turn: the requests of a turn have
/// much in common.
pub(super) fn warn_once(ctx: &DispatchContext, message: String) {
    let warned = ctx.turn().per_turn::<Warned>();
    if warned.0.lock().insert(message.clone()) {
        ctx.turn().warn(message);
    }
}

/// How many models could still answer in this turn if the current one fails.
#[derive(Debug, Default)]
pub(crate) struct Alternatives(AtomicUsize);

/// One alternative. Dropping it removes it.
pub(crate) struct Alternative(Arc<Alternatives>);

impl Alternatives {
    /// Adds an alternative to the model that is asked next.
    pub(crate) fn add(ctx: &DispatchContext) -> Alternative {
        let alternatives = ctx.turn().per_turn::<Alternatives>();
        alternatives.0.fetch_add(1, Ordering::Relaxed);
        Alternative(alternatives)
    }

    /// Returns `true` if another model answers when the current one fails. Then a failed response leaves no records.
    pub(super) fn exist(ctx: &DispatchContext) -> bool {
        let alternatives = ctx.turn().per_turn::<Alternatives>();
        alternatives.0.load(Ordering::Relaxed) > 0
    }
}

impl Drop for Alternative {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}
