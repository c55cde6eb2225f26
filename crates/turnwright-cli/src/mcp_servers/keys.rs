//! The keys of a configuration. Files of other programs have more of them.

use serde::de::IgnoredAny;
use turnwright::schema::near;

use super::config::{Entry, Pairs};
use crate::terminal::one_line;

/// The keys of a server.
const KNOWN: [&str; 21] = [
    "type",
    "command",
    "args",
    "env",
    "inheritEnv",
    "cwd",
    "url",
    "headers",
    "allow",
    "deny",
    "optional",
    "believeAnnotations",
    "resources",
    "roots",
    "useInstructions",
    "readsPrivate",
    "sendsOut",
    "quarantine",
    "oauth",
    "disabled",
    "timeoutSeconds",
];

/// Keys that only describe.
const COMMENTS: [&str; 2] = ["description", "$schema"];

/// Keys of other programs that have no effect, and what to use instead.
const OTHERS: [(&str, &str); 14] = [
    ("autoApprove", APPROVAL),
    ("alwaysAllow", APPROVAL),
    ("trust", APPROVAL),
    (
        "timeout",
        "programs differ in its unit. Use `timeoutSeconds`",
    ),
    ("disabledTools", "use `deny`"),
    ("excludeTools", "use `deny`"),
    ("enabledTools", "use `allow`"),
    ("includeTools", "use `allow`"),
    ("tools", "use `allow`"),
    ("enabled", "use `disabled`"),
    ("envFile", "use `env` or `inheritEnv`"),
    ("httpUrl", "use `url`"),
    ("serverUrl", "use `url`"),
    ("transport", "use `type`"),
];

const APPROVAL: &str = "calls need approval. Use `believeAnnotations` for a server whose tools say rightly that they only read, or \
    approve all calls with the option `--yes`";

/// Parts of keys with which other programs restrict what is used. Ignoring such a key would use more than its author wants.
const RESTRICTING: [&str; 8] = [
    "deny", "disallow", "exclud", "block", "forbid", "allow", "tools", "enabled",
];

/// Checks the unknown keys of a file and of its servers. Returns warnings about those without an effect, one for each key.
///
/// # Errors
/// A key is probably a misspelling, or restricts what is used in another program: that must not be ignored.
pub(super) fn check(
    file: &Pairs<IgnoredAny>,
    servers: &[(String, Entry)],
) -> Result<Vec<String>, String> {
    let mut found: Vec<(&str, Vec<String>)> = Vec::new();
    let mut warnings: Vec<String> = unknown(file)
        .map(|key| format!("the key `{}` of the file has no effect", one_line(key, 60)))
        .collect();
    for (alias, entry) in servers {
        for key in unknown(&entry.unknown) {
            if let (None, Some(meant)) = (instead(key), near(key, KNOWN).first()) {
                let key = one_line(key, 60);
                return Err(format!(
                    "`mcpServers.{alias}`: unknown key `{key}`; did you mean `{meant}`?"
                ));
            }
            if restricts(key) {
                let instead = instead(key).unwrap_or("use `allow`, `deny` or `disabled`");
                let key = one_line(key, 60);
                return Err(format!(
                    "`mcpServers.{alias}`: the key `{key}` would have no effect, and may restrict what is used: {instead}"
                ));
            }
            match found.iter_mut().find(|(other, _)| *other == key) {
                Some((_, aliases)) => aliases.push(one_line(alias, 24)),
                None => found.push((key, vec![one_line(alias, 24)])),
            }
        }
    }
    warnings.extend(found.iter().map(|(key, aliases)| warning(key, aliases)));
    Ok(warnings)
}

/// Those that do not only describe.
fn unknown(keys: &Pairs<IgnoredAny>) -> impl Iterator<Item = &str> {
    let keys = keys.0.iter().map(|(key, _)| key.as_str());
    keys.filter(|key| !COMMENTS.contains(key))
}

/// What to use instead of a key of another program.
fn instead(key: &str) -> Option<&'static str> {
    let other = OTHERS.iter().find(|(other, _)| *other == key);
    other.map(|(_, instead)| *instead)
}

fn restricts(key: &str) -> bool {
    let name = key.to_lowercase();
    instead(key) != Some(APPROVAL) && RESTRICTING.iter().any(|part| name.contains(part))
}

fn warning(key: &str, aliases: &[String]) -> String {
    let aliases = aliases.join(", ");
    let instead = instead(key).unwrap_or("it is unknown");
    let key = one_line(key, 60);
    format!("the key `{key}` ({aliases}) has no effect: {instead}")
}

#[cfg(test)]
mod tests {
    use super::super::config::parse;

    fn check(text: &str) -> Result<Vec<String>, String> {
        let document = parse(text)?;
        super::check(&document.unknown, &document.servers.unwrap().0)
    }

    fn checked(server: &str) -> Result<Vec<String>, String> {
        check(&format!(
            r#"{{"mcpServers": {{"a": {server}, "b": {server}}}}}"#
        ))
    }

    #[test]
    fn each_key_without_an_effect_is_one_warning_that_says_what_to_use() {
        let server = r#"{"command": "x", "autoApprove": ["y"], "timeout": 3, "colour": "red", "description": "z"}"#;
        let warnings = checked(server).unwrap();
        assert_eq!(warnings.len(), 3, "{warnings:?}");
        assert!(warnings[0].contains("`autoApprove` (a, b)") && warnings[0].contains("--yes"));
        assert!(
            warnings[1].contains("`timeout` (a, b)") && warnings[1].contains("`timeoutSeconds`")
        );
        assert!(warnings[2].contains("`colour` (a, b)") && warnings[2].contains("unknown"));
    }

    #[test]
    fn misspelled_keys_are_errors() {
        for (key, meant) in [
            ("denny", "deny"),
            ("Args", "args"),
            ("believeAnotations", "believeAnnotations"),
        ] {
            let why = checked(&format!(r#"{{"command": "x", "{key}": []}}"#)).unwrap_err();
            let expected = format!("unknown key `{key}`; did you mean `{meant}`?");
            assert!(why.contains(&expected), "{why}");
        }
    }

    #[test]
    fn keys_that_restrict_in_another_program_are_errors() {
        for (key, instead) in [
            ("excludeTools", "use `deny`"),
            ("enabled", "use `disabled`"),
            ("blockedCommands", "use `allow`, `deny` or `disabled`"),
        ] {
            let why = checked(&format!(r#"{{"command": "x", "{key}": []}}"#)).unwrap_err();
            let expected = [format!("`{key}`"), instead.to_owned()];
            assert!(expected.iter().all(|text| why.contains(text)), "{why}");
        }
        assert!(checked(r#"{"command": "x", "alwaysAllow": []}"#).is_ok());
    }

    #[test]
    fn keys_of_the_file_are_checked_too() {
        let text = r#"{"$schema": "x", "inputs": [], "mcpServers": {}}"#;
        let expected = ["the key `inputs` of the file has no effect"];
        assert_eq!(check(text).unwrap(), expected);
    }
}
