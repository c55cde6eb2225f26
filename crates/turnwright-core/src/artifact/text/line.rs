//! A line, or the part of it that was asked for.

use std::borrow::Cow;
use std::fmt;

use super::show;

/// A line without its end, or a part of one, byte for byte as it stands in the artifact.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Line {
    /// Its number, counted from 0. The last lines of an artifact whose lines were not counted have none.
    pub number: Option<u64>,
    /// How many bytes of the line stand before these. `None` if some do and their number is not known: the end of a long
    /// last line, whose beginning was not looked for.
    pub offset: Option<u64>,
    /// Its bytes, without the line's end.
    pub bytes: Vec<u8>,
    /// Whether the line goes on after these bytes.
    pub goes_on: bool,
}

impl Line {
    /// Whether this is all of it.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.offset == Some(0) && !self.goes_on
    }

    /// Returns the line as text. Bytes that are not UTF-8 become `\u{FFFD}`, as does a character that was split because only a
    /// part of the line was asked for.
    ///
    /// ```
    /// use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let log = SpooledArtifact::in_memory("one\ntwo\n", ArtifactKind::TEXT);
    /// let excerpt = log.head(1).await?;
    /// assert_eq!(excerpt.lines[0].text(), "one");
    /// # Ok::<(), turnwright_core::Error>(()) }).unwrap();
    /// ```
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.bytes)
    }

    /// How many bytes it takes to show it, its newline included.
    pub(super) fn cost(&self) -> usize {
        show::cost(&self.bytes) + 1
    }
}

impl fmt::Debug for Line {
    /// What it says may be secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("number", &self.number)
            .field("offset", &self.offset)
            .field("bytes", &self.bytes.len())
            .field("goes_on", &self.goes_on)
            .finish()
    }
}
