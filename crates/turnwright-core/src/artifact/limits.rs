//! How much is said at once, and how much is held.

/// The bounds under which an artifact answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ArtifactLimits {
    /// The most bytes of an answer. 8 KiB unless told; never below 1 KiB.
    pub answer: usize,
    /// The most bytes that are parsed whole, where a format cannot be read piece by piece. 16 MiB unless told.
    pub parse: u64,
}

impl ArtifactLimits {
    pub(crate) const LEAST_ANSWER: usize = 1024;

    /// With answers of at most so many bytes.
    #[must_use]
    pub fn answer(mut self, bytes: usize) -> Self {
        self.answer = bytes.max(ArtifactLimits::LEAST_ANSWER);
        self
    }

    /// With at most so many bytes parsed whole.
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
