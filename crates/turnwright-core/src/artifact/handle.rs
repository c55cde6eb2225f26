//! What stands in a prompt in the place of an artifact.

use super::{SpooledArtifact, text};
use crate::error::Error;

/// How much of its beginning a handle shows.
const OPENING: u64 = 512;

impl SpooledArtifact {
    /// Its first lines within 512 bytes; of a first line that is longer, the beginning. What is no text is shown as `\xNN`.
    ///
    /// # Errors
    /// `E_ARTIFACT_UNREADABLE`.
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

    /// Its whole content as it stands in a prompt: text as it is, bytes that are no text as `\xNN`.
    ///
    /// # Errors
    /// `E_ARTIFACT_UNREADABLE`.
    pub(crate) async fn inline_text(&self) -> Result<String, Error> {
        let bytes = self.as_bytes().await?;
        Ok(match String::from_utf8(bytes.into()) {
            Ok(text) => text,
            Err(error) => text::shown_lines(error.as_bytes(), usize::MAX),
        })
    }

    /// The names of the tools that read it.
    pub fn tool_names(&self) -> impl Iterator<Item = &'static str> {
        let own = self.kind().queries();
        text::queries().iter().chain(own).map(|query| query.name())
    }
}
