//! Handling of panics.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Returns the message of a panic, for operators only.
pub(crate) fn text_of(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("(no message)").to_owned();
    drop_quietly(panic);
    text
}

/// Drops a user's value. A panic in its `drop` is caught.
pub(crate) fn drop_quietly<T>(foreign: T) {
    // Forget the second payload: dropping it could panic again.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(foreign))) {
        std::mem::forget(again);
    }
}
