//! What to say about a path that is none, so that the next one is.

use super::JsonPath;
use super::layout::without_quoted;
use crate::schema::escape;

/// What stands before a condition when it is tried by itself.
pub(super) const BEFORE_CONDITION: &str = "$[?";

const EXAMPLES: &str = "Good paths: `$.items[0].name`, `$.items[?@.price > 10]['first name']`.";
const CONDITIONS: &str =
    "Good conditions: `@.level == 'error' && @.ms > 100`, `match(@.name, 'a.*')`.";

/// What is wrong with a path, and at which byte.
#[derive(Debug)]
pub(super) struct Fault {
    at: usize,
    message: String,
}

impl Fault {
    pub(super) fn new(at: usize, message: String) -> Self {
        Fault { at, message }
    }

    /// What the parser says, where it says more than that it could not go on.
    pub(super) fn of(text: &str, error: &serde_json_path::ParseError) -> Self {
        let (at, message) = (error.position(), error.message());
        let message = match message {
            _ if at >= text.len() => "it ends too early",
            _ if message.contains("closing ']'") => "`]` or `,` was expected",
            _ if message.contains("in function") => message.rsplit(", ").next().unwrap_or(message),
            _ => "it cannot go on like this",
        };
        Fault::new(at, message.to_owned())
    }

    /// Where the fault is in the text, which begins `offset` bytes after the place from which the fault counts.
    fn describe(&self, text: &str, offset: usize, what: &str) -> String {
        let at = text.floor_char_boundary(self.at.saturating_sub(offset));
        let character = text.get(..at).unwrap_or("").chars().count();
        let (shown, message) = (escape(text, 60), &self.message);
        format!("`{shown}` is no {what}: at character {character}, {message}.")
    }
}

/// The text for a path that could not be parsed.
pub(super) fn bad_path(text: &str, fault: &Fault) -> String {
    let hint = path_hint(text).map_or_else(String::new, |hint| format!(" {hint}"));
    format!("{}{hint} {EXAMPLES}", fault.describe(text, 0, "JSONPath"))
}

/// The text for a condition that could not be parsed.
pub(super) fn bad_condition(text: &str, fault: &Fault) -> String {
    let hint = condition_hint(text).map_or_else(String::new, |hint| format!(" {hint}"));
    let fault = fault.describe(text, BEFORE_CONDITION.len(), "filter condition");
    format!("{fault}{hint} {CONDITIONS}")
}

/// At most so many bytes, cut at a character.
pub(in crate::artifact::json) fn shorten(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        return text.to_owned();
    }
    let cut = text.floor_char_boundary(bytes);
    format!("{}…", text.get(..cut).unwrap_or(""))
}

/// Paths as other tools write them.
fn path_hint(text: &str) -> Option<String> {
    let trimmed = text.trim();
    let good = |candidate: &str| JsonPath::read(candidate).is_ok();
    let suggest = |candidate: String| {
        let known = good(&candidate);
        known.then(|| format!("Begin with `$`: `{}`.", shorten(&candidate, 100)))
    };
    if trimmed.is_empty() {
        return Some("`$` alone is the whole document.".to_owned());
    }
    if trimmed != text && good(trimmed) {
        return Some("Leave out the blanks before and after the path.".to_owned());
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
            .or_else(|| Some("A path begins with `$`, the whole document.".to_owned()));
    }
    in_brackets(trimmed)
}

/// Names that must stand in brackets and quotes, and indices that must stand in brackets.
fn in_brackets(text: &str) -> Option<String> {
    let Err(fault) = JsonPath::read(text) else {
        return None;
    };
    let before = text.get(..fault.at)?;
    let rest = text.get(fault.at..)?;
    let index = rest.bytes().take_while(u8::is_ascii_digit).count();
    if index > 0 && before.ends_with('.') {
        let index = rest.get(..index)?;
        return Some(format!("An index stands in brackets: `[{index}]`."));
    }
    let odd = |c: char| !matches!(c, '.' | '[' | ']' | ' ');
    let named = |text: &str| text.starts_with(|c: char| c.is_alphabetic() || c == '_');
    if let Some(rest) = rest.strip_prefix('[').filter(|rest| named(rest)) {
        let name: String = rest.chars().take_while(|c| odd(*c)).take(40).collect();
        return Some(format!(
            "A name in brackets stands in quotes: `['{name}']`."
        ));
    }
    if rest.starts_with('-') {
        let start = before.rfind(['.', ']']).map_or(0, |at| at + 1);
        let second: String = rest.chars().take_while(|c| odd(*c)).take(40).collect();
        let first = shorten(before.get(start..)?, 60);
        return Some(format!(
            "Such a name stands in brackets and quotes: `['{first}{second}']`."
        ));
    }
    None
}

/// What models write in the place of a condition of the standard.
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
            "Patterns are matched with `match(@.name, 'a.*')` (all of it) or `search(@.name, 'a')`."
        }
        () if has("and") => "And is `&&`.",
        () if has("or") => "Or is `||`.",
        () if has("not") => "Not is `!`, as in `!(@.a == 1)`.",
        () if bare.contains("[-") => {
            "Count from the front, or take a slice by `value`: `value(@.a[-1:]) == 1`."
        }
        () if calls(&bare).any(|name| !FUNCTIONS.contains(&name)) => {
            "The functions are `length`, `count`, `match`, `search` and `value`."
        }
        () if has("match") || has("search") => {
            "`match(…)` and `search(…)` are true or false by themselves: they are not compared."
        }
        () if bare.contains("[*]") || bare.contains("..") || bare.contains(".*") => {
            "What may lead to many nodes is not compared: use `count(@.a[*])` or `value(@..a)`."
        }
        () if bare.trim_start().starts_with('!') => {
            "What is negated wants parentheses: `!(@.a == 1)`."
        }
        () if bare
            .replace("==", "")
            .replace(['!', '<', '>'], "")
            .contains('=')
            && !bare.contains("==") =>
        {
            "Equality is `==`."
        }
        () if compared.into_iter().filter_map(after).any(unquoted) => {
            "Text stands in quotes: `@.name == 'x'`."
        }
        () if unquoted(bare.trim_start()) || bare.trim_start().starts_with('.') => {
            "Members of the element begin with `@.`, as in `@.name`."
        }
        () => return None,
    })
}

const FUNCTIONS: &[&str] = &["length", "count", "match", "search", "value"];

/// The names before parentheses.
fn calls(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('(').filter_map(|(at, _)| {
        let before = text.get(..at)?;
        let name = before.trim_end_matches(|c: char| c.is_alphanumeric() || c == '_');
        before.get(name.len()..).filter(|name| !name.is_empty())
    })
}
