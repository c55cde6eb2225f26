//! Compiled patterns.

use std::ops::Range;

use grep_matcher::{LineMatchKind, Matcher};
use grep_regex::{ErrorKind, RegexMatcher, RegexMatcherBuilder};
use memchr::{memchr, memrchr};
use regex_automata::Input;
use regex_automata::meta::Regex;
use regex_automata::util::syntax;

use crate::error::Error;

/// Maximum size in bytes of a compiled pattern, and of the states cached during a search.
const COMPILED: usize = 2 * 1024 * 1024;

/// Maximum nesting of groups.
const NESTED: u32 = 100;

/// A compiled pattern. It never matches across lines.
pub(super) struct Pattern {
    /// Searches many lines at once, using required literals if there are any.
    lines: RegexMatcher,
    /// Searches one line, or a part of it that takes the surrounding text into account.
    one_line: Regex,
    /// Whether the pattern refers to the ends of the text, which only the search of a single line can handle.
    line_by_line: bool,
}

impl Pattern {
    pub(super) fn new(pattern: &str, literal: bool, ignore_case: bool) -> Result<Self, Error> {
        if pattern.contains('\n') {
            return Err(across_lines());
        }
        let escaped;
        let expression = if literal {
            escaped = regex_syntax::escape(pattern);
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

    /// Finds the first matching line in complete lines, from the start of a line. The range excludes the line break.
    pub(super) fn find_line(&self, text: &[u8], mut from: usize) -> Option<Range<usize>> {
        if self.line_by_line {
            return self.find_line_by_line(text, from);
        }
        loop {
            let rest = text.get(from..)?;
            // The error type is uninhabited.
            let (place, sure) = match self.lines.find_candidate_line(rest) {
                Ok(Some(LineMatchKind::Confirmed(place))) => (from + place, true),
                Ok(Some(LineMatchKind::Candidate(place))) => (from + place, false),
                Ok(None) | Err(_) => return None,
            };
            let begin = memrchr(b'\n', text.get(from..place)?).map_or(from, |end| from + end + 1);
            let end = memchr(b'\n', text.get(place..)?).map_or(text.len(), |end| place + end);
            if begin >= text.len() {
                // After the last newline there may be an empty match, but no line.
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

    /// Finds the first match in a part of a line. `^`, `$` and `\b` take the text around the part into account.
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
        (None, Some(_)) => "the compiled pattern is too large: use fewer repetitions".to_owned(),
        (None, None) => error.to_string(),
    })
}

fn bad(pattern: &str, why: &str) -> Error {
    // The complete error quotes the pattern and marks the position. That is useful only if the pattern is short.
    let last = why.lines().last().unwrap_or_default();
    let why = if pattern.len() > 200 { last } else { why };
    // A pattern with escapes is meant as a regular expression.
    let advice = if pattern.contains('\\') {
        ""
    } else {
        " To search for plain text, set literal=true."
    };
    Error::bad_artifact_query(format!("Invalid pattern: {why}.{advice}"))
}

fn across_lines() -> Error {
    Error::bad_artifact_query(
        "Invalid pattern: it contains a newline, but a match cannot span lines. Search for a part that is on one line, and set context=n to see the lines around it.",
    )
}
