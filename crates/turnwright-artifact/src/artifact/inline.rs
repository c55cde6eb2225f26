//! Whether a result is inlined into the prompt.

/// Whether a tool's result is inlined into the prompt or replaced by a handle. Decided once, when the call is settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Inline {
    /// Inline text up to the limit of the dispatch.
    ///
    /// Default limit: 4 KiB.
    #[default]
    ByLimit,
    /// Always inline, whatever the size.
    Always,
    /// Never inline; always use a handle.
    Never,
    /// Inline text of at most this many bytes.
    UpTo(u64),
}

impl Inline {
    /// Decides for content of this length. `None` means: inline it if it is text. Binary content is inlined only with
    /// [`Inline::Always`].
    #[doc(hidden)]
    pub fn decide(self, limit: u64, length: u64) -> Option<bool> {
        let most = match self {
            Inline::Always => return Some(true),
            Inline::Never => return Some(false),
            Inline::ByLimit => limit,
            Inline::UpTo(most) => most,
        };
        (length > most).then_some(false)
    }
}
