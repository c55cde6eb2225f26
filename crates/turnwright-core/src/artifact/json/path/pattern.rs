//! The patterns of a path. The evaluation compiles them for every node, so they must be small, and known before.

use regex_automata::nfa::thompson::NFA;

use super::hint::Fault;
use super::layout::without_quoted;

/// The most that a pattern may take once it is compiled.
const LARGEST: usize = 64 * 1024;

/// How many patterns are written in the path, and how many stand in the document.
pub(super) fn count(text: &str) -> (u64, u64) {
    let (written, found): (Vec<_>, Vec<_>) = patterns(text)
        .into_iter()
        .partition(|(_, pattern)| pattern.is_some());
    (written.len() as u64, found.len() as u64)
}

/// The places of all calls of `match` and `search`, each with its pattern, if that is written there.
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

/// Refuses patterns that are large.
pub(super) fn check(text: &str) -> Result<(), Fault> {
    for (at, pattern) in patterns(text) {
        // One that stands in the document counts for much in what the path costs.
        let Some(pattern) = pattern else {
            continue;
        };
        let config = NFA::config().nfa_size_limit(Some(LARGEST));
        let compiled = NFA::compiler().configure(config).build(&pattern);
        if compiled.is_err_and(|error| error.size_limit().is_some()) {
            return Err(Fault::new(at, "this pattern is too large".to_owned()));
        }
    }
    Ok(())
}

/// The second of the arguments that begin at `start`, if it is text in quotes.
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
    // Escapes other than that of the backslash make no pattern larger than they are.
    Some(
        quoted
            .replace("\\\\", "\u{0}")
            .replace('\\', "")
            .replace('\u{0}', "\\"),
    )
}
