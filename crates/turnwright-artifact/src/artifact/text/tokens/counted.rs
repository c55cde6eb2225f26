//! Counts tokens with an encoding, piece by piece.

use tiktoken::CoreBpe;

use super::TokenCount;
use crate::artifact::text::forward::{PIECE, Source};
use crate::artifact::text::show;
use crate::error::Error;

/// Maximum length of a text that is counted at once. The cost of a run without spaces grows faster than its length.
const TEXT: usize = 16 * 1024;

/// Returns the encoding of an OpenAI model.
pub(super) fn encoding_of(model: &str) -> Option<&'static str> {
    tiktoken::model_to_encoding(model)
}

pub(super) fn count_text(text: &str, encoding: &str) -> Result<TokenCount, Error> {
    let mut counting = Counting::by(encoding)?;
    for piece in text.as_bytes().chunks(TEXT) {
        counting.add(piece);
    }
    Ok(counting.finish(encoding))
}

pub(super) fn count(source: &mut Source, encoding: &str) -> Result<TokenCount, Error> {
    let mut counting = Counting::by(encoding)?;
    let mut at = 0;
    loop {
        let bytes = source.bytes(at, PIECE)?;
        let bytes = bytes.get(..TEXT).unwrap_or(bytes);
        if bytes.is_empty() {
            return Ok(counting.finish(encoding));
        }
        counting.add(bytes);
        at += bytes.len() as u64;
    }
}

struct Counting {
    vocabulary: &'static CoreBpe,
    /// Bytes that have not been counted yet.
    waiting: Vec<u8>,
    tokens: u64,
    exact: bool,
}

impl Counting {
    fn by(encoding: &str) -> Result<Self, Error> {
        let Some(vocabulary) = tiktoken::get_encoding(encoding) else {
            return Err(Error::bad_artifact_query(format!(
                "unknown encoding \"{}\": use one of {}, or omit `encoding` for an estimate",
                crate::schema::escape(encoding, 40),
                tiktoken::list_encodings().join(", ")
            )));
        };
        Ok(Counting {
            vocabulary,
            waiting: Vec::new(),
            tokens: 0,
            exact: true,
        })
    }

    fn add(&mut self, bytes: &[u8]) {
        self.waiting.extend_from_slice(bytes);
        while self.waiting.len() > TEXT {
            let end = cut_at(&self.waiting, &mut self.exact);
            self.count(end);
        }
    }

    /// Counts the first `bytes` of the pending bytes.
    fn count(&mut self, bytes: usize) {
        let first: Vec<u8> = self.waiting.drain(..bytes).collect();
        let text = String::from_utf8_lossy(&first);
        self.tokens += self.vocabulary.count(&text) as u64;
    }

    fn finish(mut self, encoding: &str) -> TokenCount {
        self.count(self.waiting.len());
        TokenCount {
            tokens: self.tokens,
            encoding: Some(encoding.to_owned()),
            exact: self.exact,
        }
    }
}

/// Returns where to split a text that is too long: where no encoding has a token across the boundary, or else at a character
/// boundary, which makes the count inexact.
fn cut_at(text: &[u8], exact: &mut bool) -> usize {
    let between = (1..=TEXT).rev().find(|at| is_between_tokens(text, *at));
    between.unwrap_or_else(|| {
        *exact = false;
        show::character_start(text, TEXT)
    })
}

/// Returns whether the position is before the space between two words, or before a word at the start of a line. All of these
/// encodings split there.
fn is_between_tokens(text: &[u8], at: usize) -> bool {
    let byte = |at: Option<usize>| at.and_then(|at| text.get(at)).copied().unwrap_or(0);
    let (last, next) = (byte(at.checked_sub(1)), byte(Some(at)));
    if next == b' ' {
        last.is_ascii_alphabetic() && byte(Some(at + 1)).is_ascii_alphabetic()
    } else {
        let before = byte(at.checked_sub(2));
        last == b'\n' && before.is_ascii_graphic() && next.is_ascii_alphanumeric()
    }
}
