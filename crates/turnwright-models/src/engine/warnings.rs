//! Warning events about requests.

use std::collections::HashSet;

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
