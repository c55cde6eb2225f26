//! The text that represents an artifact in a prompt.

use super::{SpooledArtifact, text};
use crate::error::Error;

/// How many bytes of the content a handle shows.
const OPENING: u64 = 512;

impl SpooledArtifact {
    /// Returns the first lines, up to 512 bytes in total. If the first line is longer, returns its beginning. Bytes that are not
    /// valid UTF-8 are shown as `\xNN`.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_UNREADABLE` if the bytes cannot be read.
    pub async fn opening(&self) -> Result<String, Error> {
        let first = self.bytes_of(0..OPENING).await?;
        let is_all = self.byte_length() <= OPENING;
        let last_line_end = first.iter().rposition(|byte| *byte == b'\n');
        let lines = match last_line_end {
            Some(end) if !is_all => first.get(..end).unwrap_or(&first),
            _ => first.strip_suffix(b"\n").unwrap_or(&first),
        };
        Ok(text::shown_lines(lines, OPENING as usize))
    }

    /// Returns the content as a prompt shows it. Bytes that are not valid UTF-8 are shown as `\xNN`.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_UNREADABLE` if the bytes cannot be read.
    #[doc(hidden)]
    pub async fn inline_text(&self) -> Result<String, Error> {
        let bytes = self.as_bytes().await?;
        Ok(match String::from_utf8(bytes.into()) {
            Ok(text) => text,
            Err(error) => text::shown_lines(error.as_bytes(), usize::MAX),
        })
    }

    /// Returns the names of the tools that read this artifact.
    pub fn tool_names(&self) -> impl Iterator<Item = &'static str> {
        let own = self.kind().queries();
        text::queries().iter().chain(own).map(|query| query.name())
    }
}
