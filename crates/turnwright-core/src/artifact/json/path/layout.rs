//! What a path consists of, as far as it must be known to bound it and to follow it through records: where its segments
//! are, and what its brackets hold. The path is valid; its meaning is left to the parser.

use super::hint::Wrong;
use super::pattern;
use super::slice::Slice;

/// Brackets and parentheses within each other.
const DEEPEST: usize = 32;
/// Filters within each other: the parser's time doubles with each.
const DEEPEST_FILTER: usize = 5;

/// Where the segments of a path are, and what would make it costly.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) segments: Vec<Segment>,
    /// How often it goes to all descendants, in filters too.
    pub(super) deep: u32,
    /// How often a filter looks at the whole document.
    pub(super) roots: u32,
    /// How often the same nodes may be taken: once for each selector in brackets, in filters too.
    pub(super) again: u64,
    /// How often a filter compiles a pattern: those that are written in the path, and those that stand in the document.
    pub(super) patterns: (u32, u32),
    /// How many filters it has, and how many within each other.
    pub(super) filters: u32,
    pub(super) nested_filters: u32,
    /// Where a filter has an index that counts from the end, at which the evaluation finds nothing.
    pub(super) unseen_index: Option<usize>,
}

/// A segment: where it is in the text, and what it selects.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) deep: bool,
    pub(super) parts: Vec<Part>,
}

/// What one selector is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Name,
    Wildcard,
    Index(i64),
    Slice(Slice),
    /// The condition, without its `?`.
    Filter(String),
}

/// Refuses what is nested too much for the parser, in a text that may be no path at all.
pub(super) fn check_nesting(text: &str) -> Result<(), Wrong> {
    let (mut open, mut filters) = (Vec::new(), 0_usize);
    for (at, token) in tokens(text) {
        match token {
            Token::Open => {
                open.push(false);
                if open.len() > DEEPEST {
                    let message = format!("more than {DEEPEST} brackets stand within each other");
                    return Err(Wrong::new(at, message));
                }
            }
            Token::Close => {
                if open.pop() == Some(true) {
                    filters -= 1;
                }
            }
            Token::Filter => {
                if let Some(filter) = open.last_mut().filter(|filter| !**filter) {
                    *filter = true;
                    filters += 1;
                }
                if filters > DEEPEST_FILTER {
                    let message =
                        format!("more than {DEEPEST_FILTER} filters stand within each other");
                    return Err(Wrong::new(at, message));
                }
            }
            Token::Comma | Token::Descent | Token::Root | Token::Other => {}
        }
    }
    Ok(())
}

enum Token {
    /// `[` or `(`.
    Open,
    /// `]` or `)`.
    Close,
    Comma,
    /// `?`.
    Filter,
    /// `..`, at its second dot.
    Descent,
    /// `$`.
    Root,
    Other,
}

/// What stands outside of quotes, each with its place.
fn tokens(text: &str) -> impl Iterator<Item = (usize, Token)> + '_ {
    let (mut quote, mut escaped, mut before) = (None, false, ' ');
    text.char_indices().filter_map(move |(at, c)| {
        let last = std::mem::replace(&mut before, c);
        if let Some(end) = quote {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                c if c == end => quote = None,
                _ => {}
            }
            return None;
        }
        let token = match c {
            '\'' | '"' => {
                quote = Some(c);
                return None;
            }
            '[' | '(' => Token::Open,
            ']' | ')' => Token::Close,
            ',' => Token::Comma,
            '?' => Token::Filter,
            '.' if last == '.' => Token::Descent,
            '$' => Token::Root,
            _ => Token::Other,
        };
        Some((at, token))
    })
}

impl Layout {
    /// Of a valid path.
    pub(super) fn of(text: &str) -> Self {
        let mut layout = Layout {
            again: 1,
            patterns: pattern::count(text),
            ..Layout::default()
        };
        let mut brackets: Vec<bool> = Vec::new();
        // The selectors of every open bracket; a parenthesis has arguments, which are none.
        let mut selectors: Vec<u64> = Vec::new();
        let mut commas = Vec::new();
        let mut filtering = 0_u32;
        for (at, token) in tokens(text) {
            match token {
                Token::Open => {
                    // What stands before the brackets is a dot, two dots or the end of the segment before.
                    if brackets.is_empty() {
                        layout.dots(text, at);
                        commas = vec![at];
                    }
                    brackets.push(false);
                    selectors.push(u64::from(text.as_bytes().get(at) == Some(&b'[')));
                    if filtering > 0 && counts_from_the_end(text, at + 1) {
                        layout.unseen_index.get_or_insert(at);
                    }
                }
                Token::Close => {
                    if brackets.pop() == Some(true) {
                        filtering -= 1;
                    }
                    let selected = selectors.pop().unwrap_or(1).max(1);
                    layout.again = layout.again.saturating_mul(selected);
                    if brackets.is_empty() {
                        commas.push(at);
                        layout.brackets(text, &commas);
                    }
                }
                Token::Comma => {
                    if let Some(selectors) = selectors.last_mut().filter(|it| **it > 0) {
                        *selectors += 1;
                    }
                    if brackets.len() == 1 {
                        commas.push(at);
                    }
                }
                Token::Filter => {
                    if let Some(filter) = brackets.last_mut().filter(|filter| !**filter) {
                        *filter = true;
                        filtering += 1;
                        layout.filters += 1;
                        layout.nested_filters = layout.nested_filters.max(filtering);
                    }
                }
                Token::Descent => layout.deep += 1,
                Token::Root if at > 0 => layout.roots += 1,
                Token::Root | Token::Other => {}
            }
        }
        layout.dots(text, text.len());
        layout
    }

    /// Segments that are written with dots, from the last segment up to a place. Two dots right before it belong to the
    /// brackets there.
    fn dots(&mut self, text: &str, until: usize) {
        let from = self.segments.last().map_or(1, |segment| segment.end);
        let Some(between) = text.get(from..until) else {
            return;
        };
        let mut at = 0;
        while let Some(dot) = between.get(at..).and_then(|rest| rest.find('.')) {
            let start = at + dot;
            let rest = between.get(start..).unwrap_or_default();
            let deep = rest.starts_with("..");
            let name = start + if deep { 2 } else { 1 };
            let rest = between.get(name..).unwrap_or_default();
            let end = rest
                .find(|c: char| c == '.' || c.is_ascii_whitespace())
                .map_or(between.len(), |length| name + length);
            at = end.max(name);
            let Some(written) = between.get(name..end).filter(|it| !it.is_empty()) else {
                // The dots of brackets: `..[`.
                continue;
            };
            let part = match written {
                "*" => Part::Wildcard,
                _ => Part::Name,
            };
            self.segments.push(Segment {
                start: from + start,
                end: from + end,
                deep,
                parts: vec![part],
            });
        }
    }

    /// A segment in brackets, of which the commas are known, with both ends.
    fn brackets(&mut self, text: &str, commas: &[usize]) {
        let (Some(open), Some(close)) = (commas.first().copied(), commas.last().copied()) else {
            return;
        };
        let before = text.get(..open).unwrap_or_default();
        let deep = before.ends_with("..");
        let parts = commas.windows(2).filter_map(|ends| match ends {
            [from, to] => text.get(from + 1..*to).map(Part::of),
            _ => None,
        });
        self.segments.push(Segment {
            start: if deep { open - 2 } else { open },
            end: close + 1,
            deep,
            parts: parts.collect(),
        });
    }

    pub(super) fn is_singular(&self) -> bool {
        self.segments.iter().all(|segment| {
            !segment.deep && matches!(segment.parts.as_slice(), [Part::Name | Part::Index(_)])
        })
    }

    pub(super) fn is_one_selector(&self) -> bool {
        matches!(self.segments.as_slice(), [one] if one.parts.len() == 1)
    }
}

/// Whether an index that counts from the end stands in the brackets that begin there.
fn counts_from_the_end(text: &str, at: usize) -> bool {
    let inside = text.get(at..).unwrap_or_default();
    let inside = inside.split(']').next().unwrap_or_default().trim();
    inside.starts_with('-') && inside.parse::<i64>().is_ok()
}

impl Part {
    fn of(text: &str) -> Self {
        let text = text.trim();
        let number = |text: &str| text.trim().parse().ok();
        if text == "*" {
            Part::Wildcard
        } else if let Some(condition) = text.strip_prefix('?') {
            Part::Filter(condition.trim().to_owned())
        } else if text.starts_with(['\'', '"']) {
            Part::Name
        } else if let Some(index) = number(text) {
            Part::Index(index)
        } else {
            let mut numbers = text.split(':').map(number);
            let mut next = || numbers.next().flatten();
            Part::Slice(Slice {
                start: next(),
                end: next(),
                step: next(),
            })
        }
    }
}
