//! Names of packages.

use crate::exit::misuse;

/// The longest name that package registries accept.
const MAX_LEN: usize = 64;

/// Names that cargo or the compiler reserve, or that would clash with a dependency of the package.
const RESERVED: &[&str] = &[
    "abstract",
    "alloc",
    "as",
    "async",
    "await",
    "become",
    "box",
    "break",
    "build",
    "const",
    "continue",
    "core",
    "crate",
    "deps",
    "do",
    "dyn",
    "else",
    "enum",
    "examples",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "if",
    "impl",
    "in",
    "incremental",
    "let",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "override",
    "priv",
    "proc-macro",
    "proc_macro",
    "pub",
    "ref",
    "return",
    "self",
    "serde_json",
    "static",
    "std",
    "struct",
    "super",
    "test",
    "tokio",
    "trait",
    "true",
    "try",
    "turnwright",
    "turnwright-testkit",
    "turnwright_testkit",
    "type",
    "typeof",
    "union",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
];

/// The name of a package, which is also the name of its directory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PackageName(String);

impl PackageName {
    /// Checks a name: ASCII letters, digits, `-` and `_`, beginning with a letter, and not reserved.
    pub(super) fn parse(name: &str) -> anyhow::Result<Self> {
        let invalid = |why: &str| {
            Err(misuse(format!(
                "`{}` is not a valid package name: {why}",
                crate::terminal::one_line(name, MAX_LEN)
            )))
        };
        if name.is_empty() {
            return invalid("it is empty");
        }
        if name.len() > MAX_LEN {
            return invalid("it has more than 64 characters");
        }
        if !name.starts_with(|ch: char| ch.is_ascii_alphabetic()) {
            return invalid("it must begin with an ASCII letter");
        }
        let is_allowed = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '-' | '_');
        if let Some(ch) = name.chars().find(|ch| !is_allowed(*ch)) {
            let ch = ch.escape_debug();
            return invalid(&format!(
                "`{ch}` is not allowed. Use ASCII letters, digits, `-` and `_`"
            ));
        }
        if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
            return invalid("it is reserved. Choose another one");
        }
        Ok(PackageName(name.to_owned()))
    }

    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// The name of the library in Rust code.
    pub(super) fn crate_name(&self) -> String {
        self.0.replace('-', "_")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_names_are_accepted() {
        for (name, crate_name) in [("my-agent", "my_agent"), ("a", "a"), ("Shop_2", "Shop_2")] {
            assert_eq!(PackageName::parse(name).unwrap().crate_name(), crate_name);
        }
    }

    #[test]
    fn invalid_names_are_refused_with_the_reason() {
        let long = "a".repeat(65);
        for (name, why) in [
            ("", "empty"),
            (&long, "64 characters"),
            ("2fast", "begin with"),
            ("-x", "begin with"),
            ("..", "begin with"),
            ("a/b", "`/` is not allowed"),
            ("a b", "` ` is not allowed"),
            ("agentä", "is not allowed"),
            ("a\u{1b}", "is not allowed"),
            ("test", "reserved"),
            ("Turnwright", "reserved"),
            ("match", "reserved"),
        ] {
            let error = PackageName::parse(name).unwrap_err().to_string();
            assert!(error.contains(why), "{name:?}: {error}");
        }
    }
}
