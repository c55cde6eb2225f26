//! The complete content, for programs.

use super::forward::{Forward, PIECE, Source};
use crate::artifact::SpooledArtifact;
use crate::error::Error;

/// The content as text. Invalid UTF-8 is replaced with `U+FFFD`.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Text {
    /// The text.
    pub text: String,
    /// Number of replacements. 0 if the text is identical to the content.
    pub replaced: u64,
}

impl SpooledArtifact {
    /// Reads the complete content as text and reports replacements of invalid UTF-8. Intended for programs: the text is held in
    /// memory.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_UNREADABLE` if the bytes cannot be read.
    pub async fn as_text(&self) -> Result<Text, Error> {
        let bytes = self.as_bytes().await?;
        Ok(Text::from_bytes(&bytes))
    }

    /// Returns the number of lines. The result is cached.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_UNREADABLE` if the bytes cannot be read.
    pub async fn line_count(&self) -> Result<u64, Error> {
        if let Some(count) = self.shared.lines.line_count() {
            return Ok(count);
        }
        let artifact = self.clone();
        self.read_with(move |read| {
            let mut source = Source::new(read);
            let mut forward = Forward::new(&mut source, &artifact.shared.lines, PIECE);
            forward.go_to(u64::MAX)?;
            Ok(forward.number())
        })
        .await
    }
}

impl Text {
    fn from_bytes(bytes: &[u8]) -> Self {
        let mut made = Text {
            text: String::with_capacity(bytes.len()),
            replaced: 0,
        };
        for chunk in bytes.utf8_chunks() {
            made.text.push_str(chunk.valid());
            if !chunk.invalid().is_empty() {
                made.text.push(char::REPLACEMENT_CHARACTER);
                made.replaced += 1;
            }
        }
        made
    }
}

// The text may be secret.
debug_fields!(Text { replaced });
