//! Size limits of artifact queries, and of results in the prompt.

/// Size limits for artifact queries.
///
/// ```
/// use turnwright_artifact::artifact::{ArtifactKind, ArtifactLimits, SpooledArtifact};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let limits = ArtifactLimits::default().page(2 * 1024);
/// let log = SpooledArtifact::in_memory("a line\n".repeat(10_000), ArtifactKind::TEXT).with_limits(limits);
/// assert!(log.cat(..).await?.to_page().len() <= 2 * 1024);
/// # Ok::<(), turnwright_artifact::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArtifactLimits {
    /// Maximum size of a page in bytes. Values below 1 KiB count as 1 KiB.
    ///
    /// Default: 8 KiB.
    pub page: usize,
    /// Maximum number of bytes to load and parse at once, for formats that cannot be streamed.
    ///
    /// Default: 16 MiB.
    pub parse: u64,
}

impl ArtifactLimits {
    /// Sets the maximum size of a page in bytes.
    #[must_use]
    pub fn page(mut self, bytes: usize) -> Self {
        self.page = bytes;
        self
    }

    /// Sets the maximum number of bytes to load and parse at once.
    #[must_use]
    pub fn parse(mut self, bytes: u64) -> Self {
        self.parse = bytes;
        self
    }
}

impl Default for ArtifactLimits {
    fn default() -> Self {
        ArtifactLimits {
            page: 8 * 1024,
            parse: 16 * 1024 * 1024,
        }
    }
}

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
