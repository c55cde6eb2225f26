//! How large and how deep arguments may be.

/// Bounds on the arguments of one call.
///
/// ```
/// use turnwright_core::{Limits, Schema};
/// use serde_json::json;
///
/// let schema = Schema::options()
///     .limits(Limits::default().max_bytes(16))
///     .document(json!({ "type": "object" }))?;
/// assert!(schema.check(r#"{"a": 1}"#).is_ok());
/// let error = schema.check(r#"{"a": "something longer"}"#).unwrap_err();
/// assert_eq!(error.faults()[0].rule, "max_bytes");
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of JSON text, as it came and with its defaults filled in. 1 MiB unless told.
    pub max_bytes: usize,
    /// Levels of objects and arrays, counted after JSON text inside strings was decoded. 128 at most.
    pub max_depth: usize,
}

/// The deepest that anything is ever taken: documents, arguments, decoded text.
pub(crate) const MAX_DEPTH: usize = 128;

impl Limits {
    /// Sets the limit on bytes.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.max_bytes = bytes;
        self
    }

    /// Sets the limit on levels; more than 128 counts as 128.
    #[must_use]
    pub fn max_depth(mut self, levels: usize) -> Self {
        self.max_depth = levels.min(MAX_DEPTH);
        self
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_bytes: 1 << 20,
            max_depth: MAX_DEPTH,
        }
    }
}
