//! Room for deep values under schemas that nest.
//!
//! Validating recurses, level by level of the value and, at each, subschema by subschema. What both multiply to is
//! bounded; where it is more than an ordinary thread's stack surely holds, it is done on a thread of its own.

/// Levels times subschemas that any thread has room for, in a build without optimisation too.
const ANYWHERE: usize = 256;
/// Room for the deepest value under the most nested schema. Only what is used of it is ever taken from the system.
const ROOM: usize = 128 << 20;

/// Does the work where there is room for it; `None` if there is no such place, or the work panicked there.
pub(crate) fn with_room<T: Send>(levels: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    if levels <= ANYWHERE {
        return Some(work());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(ROOM);
        thread.spawn_scoped(scope, work).ok()?.join().ok()
    })
}
