//! A pattern, ready to search.

use std::ops::Range;

use grep_matcher::{LineMatchKind, Matcher};
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use memchr::{memchr, memrchr};
use regex_automata::Input;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use crate::error::Error;

/// The most bytes of a compiled pattern, and of the states that searching makes of it.
const COMPILED: usize = 2 * 1024 * 1024;

/// How deep groups may lie in each other.
const NESTED: u32 = 100;

/// A compiled pattern. It never matches across lines.
pub(super) struct Pattern {
    /// Searches many lines at once, by the literals that a match must have where there are some.
    lines: RegexMatcher,
    /// Searches one line, or a part of it with a look at what stands around it.
    one_line: Regex,
    /// Whether it asks for the ends of the text, which only the search of a single line knows.
    line_by_line: bool,
}

impl Pattern {
    pub(super) fn new(pattern: &str, literal: bool, ignore_case: bool) -> Result<Self, Error> {
        if pattern.contains('\n') {
            return Err(across_lines());
        }
        let escaped;
        let expression = if literal {
            escaped = escape(pattern);
            &escaped
        } else {
            pattern
        };
        let one_line = one_line(expression, ignore_case).map_err(|text| bad(pattern, &text))?;
        let lines = RegexMatcherBuilder::new()
            .case_insensitive(ignore_case)
            .multi_line(true)
            .unicode(true)
            .line_terminator(Some(b'\n'))
            .size_limit(COMPILED)
            .dfa_size_limit(COMPILED)
            .nest_limit(NESTED)
            .build(expression)
            .map_err(|error| match error.kind() {
                ErrorKind::NotAllowed(_) => across_lines(),
                _ => bad(pattern, &error.to_string()),
            })?;
        Ok(Pattern {
            line_by_line: lines.line_terminator().is_none(),
            lines,
            one_line,
        })
    }

    /// The first matching line in whole lines, from the beginning of a line on, without its end.
    pub(super) fn find_line(&self, text: &[u8], mut from: usize) -> Option<Range<usize>> {
        if self.line_by_line {
            return self.find_line_by_line(text, from);
        }
        loop {
            let rest = text.get(from..)?;
            // Its error is one that cannot be made.
            let (place, sure) = match self.lines.find_candidate_line(rest) {
                Ok(Some(LineMatchKind::Confirmed(place))) => (from + place, true),
                Ok(Some(LineMatchKind::Candidate(place))) => (from + place, false),
                Ok(None) | Err(_) => return None,
            };
            let begin = memrchr(b'\n', text.get(from..place)?).map_or(from, |end| from + end + 1);
            let end = memchr(b'\n', text.get(place..)?).map_or(text.len(), |end| place + end);
            if begin >= text.len() {
                // After the last newline, where an empty match may stand and no line does.
                return None;
            }
            if sure || self.lines.is_match(text.get(begin..end)?).unwrap_or(false) {
                return Some(begin..end);
            }
            from = end + 1;
        }
    }

    fn find_line_by_line(&self, text: &[u8], mut from: usize) -> Option<Range<usize>> {
        while from < text.len() {
            let rest = text.get(from..)?;
            let end = memchr(b'\n', rest).unwrap_or(rest.len());
            if self.one_line.is_match(rest.get(..end)?) {
                return Some(from..from + end);
            }
            from += end + 1;
        }
        None
    }

    /// The first match in a line.
    pub(super) fn find_in_line(&self, line: &[u8]) -> Option<Range<usize>> {
        self.find_in_part(line, 0..line.len())
    }

    /// The first match in a part of a line; what stands around the part is seen by `^`, `$` and `\b`.
    pub(super) fn find_in_part(&self, line: &[u8], part: Range<usize>) -> Option<Range<usize>> {
        if part.start > part.end || part.end > line.len() {
            return None;
        }
        let found = self.one_line.find(Input::new(line).range(part))?;
        Some(found.range())
    }
}

fn one_line(expression: &str, ignore_case: bool) -> Result<Regex, String> {
    let syntax = syntax::Config::new()
        .case_insensitive(ignore_case)
        .multi_line(true)
        .unicode(true)
        .utf8(false)
        .nest_limit(NESTED);
    let bounds = Regex::config()
        .utf8_empty(false)
        .nfa_size_limit(Some(COMPILED))
        .hybrid_cache_capacity(COMPILED);
    let built = Regex::builder()
        .syntax(syntax)
        .configure(bounds)
        .build(expression);
    built.map_err(|error| match (error.syntax_error(), error.size_limit()) {
        (Some(syntax), _) => syntax.to_string(),
        (None, Some(_)) => "it is too large when compiled: repeat less".to_owned(),
        (None, None) => error.to_string(),
    })
}

/// Plain text as an expression: everything that could mean something by its code.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() && !c.is_ascii_alphanumeric() {
            escaped.push_str(&format!("\\x{:02X}", u32::from(c)));
        } else {
            escaped.push(c);
        }
    }
    escaped
}

fn bad(pattern: &str, why: &str) -> Error {
    // The whole of it shows the pattern and marks the place, which helps if the pattern is short.
    let last = why.lines().last().unwrap_or_default();
    let why = if pattern.len() > 200 { last } else { why };
    // Who escapes knows that it is an expression.
    let advice = if pattern.contains('\\') {
        ""
    } else {
        " To look for plain text, say literal=true."
    };
    Error::bad_artifact_query(format!("The pattern was refused: {why}.{advice}"))
}

fn across_lines() -> Error {
    Error::bad_artifact_query(
        "The pattern was refused: it asks for a newline, but lines are searched one by one. Look for a part that stands in one line, with context=n to see the lines around it.",
    )
}
