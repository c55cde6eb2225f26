//! How large and how deep arguments may be.

/// Bounds on the arguments of one call.
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

/// The deepest that anything is ever taken: documents, arguments, decoded text.
pub const MAX_DEPTH: usize = 128;

impl Limits {
    /// Sets the limit on bytes of JSON text, as it came and with its defaults filled in. 1 MiB unless told.
    #[must_use]
    pub fn max_bytes(mut self, bytes: usize) -> Self {
        self.bytes = bytes;
        self
    }

    /// Sets the limit on levels of objects and arrays, counted after JSON text inside strings was decoded. 128 unless
    /// told; more than that counts as 128.
    #[must_use]
    pub fn max_depth(mut self, levels: usize) -> Self {
        self.depth = levels.min(MAX_DEPTH);
        self
    }

    /// The limit on bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The limit on levels.
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
