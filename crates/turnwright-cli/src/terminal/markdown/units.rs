//! Splits Markdown into the units that are rendered on their own: top-level blocks, and the items of top-level lists.

use std::ops::Range;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

/// A block, or an item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) range: Range<usize>,
    pub(super) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Ends with its line: a heading or a rule.
    Line,
    /// Ends at an empty line: a paragraph or a table.
    Paragraph,
    /// An item of a list, whether it is the first one, and the number at which the list starts if it is numbered.
    Item { first: bool, start: Option<u64> },
    /// A code block with fences: its language and its text so far.
    Code { language: String, text: String },
    /// Ends where the next block begins.
    Other,
}

/// The units of a text, in order. Later text can only change the last one.
pub(super) fn units(text: &str) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    let mut depth = 0_usize;
    // The number at which the current top-level list starts, and whether its first item is still to come.
    let mut list: Option<(Option<u64>, bool)> = None;
    for (event, range) in Parser::new_ext(text, super::options()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                let kind = match (depth, &tag) {
                    (0, Tag::List(start)) => {
                        list = Some((*start, true));
                        None
                    }
                    (1, Tag::Item) => list.as_mut().map(|(start, first)| Kind::Item {
                        first: std::mem::take(first),
                        start: *start,
                    }),
                    (0, Tag::Heading { .. }) => Some(Kind::Line),
                    (0, Tag::Paragraph | Tag::Table(_)) => Some(Kind::Paragraph),
                    (0, Tag::CodeBlock(CodeBlockKind::Fenced(language))) => Some(Kind::Code {
                        language: language.to_string(),
                        text: String::new(),
                    }),
                    (0, _) => Some(Kind::Other),
                    _ => None,
                };
                let range = from_line_start(text, range);
                units.extend(kind.map(|kind| Unit { range, kind }));
                depth += 1;
            }
            Event::End(_) => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    list = None;
                }
            }
            Event::Text(more) if depth == 1 => {
                if let Some(Unit {
                    kind: Kind::Code { text, .. },
                    ..
                }) = units.last_mut()
                {
                    text.push_str(&more);
                }
            }
            Event::Rule if depth == 0 => units.push(Unit {
                range,
                kind: Kind::Line,
            }),
            _ if depth == 0 => units.push(Unit {
                range,
                kind: Kind::Other,
            }),
            _ => {}
        }
    }
    units
}

/// With the indentation of the first line, which code needs.
fn from_line_start(text: &str, range: Range<usize>) -> Range<usize> {
    let before = text.get(..range.start).unwrap_or_default();
    let start = before.trim_end_matches(' ').len();
    let at_line_start = start == 0 || before.as_bytes().get(start - 1) == Some(&b'\n');
    match at_line_start {
        true => start..range.end,
        false => range,
    }
}
