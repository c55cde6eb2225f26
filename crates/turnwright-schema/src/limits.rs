//! Limits on the size and depth of arguments, and stack space for deep values under nested schemas.
//!
//! The stack is bounded by construction: values have at most 128 levels, documents 128, and at most 64 subschemas apply
//! at one place. The work is bounded too: a check visits at most 2,000,000 subschemas.
//!
//! Validation recurses for each level of the value and, within a level, for each nested subschema. Their product is
//! bounded. If it exceeds what an ordinary thread's stack can hold, validation runs on a separate thread.

/// Limits on the arguments of one call.
///
/// ```
/// use turnwright_schema::{Limits, Schema};
/// use serde_json::json;
///
/// let schema = Schema::options()
///     .limits(Limits::default().max_bytes(16))
///     .document(json!({ "type": "object" }))?;
/// assert!(schema.check(r#"{"a": 1}"#).is_ok());
/// let error = schema.check(r#"{"a": "something longer"}"#).unwrap_err();
/// assert_eq!(error.faults()[0].rule, "max_bytes");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    bytes: usize,
    depth: usize,
}

/// The maximum depth of documents, arguments and decoded text.
pub const MAX_DEPTH: usize = 128;

impl Limits {
    /// Sets the maximum number of bytes of JSON text, both as received and with defaults filled in.
    ///
    /// Default: 1 MiB.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets the maximum number of levels of objects and arrays, counted after JSON inside strings is decoded. Values
    /// above 128 are treated as 128.
    ///
    /// Default: 128.
    #[must_use]
    pub fn max_depth(mut self, levels: usize) -> Self {
        self.depth = levels.min(MAX_DEPTH);
        self
    }

    /// Returns the maximum number of bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the maximum number of levels.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            bytes: 1 << 20,
            depth: MAX_DEPTH,
        }
    }
}

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
