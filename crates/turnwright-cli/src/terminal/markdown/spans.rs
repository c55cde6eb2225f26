//! Styled text, and how it is broken into lines.

use anstyle::Style;

use crate::terminal::flow::{columns, columns_of};
use crate::terminal::plain;
use crate::terminal::style::paint;

/// A piece of text in one style. A `\n` is a line break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    text: String,
    style: Style,
}

impl Span {
    /// Text of the model: escaped, and tabs become spaces.
    pub(super) fn new(text: &str, style: Style) -> Self {
        Span {
            text: plain(text).replace('\t', "    "),
            style,
        }
    }

    /// The text in its style. Text without a style has no escape sequences.
    pub(super) fn painted(&self) -> String {
        match self.text.is_empty() || self.style == Style::new() {
            true => self.text.clone(),
            false => paint(self.style, &self.text),
        }
    }

    pub(super) fn line_break() -> Self {
        Span::new("\n", Style::new())
    }
}

/// The columns of the widest line.
pub(super) fn widest(spans: &[Span]) -> usize {
    let text: String = spans.iter().map(|span| span.text.as_str()).collect();
    text.split('\n').map(columns).max().unwrap_or_default()
}

/// A line that is being filled.
#[derive(Default)]
struct Line {
    text: String,
    used: usize,
}

impl Line {
    fn push(&mut self, text: &str, style: Style) {
        if !text.is_empty() {
            self.text.push_str(&match style == Style::new() {
                true => text.to_owned(),
                false => paint(style, text),
            });
            self.used += columns(text);
        }
    }
}

/// Breaks text between words into lines of at most `width` columns. A word that is wider than a line is broken too.
pub(super) fn wrap(spans: &[Span], width: usize) -> Vec<String> {
    let width = width.max(2);
    let (mut lines, mut line) = (Vec::new(), Line::default());
    for pieces in words(spans) {
        match pieces {
            Piece::Break => lines.push(std::mem::take(&mut line).text),
            Piece::Word { space, parts } => {
                let (space, space_style) = space;
                let wide: usize = parts.iter().map(|(text, _)| columns(text)).sum();
                let gap = if line.used == 0 { 0 } else { space };
                if line.used > 0 && line.used + gap + wide > width {
                    lines.push(std::mem::take(&mut line).text);
                } else {
                    line.push(&" ".repeat(gap), space_style);
                }
                for (text, style) in parts {
                    push_word(&mut lines, &mut line, &text, style, width);
                }
            }
        }
    }
    if line.used > 0 || !line.text.is_empty() {
        lines.push(line.text);
    }
    lines
}

/// Adds a part of a word, character by character if it does not fit.
fn push_word(lines: &mut Vec<String>, line: &mut Line, text: &str, style: Style, width: usize) {
    let mut part = String::new();
    let mut used = line.used;
    for ch in text.chars() {
        let wide = columns_of(ch);
        if used + wide > width {
            line.push(&part, style);
            part.clear();
            lines.push(std::mem::take(line).text);
            used = 0;
        }
        part.push(ch);
        used += wide;
    }
    line.push(&part, style);
}

enum Piece {
    Break,
    /// A word with the number of spaces before it and their style. Its parts may differ in style.
    Word {
        space: (usize, Style),
        parts: Vec<(String, Style)>,
    },
}

fn words(spans: &[Span]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let (mut space, mut parts): ((usize, Style), Vec<(String, Style)>) = Default::default();
    let end =
        |pieces: &mut Vec<Piece>, space: &mut (usize, Style), parts: &mut Vec<(String, Style)>| {
            if !parts.is_empty() {
                pieces.push(Piece::Word {
                    space: std::mem::take(space),
                    parts: std::mem::take(parts),
                });
            }
        };
    for span in spans {
        for ch in span.text.chars() {
            match ch {
                '\n' => {
                    end(&mut pieces, &mut space, &mut parts);
                    space = (0, Style::new());
                    pieces.push(Piece::Break);
                }
                ' ' => {
                    end(&mut pieces, &mut space, &mut parts);
                    space = (space.0 + 1, span.style);
                }
                ch => match parts.last_mut() {
                    Some((text, style)) if *style == span.style => text.push(ch),
                    _ => parts.push((ch.to_string(), span.style)),
                },
            }
        }
    }
    end(&mut pieces, &mut space, &mut parts);
    pieces
}

/// Whether these spans are exactly this text.
pub(super) fn is_text(spans: &[Span], text: &str) -> bool {
    let shown: String = spans.iter().map(|span| span.text.as_str()).collect();
    shown == text
}
