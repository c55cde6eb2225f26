//! The patterns of a path. The evaluation compiles them anew for every node, so they must be small, and known before.

use regex_automata::nfa::thompson::NFA;

use super::hint::Wrong;

/// The most that a pattern may take once it is compiled.
const LARGEST: usize = 64 * 1024;

/// How many patterns are written in the path, and how many stand in the document.
pub(super) fn count(text: &str) -> (u32, u32) {
    patterns(text).fold((0, 0), |(written, found), (_, pattern)| match pattern {
        Some(_) => (written + 1, found),
        None => (written, found + 1),
    })
}

/// The places of all calls of `match` and `search`, and what stands there as the pattern.
fn patterns(text: &str) -> impl Iterator<Item = (usize, Option<String>)> + '_ {
    ["match(", "search("].into_iter().flat_map(move |call| {
        text.match_indices(call).map(move |(at, _)| {
            (
                at,
                second_argument(text.get(at + call.len()..).unwrap_or_default()),
            )
        })
    })
}

/// Refuses patterns that are large.
pub(super) fn check(text: &str) -> Result<(), Wrong> {
    for (at, pattern) in patterns(text) {
        // One that stands in the document counts for much in what the path costs.
        let Some(pattern) = pattern else {
            continue;
        };
        let config = NFA::config().nfa_size_limit(Some(LARGEST));
        let compiled = NFA::compiler().configure(config).build(&pattern);
        if compiled.is_err_and(|error| error.size_limit().is_some()) {
            return Err(Wrong::new(at, "this pattern is too large".to_owned()));
        }
    }
    Ok(())
}

/// The second of the arguments that begin there, if it is text in quotes.
fn second_argument(arguments: &str) -> Option<String> {
    let (mut open, mut quote, mut escaped, mut commas) = (0_u32, None, false, 0);
    let mut second = String::new();
    for c in arguments.chars() {
        match quote {
            Some(_) if escaped => {
                escaped = false;
                // Escapes of JSON other than the backslash make no pattern larger than they are.
                if commas == 1 {
                    second.push(c);
                }
            }
            Some(_) if c == '\\' => escaped = true,
            Some(end) if c == end => {
                if commas == 1 && open == 0 {
                    return Some(second);
                }
                quote = None;
            }
            Some(_) if commas == 1 => second.push(c),
            Some(_) => {}
            None => match c {
                '\'' | '"' => quote = Some(c),
                '(' | '[' => open += 1,
                ')' | ']' => open = open.checked_sub(1)?,
                ',' if open == 0 => commas += 1,
                c if commas == 1 && !c.is_ascii_whitespace() => return None,
                _ => {}
            },
        }
    }
    None
}
