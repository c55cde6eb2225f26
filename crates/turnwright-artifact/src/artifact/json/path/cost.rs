//! Limits the cost of a path before evaluation, because evaluation cannot be interrupted and compiles patterns again for every
//! node.

use regex_automata::nfa::thompson::NFA;
use serde_json::Value;

use super::layout::{Fault, Layout, without_quoted};
use crate::error::Error;
use crate::schema::clip;

/// Maximum number of node visits.
const MOST: u64 = 20_000_000;
/// Cost of compiling a pattern, in node visits.
const PATTERN: u64 = 100;
/// Cost of compiling a pattern that comes from the document and may have the maximum size.
const FOUND_PATTERN: u64 = 20_000;
/// A string counts as one more node per this many bytes, because it may be compared.
const BYTES: u64 = 32;

/// Rejects a path that might visit too many nodes of a document.
pub(super) fn check(path: &str, layout: &Layout, document: &Value) -> Result<(), Error> {
    let (nodes, levels) = size(document);
    // Each selector visits its nodes again. A further `..` or filter may start again at every level. A reference to `$` visits
    // the whole document for every node, and again for every node of a nested filter. A pattern is compiled for every node.
    let below = layout.deep.saturating_add(layout.nested_filters);
    let (written, found) = layout.patterns;
    let looks = nodes.saturating_pow(layout.roots.min(layout.nested_filters));
    let all = [
        layout.again,
        levels.saturating_pow(below.saturating_sub(1)),
        u64::from(layout.filters + layout.roots).saturating_add(1),
        looks.saturating_add(written * PATTERN + found * FOUND_PATTERN),
    ];
    if all.into_iter().fold(nodes, u64::saturating_mul) > MOST {
        return Err(too_many_steps(path));
    }
    Ok(())
}

pub(super) fn too_many_steps(path: &str) -> Error {
    let path = clip(path, 100);
    Error::bad_artifact_query(format!(
        "`{path}` takes too many steps on this document. Use a narrower path: fewer `..`, fewer selectors in one pair of \
         brackets, and no filter that refers to `$` or matches a pattern on many nodes."
    ))
}

/// Returns the number of nodes of a document, where long strings count more, and its depth.
fn size(document: &Value) -> (u64, u64) {
    let all = |children: &mut dyn Iterator<Item = &Value>| {
        children
            .map(size)
            .fold((1, 1), |(nodes, levels), (more, below)| {
                (nodes + more, levels.max(below + 1))
            })
    };
    match document {
        Value::Array(items) => all(&mut items.iter()),
        Value::Object(members) => all(&mut members.values()),
        Value::String(text) => (1 + text.len() as u64 / BYTES, 1),
        _ => (1, 1),
    }
}

/// Maximum size of a compiled pattern in bytes.
const LARGEST: usize = 64 * 1024;

/// Returns how many patterns are written in the path, and how many come from the document.
pub(super) fn count_patterns(text: &str) -> (u64, u64) {
    let (written, found): (Vec<_>, Vec<_>) = patterns(text)
        .into_iter()
        .partition(|(_, pattern)| pattern.is_some());
    (written.len() as u64, found.len() as u64)
}

/// Returns the positions of all calls of `match` and `search`, each with its pattern if it is a literal.
fn patterns(text: &str) -> Vec<(usize, Option<String>)> {
    let bare = without_quoted(text);
    let calls = ["match(", "search("].into_iter().flat_map(|call| {
        let calls = bare.match_indices(call);
        calls.map(move |(at, _)| (at, at + call.len()))
    });
    calls
        .map(|(at, start)| (at, second_argument(text, &bare, start)))
        .collect()
}

/// Rejects large patterns.
pub(super) fn check_patterns(text: &str) -> Result<(), Fault> {
    for (at, pattern) in patterns(text) {
        // A pattern that comes from the document has a high cost instead.
        let Some(pattern) = pattern else {
            continue;
        };
        let config = NFA::config().nfa_size_limit(Some(LARGEST));
        let compiled = NFA::compiler().configure(config).build(&pattern);
        if compiled.is_err_and(|error| error.size_limit().is_some()) {
            return Err(Fault::new(at, "the pattern is too large".to_owned()));
        }
    }
    Ok(())
}

/// Returns the second argument of the list that starts at `start`, if it is a quoted string.
fn second_argument(text: &str, bare: &str, start: usize) -> Option<String> {
    let mut open = 0_u32;
    let mut ends = bare.get(start..)?.char_indices().filter(|(_, c)| {
        let top = open == 0;
        match c {
            '(' | '[' => open += 1,
            ')' | ']' => open = open.saturating_sub(1),
            _ => {}
        }
        top && matches!(c, ',' | ')')
    });
    let (comma, end) = (ends.next()?.0, ends.next()?.0);
    let argument = text.get(start + comma + 1..start + end)?.trim();
    let quoted = argument.strip_prefix(['\'', '"'])?;
    let quoted = quoted.strip_suffix(['\'', '"'])?;
    // Only the backslash escape must be resolved: other escapes do not make the pattern larger.
    Some(
        quoted
            .replace("\\\\", "\u{0}")
            .replace('\\', "")
            .replace('\u{0}', "\\"),
    )
}
