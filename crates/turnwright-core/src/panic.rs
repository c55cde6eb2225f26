//! What is left of a panic.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a panic said, for operators only.
pub(crate) fn text_of(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let text = text.unwrap_or("(no text)").to_owned();
    drop_quietly(panic);
    text
}

/// Drops what is foreign: a panic in its own drop goes no further.
pub(crate) fn drop_quietly<T>(foreign: T) {
    // The second payload is let go undropped: it would be the third time that it fails us.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(foreign))) {
        std::mem::forget(again);
    }
}
