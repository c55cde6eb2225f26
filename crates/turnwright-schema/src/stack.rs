//! Stack space for deep values under nested schemas.
//!
//! Validation recurses for each level of the value and, within a level, for each nested subschema. Their product is
//! bounded. If it exceeds what an ordinary thread's stack can hold, validation runs on a separate thread.

/// The product of levels and subschemas that fits on any thread's stack, even in an unoptimised build.
const ANYWHERE: usize = 256;
/// Stack size for the deepest value under the most deeply nested schema. The system commits only the memory that is
/// used.
const ROOM: usize = 128 << 20;

/// Returns whether work of this many levels fits on any thread's stack.
pub(crate) fn fits_anywhere(levels: usize) -> bool {
    levels <= ANYWHERE
}

/// Runs `work` with enough stack. Returns `None` if no thread could be started or the work panicked there.
pub(crate) fn with_room<T: Send>(levels: usize, work: impl FnOnce() -> T + Send) -> Option<T> {
    if fits_anywhere(levels) {
        return Some(work());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(ROOM);
        thread.spawn_scoped(scope, work).ok()?.join().ok()
    })
}
