//! A line or a part of it.

use std::borrow::Cow;
use std::fmt;

use super::show;

/// A line or a part of it, without the line break. The bytes are those of the artifact.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// The line number, starting at 0. `None` for the last lines of an artifact whose lines were not counted.
    pub number: Option<u64>,
    /// How many bytes of the line precede these. `None` if some do, but their number is unknown: this is the end of a long last
    /// line whose start was not searched.
    pub offset: Option<u64>,
    /// The bytes, without the line break.
    pub bytes: Vec<u8>,
    /// Whether the line continues after these bytes.
    pub continues: bool,
}

impl Line {
    /// Returns whether this is the complete line.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.offset == Some(0) && !self.continues
    }

    /// Returns the line as text. Invalid UTF-8 becomes `\u{FFFD}`, as does a character that was split because only a part of the
    /// line was requested.
    ///
    /// ```
    /// use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let log = SpooledArtifact::in_memory("one\ntwo\n", ArtifactKind::TEXT);
    /// let excerpt = log.head(1).await?;
    /// assert_eq!(excerpt.lines[0].text(), "one");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }

    /// Returns how many bytes are needed to show it, including its newline.
    pub(super) fn cost(&self) -> usize {
        show::cost(&self.bytes) + 1
    }
}

impl fmt::Debug for Line {
    /// Omits the text, which may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("number", &self.number)
            .field("offset", &self.offset)
            .field("bytes", &self.bytes.len())
            .field("continues", &self.continues)
            .finish()
    }
}
