//! Counts by a vocabulary, piece by piece.

use tiktoken::CoreBpe;

use super::TokenCount;
use crate::artifact::text::show;
use crate::artifact::text::source::{PIECE, Source};
use crate::error::Error;

/// The longest text that is counted at once: the work for one run without a space grows faster than its length.
const TEXT: usize = 16 * 1024;

/// The encoding of a model of OpenAI's.
pub(super) fn encoding_of(model: &str) -> Option<&'static str> {
    tiktoken::model_to_encoding(model)
}

pub(super) fn count_text(text: &str, encoding: &str) -> Result<TokenCount, Error> {
    let mut counting = Counting::by(encoding)?;
    let mut left = text.as_bytes();
    while left.len() > TEXT {
        let (piece, rest) = left.split_at(counting.cut(left));
        counting.add(piece);
        left = rest;
    }
    counting.add(left);
    Ok(counting.counted(encoding))
}

pub(super) fn count(source: &mut Source, encoding: &str) -> Result<TokenCount, Error> {
    let mut counting = Counting::by(encoding)?;
    let mut waiting: Vec<u8> = Vec::new();
    let mut at = 0;
    loop {
        let bytes = source.bytes(at, PIECE)?;
        let bytes = bytes.get(..TEXT).unwrap_or(bytes);
        if bytes.is_empty() {
            break;
        }
        at += bytes.len() as u64;
        waiting.extend_from_slice(bytes);
        while waiting.len() > TEXT {
            let cut = counting.cut(&waiting);
            counting.add(waiting.get(..cut).unwrap_or_default());
            waiting.drain(..cut);
        }
    }
    counting.add(&waiting);
    Ok(counting.counted(encoding))
}

struct Counting {
    vocabulary: &'static CoreBpe,
    tokens: u64,
    exact: bool,
}

impl Counting {
    fn by(encoding: &str) -> Result<Self, Error> {
        let Some(vocabulary) = tiktoken::get_encoding(encoding) else {
            return Err(Error::bad_artifact_query(format!(
                "there is no encoding \"{}\": take one of {}, or leave encoding out for an estimate",
                crate::schema::escape(encoding, 40),
                tiktoken::list_encodings().join(", ")
            )));
        };
        Ok(Counting {
            vocabulary,
            tokens: 0,
            exact: true,
        })
    }

    fn counted(self, encoding: &str) -> TokenCount {
        TokenCount {
            tokens: self.tokens,
            encoding: Some(encoding.to_owned()),
            exact: self.exact,
        }
    }

    fn add(&mut self, bytes: &[u8]) {
        let text = String::from_utf8_lossy(bytes);
        self.tokens += self.vocabulary.count(&text) as u64;
    }

    /// Where to cut a text that is too long: where no encoding has a token across, if there is such a place.
    fn cut(&mut self, text: &[u8]) -> usize {
        let nowhere_inside = (1..=TEXT).rev().find(|at| is_between_tokens(text, *at));
        nowhere_inside.unwrap_or_else(|| {
            self.exact = false;
            show::character_start(text, TEXT)
        })
    }
}

/// Before the space between two words, or before a word at the beginning of a line: all of these encodings split there.
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
