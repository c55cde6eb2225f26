//! Environment variables in values of a configuration.

/// Replaces `${NAME}` and `${NAME:-default}` by environment variables. `${env:NAME}` is the same as `${NAME}`.
///
/// # Errors
/// Returns what is wrong. Values of variables may be secrets and are not in it.
fn expand(text: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut expanded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        expanded.push_str(before);
        let Some((inner, after)) = after.split_once('}') else {
            return Err("`${` has no `}`".to_owned());
        };
        expanded.push_str(&value(inner, variable)?);
        rest = after;
    }
    expanded.push_str(rest);
    Ok(expanded)
}

fn value(inner: &str, variable: &impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    let name = name.strip_prefix("env:").unwrap_or(name);
    if !is_name(name) {
        return Err(format!(
            "`${{{inner}}}` is not `${{NAME}}` or `${{NAME:-default}}`"
        ));
    }
    // As in a shell, an empty variable counts as not set if there is a default.
    match (variable(name), default) {
        (Some(value), None) => Ok(value),
        (Some(value), Some(_)) if !value.is_empty() => Ok(value),
        (_, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(format!(
            "the environment variable `{name}` is not set. Set it, or write `${{{name}:-default}}`"
        )),
    }
}

/// The variables in a text, with their values or defaults. Those without a value are left out.
pub(super) fn variables(text: &str) -> Vec<(&str, String)> {
    let references = text.split("${").skip(1);
    let inner = references.filter_map(|rest| rest.split_once('}'));
    let variable = |name: &str| std::env::var(name).ok();
    let found = inner.filter_map(|(inner, _)| {
        let name = inner.split(":-").next().unwrap_or_default();
        let name = name.strip_prefix("env:").unwrap_or(name);
        value(inner, &variable).ok().map(|value| (name, value))
    });
    found.collect()
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    let starts = |ch: char| ch.is_ascii_alphabetic() || ch == '_';
    chars.next().is_some_and(starts) && chars.all(|ch| starts(ch) || ch.is_ascii_digit())
}

/// Replaces variables in the value of a key. Errors begin with the key.
pub(super) fn expanded(key: &str, text: &str) -> Result<String, String> {
    expand(text, &|name| std::env::var(name).ok()).map_err(|why| format!(".{key}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expanded(text: &str) -> Result<String, String> {
        expand(text, &|name| match name {
            "HOME" => Some("/home/ada".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        })
    }

    #[test]
    fn variables_are_replaced() {
        for (text, expected) in [
            ("plain $HOME $", "plain $HOME $"),
            ("${HOME}/notes", "/home/ada/notes"),
            ("${env:HOME}${HOME}", "/home/ada/home/ada"),
            ("${NONE:-a:-b}", "a:-b"),
            ("${EMPTY:-x}|${EMPTY}", "x|"),
            ("${NONE:-}", ""),
        ] {
            assert_eq!(expanded(text).as_deref(), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_replaced_is_an_error() {
        for (text, expected) in [
            ("${NONE}", "`NONE` is not set"),
            ("${HOME", "has no `}`"),
            ("${input:token}", "`${input:token}` is not"),
            ("${}", "`${}` is not"),
        ] {
            let error = expanded(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
