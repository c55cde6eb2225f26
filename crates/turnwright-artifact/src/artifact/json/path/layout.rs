//! The structure of a path, as far as needed to limit its cost and to evaluate it on records: the positions of its segments and
//! the contents of its brackets. The parser decides what is valid.

use std::fmt;

use crate::schema::escape;

/// Maximum nesting of brackets and parentheses.
const DEEPEST: usize = 32;
/// Maximum nesting of filters. The parser's time doubles with each level.
const DEEPEST_FILTER: u32 = 5;

/// The segments of a path, and what makes it expensive.
#[derive(Clone, Debug, Default)]
pub(super) struct Layout {
    pub(super) segments: Vec<Segment>,
    /// Number of descendant segments (`..`), including those in filters.
    pub(super) deep: u32,
    /// Number of references to `$` in filters.
    pub(super) roots: u32,
    /// How many times the same nodes may be visited: once for each selector in brackets, including those in filters.
    pub(super) again: u64,
    /// How many times a filter compiles a pattern: patterns written in the path, and patterns that come from the document.
    pub(super) patterns: (u64, u64),
    /// Number of filters, and their maximum nesting.
    pub(super) filters: u32,
    pub(super) nested_filters: u32,
    /// Position of a negative index in a filter. The evaluation finds nothing at such an index.
    pub(super) unseen_index: Option<usize>,
}

/// A segment: its position in the text and its selectors.
#[derive(Clone, Debug)]
pub(super) struct Segment {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) deep: bool,
    pub(super) parts: Vec<Part>,
}

/// A selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Name,
    Index(i64),
    /// A slice or the wildcard.
    Slice(Slice),
    /// A filter condition, without the `?`.
    Filter(String),
}

/// Replaces quoted text with spaces. Positions stay the same.
pub(super) fn without_quoted(text: &str) -> String {
    let (mut bare, mut quote, mut escaped) = (String::with_capacity(text.len()), None, false);
    for c in text.chars() {
        let quoted = quote.is_some();
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(end) if c == end => quote = None,
            Some(_) => {}
            None => quote = matches!(c, '\'' | '"').then_some(c),
        }
        if quoted && quote.is_some() {
            bare.extend(std::iter::repeat_n(' ', c.len_utf8()));
        } else {
            bare.push(c);
        }
    }
    bare
}

/// An open bracket or parenthesis.
struct Open {
    filter: bool,
    /// Number of selectors. 0 for a parenthesis, which has arguments.
    selectors: u64,
}

impl Layout {
    /// Scans a text, which may not be a valid path.
    ///
    /// # Errors
    /// Returns an error if the nesting is too deep for the parser.
    pub(super) fn of(text: &str) -> Result<Self, Fault> {
        let mut layout = Layout {
            again: 1,
            ..Layout::default()
        };
        let mut open: Vec<Open> = Vec::new();
        let mut commas = Vec::new();
        let (mut filtering, mut last) = (0, ' ');
        let bare = without_quoted(text);
        let too_deep = |at: usize, most: u64, what: &str| {
            Fault::new(at, format!("more than {most} nested {what}"))
        };
        for (at, c) in bare.char_indices() {
            match c {
                '[' | '(' => {
                    // Before the brackets is a dot, two dots or the end of the previous segment.
                    if open.is_empty() {
                        layout.dots(text, at);
                        commas = vec![at];
                    }
                    open.push(Open {
                        filter: false,
                        selectors: u64::from(c == '['),
                    });
                    if open.len() > DEEPEST {
                        return Err(too_deep(at, DEEPEST as u64, "brackets"));
                    }
                    if filtering > 0 && counts_from_the_end(&bare, at + 1) {
                        layout.unseen_index.get_or_insert(at);
                    }
                }
                ']' | ')' => {
                    if let Some(closed) = open.pop() {
                        filtering -= u32::from(closed.filter);
                        layout.again = layout.again.saturating_mul(closed.selectors.max(1));
                    }
                    if open.is_empty() {
                        commas.push(at);
                        layout.brackets(text, &commas);
                    }
                }
                ',' => {
                    if let Some(list) = open.last_mut().filter(|list| list.selectors > 0) {
                        list.selectors += 1;
                    }
                    if open.len() == 1 {
                        commas.push(at);
                    }
                }
                '?' => {
                    if let Some(list) = open.last_mut().filter(|list| !list.filter) {
                        list.filter = true;
                        filtering += 1;
                        layout.filters += 1;
                        layout.nested_filters = layout.nested_filters.max(filtering);
                    }
                    if filtering > DEEPEST_FILTER {
                        return Err(too_deep(at, DEEPEST_FILTER.into(), "filters"));
                    }
                }
                '.' if last == '.' => layout.deep += 1,
                '$' if at > 0 => layout.roots += 1,
                _ => {}
            }
            last = c;
        }
        layout.dots(text, text.len());
        Ok(layout)
    }

    /// Adds the segments in dot notation between the last segment and `until`. Two dots immediately before `until` belong to the
    /// brackets there.
    fn dots(&mut self, text: &str, until: usize) {
        let mut at = self.segments.last().map_or(1, |segment| segment.end);
        while let Some(dot) = text.get(at..until).and_then(|rest| rest.find('.')) {
            let start = at + dot;
            let rest = text.get(start..until).unwrap_or_default();
            let deep = rest.starts_with("..");
            let name = rest.trim_start_matches('.');
            let length = name.find(|c: char| c == '.' || c.is_ascii_whitespace());
            let name = name.get(..length.unwrap_or(name.len())).unwrap_or_default();
            at = start + if deep { 2 } else { 1 } + name.len();
            // The dots of brackets (`..[`) have no name.
            if !name.is_empty() {
                self.segments.push(Segment {
                    start,
                    end: at,
                    deep,
                    parts: vec![match name {
                        "*" => Part::Slice(Slice::default()),
                        _ => Part::Name,
                    }],
                });
            }
        }
    }

    /// Adds a segment in brackets. `commas` has the positions of its commas and of both ends.
    fn brackets(&mut self, text: &str, commas: &[usize]) {
        let (Some(open), Some(close)) = (commas.first().copied(), commas.last().copied()) else {
            return;
        };
        let deep = text
            .get(..open)
            .is_some_and(|before| before.ends_with(".."));
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

/// Returns whether the brackets at this position contain a negative index.
fn counts_from_the_end(text: &str, at: usize) -> bool {
    let inside = text.get(at..).unwrap_or_default();
    let inside = inside.split(']').next().unwrap_or_default().trim();
    inside.starts_with('-') && inside.parse::<i64>().is_ok()
}

impl Part {
    fn of(text: &str) -> Self {
        let text = text.trim();
        let number = |text: &str| text.trim().parse().ok();
        if let Some(condition) = text.strip_prefix('?') {
            Part::Filter(condition.trim().to_owned())
        } else if text.starts_with(['\'', '"']) {
            Part::Name
        } else if let Some(index) = number(text) {
            Part::Index(index)
        } else {
            // In a wildcard, none of the three is a number.
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

/// `start:end:step`. The default selects the whole array.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::artifact::json) struct Slice {
    pub(super) start: Option<i64>,
    pub(super) end: Option<i64>,
    pub(super) step: Option<i64>,
}

impl Slice {
    /// A slice of one element.
    pub(super) fn at(index: i64) -> Self {
        Slice {
            start: Some(index),
            end: index.checked_add(1).filter(|end| *end != 0),
            step: None,
        }
    }

    /// Returns the selected indices of an array with `len` elements, in order. The step must not be negative.
    pub(in crate::artifact::json) fn over(&self, len: u64) -> impl Iterator<Item = u64> {
        let len = i64::try_from(len).unwrap_or(i64::MAX);
        let from_start = |at: i64| if at < 0 { len + at } else { at }.clamp(0, len);
        let first = from_start(self.start.unwrap_or(0));
        let end = from_start(self.end.unwrap_or(len));
        // A step of 0 selects nothing.
        let step = usize::try_from(self.step.unwrap_or(1)).unwrap_or(0);
        let end = if step == 0 { first } else { end };
        let indices = (first..end).step_by(step.max(1));
        indices.filter_map(|at| u64::try_from(at).ok())
    }

    /// Returns whether the indices do not depend on the length.
    pub(in crate::artifact::json) fn counts_from_start(&self) -> bool {
        self.start.is_none_or(|start| start >= 0) && self.end.is_none_or(|end| end >= 0)
    }
}

impl fmt::Display for Slice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |number: Option<i64>| number.map_or_else(String::new, |n| n.to_string());
        write!(f, "{}:{}", part(self.start), part(self.end))?;
        self.step.map_or(Ok(()), |step| write!(f, ":{step}"))
    }
}

/// An error in a path, and its byte offset.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) at: usize,
    message: String,
}

impl Fault {
    pub(super) fn new(at: usize, message: String) -> Self {
        Fault { at, message }
    }

    /// Converts a parser error. Replaces messages that say nothing about the cause.
    pub(super) fn of(text: &str, error: &serde_json_path::ParseError) -> Self {
        let (at, message) = (error.position(), error.message());
        let message = match message {
            _ if at >= text.len() => "unexpected end",
            _ if message.contains("closing ']'") => "expected `]` or `,`",
            _ if message.contains("in function") => message.rsplit(", ").next().unwrap_or(message),
            _ => "unexpected character",
        };
        Fault::new(at, message.to_owned())
    }

    /// Describes the error and its position. The text starts at `offset` in the path that was parsed.
    pub(super) fn describe(&self, text: &str, offset: usize, what: &str) -> String {
        let at = text.floor_char_boundary(self.at.saturating_sub(offset));
        let character = text.get(..at).unwrap_or("").chars().count();
        let (shown, message) = (escape(text, 60), &self.message);
        format!("Invalid {what} `{shown}`: {message} at character {character}.")
    }
}
