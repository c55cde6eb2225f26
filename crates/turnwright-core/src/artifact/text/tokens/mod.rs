//! How many tokens a model would make of an artifact.

#[cfg(feature = "tokens")]
mod counted;
mod estimated;

use std::fmt;

use super::source::Source;
use crate::artifact::SpooledArtifact;
use crate::error::Error;

/// How many tokens there are, and how that was found out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TokenCount {
    /// How many.
    pub tokens: u64,
    /// The encoding by which they were counted; `None` if they were estimated.
    pub encoding: Option<String>,
    /// Whether it is the number that the encoding gives for the whole text. It is not where a text without spaces had to
    /// be counted in pieces: then it may be off by one for each piece.
    pub exact: bool,
}

impl TokenCount {
    /// How many tokens a model of this name makes of a text: by its vocabulary where that is known and at hand (with the
    /// feature `tokens`, for OpenAI's models), else an estimate as [`SpooledArtifact::estimate_tokens`] makes it.
    ///
    /// ```
    /// use turnwright_core::artifact::text::TokenCount;
    ///
    /// let count = TokenCount::of_text("How many tokens is this?", "a-model-that-nobody-knows");
    /// assert_eq!(count.tokens, 6);
    /// assert!(!count.exact);
    /// ```
    #[must_use]
    pub fn of_text(text: &str, model: &str) -> TokenCount {
        Self::by_vocabulary(text, model).unwrap_or_else(|| estimated::estimate_text(text))
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
    /// How many tokens a model would make of it.
    ///
    /// Without an encoding it is an estimate, the same for every model: a token for four ASCII characters, for two
    /// characters of Latin, Greek, Cyrillic, Hebrew or Arabic letters beyond them, and for each character of the scripts that
    /// UTF-8 writes with three bytes; two for each emoji; one for two bytes that are not text. Texts differ by about a third
    /// either way.
    ///
    /// With the feature `tokens` the encodings of OpenAI's models count: `o200k_base`, `cl100k_base` and others.
    ///
    /// # Errors
    /// `E_ARTIFACT_QUERY` for an encoding that is not there, `E_ARTIFACT_UNREADABLE`.
    pub async fn estimate_tokens(&self, encoding: Option<&str>) -> Result<TokenCount, Error> {
        let Some(encoding) = encoding else {
            return self
                .read_with(|read| estimated::estimate(&mut Source::new(read)))
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
    #[allow(clippy::unused_async, reason = "as with the feature")]
    async fn counted(&self, encoding: &str) -> Result<TokenCount, Error> {
        let encoding = crate::schema::escape(encoding, 40);
        Err(Error::bad_artifact_query(format!(
            "there is no encoding \"{encoding}\" here, nor any other: leave encoding out for an estimate"
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
