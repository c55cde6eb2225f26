//! Limits on the size and depth of arguments.

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
