//! What a path consists of, as far as it must be known to bound it and to follow it through records: where its segments
//! are, and what its brackets hold. What is valid is for the parser to say.

use super::hint::Fault;
use super::pattern;
use super::slice::Slice;

/// Brackets and parentheses within each other.
const DEEPEST: usize = 32;
/// Filters within each other: the parser's time doubles with each.
const DEEPEST_FILTER: u32 = 5;

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
    pub(super) patterns: (u64, u64),
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
    Index(i64),
    /// The wildcard too.
    Slice(Slice),
    /// The condition, without its `?`.
    Filter(String),
}

/// The text with blanks for what stands in quotes. All else stays in its place.
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
        match quoted && quote.is_some() {
            true => bare.extend(std::iter::repeat_n(' ', c.len_utf8())),
            false => bare.push(c),
        }
    }
    bare
}

/// A bracket or parenthesis that is open.
struct Open {
    filter: bool,
    /// The number of selectors; 0 for a parenthesis, which has arguments.
    selectors: u64,
}

impl Layout {
    /// The layout of a text, which may be no path at all.
    ///
    /// # Errors
    /// It is nested too much for the parser.
    pub(super) fn of(text: &str) -> Result<Self, Fault> {
        let mut layout = Layout {
            again: 1,
            patterns: pattern::count(text),
            ..Layout::default()
        };
        let mut open: Vec<Open> = Vec::new();
        let mut commas = Vec::new();
        let (mut filtering, mut last) = (0, ' ');
        let bare = without_quoted(text);
        let too_deep = |at: usize, most: u64, what: &str| {
            Fault::new(
                at,
                format!("more than {most} {what} stand within each other"),
            )
        };
        for (at, c) in bare.char_indices() {
            match c {
                '[' | '(' => {
                    // What stands before the brackets is a dot, two dots or the end of the segment before.
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

    /// Segments that are written with dots, from the last segment up to a place. Two dots right before it belong to the
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

    /// A segment in brackets, of which the commas are known, with both ends.
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
        if let Some(condition) = text.strip_prefix('?') {
            Part::Filter(condition.trim().to_owned())
        } else if text.starts_with(['\'', '"']) {
            Part::Name
        } else if let Some(index) = number(text) {
            Part::Index(index)
        } else {
            // None of the three is a number in a wildcard.
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
