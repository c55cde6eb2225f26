//! Token counts.

#[cfg(feature = "tokens")]
mod counted;

use std::fmt;

use super::forward::{PIECE, Source};
use crate::artifact::SpooledArtifact;
use crate::error::Error;

/// A number of tokens, and how it was determined.
///
/// ```
/// use turnwright_artifact::artifact::text::TokenCount;
///
/// let count = TokenCount::of_text("How many tokens is this?", "unknown-model");
/// println!("{} tokens{}", count.tokens, if count.exact { "" } else { " (estimated)" });
/// # assert_eq!(count.tokens, 6);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenCount {
    /// The number of tokens.
    pub tokens: u64,
    /// The encoding used, or `None` for an estimate.
    pub encoding: Option<String>,
    /// Whether the number is exactly what the encoding gives for the complete text. `false` for estimates, and if a text without
    /// spaces had to be counted in pieces: then it may be off by one per piece.
    pub exact: bool,
}

impl TokenCount {
    /// Counts the tokens of a text for a model. Uses the model's encoding if it is known (OpenAI models, with the feature
    /// `tokens`). Otherwise estimates like [`SpooledArtifact::estimate_tokens`].
    ///
    /// ```
    /// use turnwright_artifact::artifact::text::TokenCount;
    ///
    /// let count = TokenCount::of_text("How many tokens is this?", "unknown-model");
    /// assert_eq!(count.tokens, 6);
    /// assert!(!count.exact);
    /// ```
    #[must_use]
    pub fn of_text(text: &str, model: &str) -> TokenCount {
        Self::by_vocabulary(text, model).unwrap_or_else(|| estimate_text(text))
    }

    #[cfg(feature = "tokens")]
    fn by_vocabulary(text: &str, model: &str) -> Option<TokenCount> {
        counted::count_text(text, counted::encoding_of(model)?).ok()
    }

    #[cfg(not(feature = "tokens"))]
    fn by_vocabulary(_text: &str, _model: &str) -> Option<TokenCount> {
        None
    }
}

impl SpooledArtifact {
    /// Counts the tokens of the artifact.
    ///
    /// Without an encoding, returns an estimate that is the same for every model. One token is assumed for:
    ///
    /// - four ASCII characters,
    /// - two characters of other Latin, Greek, Cyrillic, Hebrew or Arabic letters,
    /// - one character of a script that takes three bytes in UTF-8,
    /// - half an emoji,
    /// - two bytes that are not text.
    ///
    /// The estimate is usually within a third of the real number.
    ///
    /// With the feature `tokens`, the encodings of OpenAI models are available: `o200k_base`, `cl100k_base` and others.
    ///
    /// # Errors
    /// Returns `E_ARTIFACT_QUERY` if the encoding is unknown, and `E_ARTIFACT_UNREADABLE` if the bytes cannot be read.
    pub async fn estimate_tokens(&self, encoding: Option<&str>) -> Result<TokenCount, Error> {
        let Some(encoding) = encoding else {
            return self
                .read_with(|read| estimate(&mut Source::new(read)))
                .await;
        };
        self.counted(encoding).await
    }

    #[cfg(feature = "tokens")]
    async fn counted(&self, encoding: &str) -> Result<TokenCount, Error> {
        let encoding = encoding.to_owned();
        self.read_with(move |read| counted::count(&mut Source::new(read), &encoding))
            .await
    }

    #[cfg(not(feature = "tokens"))]
    #[allow(clippy::unused_async, reason = "same signature as with the feature")]
    async fn counted(&self, encoding: &str) -> Result<TokenCount, Error> {
        let encoding = crate::schema::escape(encoding, 40);
        Err(Error::bad_artifact_query(format!(
            "unknown encoding \"{encoding}\": no encodings are available, omit `encoding` for an estimate"
        )))
    }
}

impl fmt::Display for TokenCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tokens = self.tokens;
        match &self.encoding {
            Some(encoding) if self.exact => write!(f, "{tokens} tokens ({encoding})"),
            Some(encoding) => write!(f, "about {tokens} tokens ({encoding})"),
            None => write!(f, "about {tokens} tokens (estimate)"),
        }
    }
}

fn estimate_text(text: &str) -> TokenCount {
    estimated(quarters_of(text.as_bytes()))
}

fn estimate(source: &mut Source) -> Result<TokenCount, Error> {
    let (mut at, mut quarters) = (0, 0);
    loop {
        let bytes = source.bytes(at, PIECE)?;
        if bytes.is_empty() {
            return Ok(estimated(quarters));
        }
        quarters += quarters_of(bytes);
        at += bytes.len() as u64;
    }
}

/// Converts quarters of a token to an estimate.
fn estimated(quarters: u64) -> TokenCount {
    TokenCount {
        tokens: quarters.div_ceil(4),
        encoding: None,
        exact: false,
    }
}

/// Counts byte by byte: the first byte of a character determines its length, the others count nothing.
fn quarters_of(bytes: &[u8]) -> u64 {
    let count = |is: fn(u8) -> bool| bytes.iter().filter(|byte| is(**byte)).count() as u64;
    let ascii = count(|byte| byte < 0x80);
    let two = count(|byte| (0xC2..0xE0).contains(&byte));
    let three = count(|byte| (0xE0..0xF0).contains(&byte));
    let four = count(|byte| (0xF0..0xF5).contains(&byte));
    // Bytes that do not belong to any character are not text.
    let all = bytes.len() as u64;
    let stray = all.saturating_sub(ascii + 2 * two + 3 * three + 4 * four);
    ascii + 2 * two + 4 * three + 8 * four + 2 * stray
}
