//! Size limits for artifact queries.

/// Size limits for artifact queries.
///
/// ```
/// use turnwright_core::artifact::{ArtifactKind, ArtifactLimits, SpooledArtifact};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let limits = ArtifactLimits::default().answer(2 * 1024);
/// let log = SpooledArtifact::in_memory("a line\n".repeat(10_000), ArtifactKind::TEXT).with_limits(limits);
/// assert!(log.cat(..).await?.to_answer().len() <= 2 * 1024);
/// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArtifactLimits {
    /// Maximum size of an answer in bytes. Values below 1 KiB count as 1 KiB.
    ///
    /// Default: 8 KiB.
    pub answer: usize,
    /// Maximum number of bytes to load and parse at once, for formats that cannot be streamed.
    ///
    /// Default: 16 MiB.
    pub parse: u64,
}

impl ArtifactLimits {
    pub(crate) const LEAST_ANSWER: usize = 1024;

    /// Sets the maximum size of an answer in bytes.
    #[must_use]
    pub fn answer(mut self, bytes: usize) -> Self {
        self.answer = bytes.max(ArtifactLimits::LEAST_ANSWER);
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
            answer: 8 * 1024,
            parse: 16 * 1024 * 1024,
        }
    }
}
