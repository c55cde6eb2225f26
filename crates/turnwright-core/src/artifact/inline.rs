//! Whether a result stands in the prompt itself.

use std::str;

use super::SpooledArtifact;
use crate::tool::Body;

/// Whether a tool's results stand in the prompt themselves or as handles, decided once, when a call is settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Inline {
    /// As the dispatch says: text of at most 4 KiB, unless told.
    #[default]
    ByLimit,
    /// Always, however large.
    Always,
    /// Never, however small.
    Never,
    /// Text of at most so many bytes.
    UpTo(u64),
}

impl Inline {
    /// The most bytes of text that stand in the prompt; `None` for no bound.
    pub(crate) fn most(self, limit: u64) -> Option<u64> {
        match self {
            Inline::ByLimit => Some(limit),
            Inline::UpTo(most) => Some(most),
            Inline::Always => None,
            Inline::Never => Some(0),
        }
    }

    /// Decides for content that was kept. Bytes that are no text have no place in a prompt, unless the tool says always.
    pub(crate) async fn decide(self, limit: u64, text: IsText, artifact: &SpooledArtifact) -> bool {
        if self == Inline::Never {
            return false;
        }
        match self.most(limit) {
            None => true,
            Some(most) if artifact.byte_length() > most => false,
            Some(_) => match text {
                IsText::Known(is_text) => is_text,
                // What cannot be read now may be readable when it is asked for.
                IsText::Unread => match artifact.as_bytes().await {
                    Ok(bytes) => str::from_utf8(&bytes).is_ok(),
                    Err(_) => false,
                },
            },
        }
    }
}

/// Whether content is text, as far as that is known before it is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IsText {
    Known(bool),
    Unread,
}

impl IsText {
    /// Looks no further than content that may be inline at all.
    pub(crate) fn of(body: &Body, most: Option<u64>) -> Self {
        match body {
            Body::Text(_) => IsText::Known(true),
            Body::Bytes(bytes) if most.is_none_or(|most| bytes.len() as u64 <= most) => {
                IsText::Known(str::from_utf8(bytes).is_ok())
            }
            Body::Bytes(_) => IsText::Known(false),
            Body::Stream(_) => IsText::Unread,
        }
    }
}
