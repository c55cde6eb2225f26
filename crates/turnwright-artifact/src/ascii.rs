//! Short ids, stored inline instead of on the heap.

use std::fmt;
use std::sync::Arc;

/// Text of exactly `N` ASCII characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ascii<const N: usize>([u8; N]);

impl<const N: usize> Ascii<N> {
    /// Creates the text. Every byte must be ASCII.
    pub const fn new(bytes: [u8; N]) -> Self {
        Ascii(bytes)
    }

    pub fn as_str(&self) -> &str {
        // ASCII is always valid UTF-8.
        std::str::from_utf8(&self.0).unwrap_or_default()
    }

    pub fn shared(&self) -> Arc<str> {
        self.as_str().into()
    }
}

impl<const N: usize> fmt::Debug for Ascii<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
