//! Error messages for invalid paths, with hints how to fix them.

use super::JsonPath;
use super::layout::{Fault, without_quoted};
use crate::schema::clip;

/// The prefix that turns a condition into a path, so that it can be parsed by itself.
pub(super) const BEFORE_CONDITION: &str = "$[?";

const EXAMPLES: &str = "Valid paths: `$.items[0].name`, `$.items[?@.price > 10]['first name']`.";
const CONDITIONS: &str =
    "Valid conditions: `@.level == 'error' && @.ms > 100`, `match(@.name, 'a.*')`.";

/// The message for an invalid path.
pub(super) fn bad_path(text: &str, fault: &Fault) -> String {
    let hint = path_hint(text).map_or_else(String::new, |hint| format!(" {hint}"));
    format!("{}{hint} {EXAMPLES}", fault.describe(text, 0, "JSONPath"))
}

/// The message for an invalid condition.
pub(super) fn bad_condition(text: &str, fault: &Fault) -> String {
    let hint = condition_hint(text).map_or_else(String::new, |hint| format!(" {hint}"));
    let fault = fault.describe(text, BEFORE_CONDITION.len(), "filter condition");
    format!("{fault}{hint} {CONDITIONS}")
}

/// Hints for paths in the syntax of other tools.
fn path_hint(text: &str) -> Option<String> {
    let trimmed = text.trim();
    let good = |candidate: &str| JsonPath::read(candidate).is_ok();
    let suggest = |candidate: String| {
        let known = good(&candidate);
        known.then(|| format!("Start the path with `$`: `{}`.", clip(&candidate, 100)))
    };
    if trimmed.is_empty() {
        return Some("Use `$` for the whole document.".to_owned());
    }
    if trimmed != text && good(trimmed) {
        return Some("Remove the spaces before and after the path.".to_owned());
    }
    if let Some(pointer) = trimmed.strip_prefix('/') {
        let mut path = String::from("$");
        for part in pointer.split('/') {
            let part = part.replace("~1", "/").replace("~0", "~");
            if part.bytes().all(|byte| byte.is_ascii_digit()) && !part.is_empty() {
                path += &format!("[{part}]");
            } else {
                path += &format!("['{}']", part.replace('\\', "\\\\").replace('\'', "\\'"));
            }
        }
        return suggest(path);
    }
    if !trimmed.starts_with('$') {
        let rest = trimmed.strip_prefix('@').unwrap_or(trimmed);
        return suggest(format!("${rest}"))
            .or_else(|| suggest(format!("$.{rest}")))
            .or_else(|| Some("A path starts with `$`, the whole document.".to_owned()));
    }
    in_brackets(trimmed)
}

/// Hints for names that need brackets and quotes, and for indices that need brackets.
fn in_brackets(text: &str) -> Option<String> {
    let Err(fault) = JsonPath::read(text) else {
        return None;
    };
    let before = text.get(..fault.at)?;
    let rest = text.get(fault.at..)?;
    let index = rest.bytes().take_while(u8::is_ascii_digit).count();
    if index > 0 && before.ends_with('.') {
        let index = rest.get(..index)?;
        return Some(format!("Write an index in brackets: `[{index}]`."));
    }
    let odd = |c: char| !matches!(c, '.' | '[' | ']' | ' ');
    let named = |text: &str| text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if let Some(rest) = rest.strip_prefix('[').filter(|rest| named(rest)) {
        let name: String = rest.chars().take_while(|c| odd(*c)).take(40).collect();
        return Some(format!(
            "Write a name in brackets with quotes: `['{name}']`."
        ));
    }
    if rest.starts_with('-') {
        let start = before.rfind(['.', ']']).map_or(0, |at| at + 1);
        let second: String = rest.chars().take_while(|c| odd(*c)).take(40).collect();
        let first = clip(before.get(start..)?, 60);
        return Some(format!(
            "Write this name in brackets and quotes: `['{first}{second}']`."
        ));
    }
    None
}

/// Hints for conditions in the syntax of other languages.
fn condition_hint(text: &str) -> Option<&'static str> {
    let bare = without_quoted(text);
    let words = || bare.split(|c: char| !c.is_alphanumeric() && c != '_');
    let has = |word: &str| words().any(|known| known.eq_ignore_ascii_case(word));
    let after = |operator: &str| bare.split(operator).nth(1).map(str::trim_start);
    let compared = ["==", "!=", "<", ">"];
    let unquoted = |rest: &str| {
        let word: String = rest.chars().take_while(|c| c.is_alphanumeric()).collect();
        let known = matches!(word.as_str(), "true" | "false" | "null")
            || FUNCTIONS.contains(&word.as_str());
        word.starts_with(char::is_alphabetic) && !known
    };
    Some(match () {
        () if bare.contains("=~") => {
            "Match patterns with `match(@.name, 'a.*')` (the complete string) or `search(@.name, 'a')` (a part of it)."
        }
        () if has("and") => "Use `&&` for and.",
        () if has("or") => "Use `||` for or.",
        () if has("not") => "Use `!` for not, as in `!(@.a == 1)`.",
        () if bare.contains("[-") => {
            "Use an index from the front, or `value` with a slice: `value(@.a[-1:]) == 1`."
        }
        () if calls(&bare).any(|name| !FUNCTIONS.contains(&name)) => {
            "The available functions are `length`, `count`, `match`, `search` and `value`."
        }
        () if has("match") || has("search") => {
            "`match(…)` and `search(…)` already return true or false. Do not compare them."
        }
        () if bare.contains("[*]") || bare.contains("..") || bare.contains(".*") => {
            "A path that can match many nodes cannot be compared. Use `count(@.a[*])` or `value(@..a)`."
        }
        () if bare.trim_start().starts_with('!') => {
            "Put parentheses around what you negate: `!(@.a == 1)`."
        }
        () if bare
            .replace("==", "")
            .replace(['!', '<', '>'], "")
            .contains('=')
            && !bare.contains("==") =>
        {
            "Use `==` for equality."
        }
        () if compared.into_iter().filter_map(after).any(unquoted) => {
            "Put strings in quotes: `@.name == 'x'`."
        }
        () if unquoted(bare.trim_start()) || bare.trim_start().starts_with('.') => {
            "Start members of the element with `@.`, as in `@.name`."
        }
        () => return None,
    })
}

const FUNCTIONS: &[&str] = &["length", "count", "match", "search", "value"];

/// Returns the names before opening parentheses.
fn calls(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('(').filter_map(|(at, _)| {
        let before = text.get(..at)?;
        let name = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
        before.get(name.len()..).filter(|name| !name.is_empty())
    })
}
