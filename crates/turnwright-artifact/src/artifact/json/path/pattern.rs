//! Patterns in paths. The evaluation compiles them again for every node, so their size is limited before.

use regex_automata::nfa::thompson::NFA;

use super::layout::{Fault, without_quoted};

/// Maximum size of a compiled pattern in bytes.
const LARGEST: usize = 64 * 1024;

/// Returns how many patterns are written in the path, and how many come from the document.
pub(super) fn count(text: &str) -> (u64, u64) {
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
pub(super) fn check(text: &str) -> Result<(), Fault> {
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
