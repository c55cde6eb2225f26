//! The environment of a child process: an allow list and the variables that the user names.

use std::ffi::{OsStr, OsString};

/// The variables that every child process gets if they are set.
const ALWAYS: &[&str] = &["PATH", "HOME", "LANG", "TERM", "TZ", "TMPDIR", "USER"];

/// The prefix of locale variables, which every child process gets.
const LOCALE: &str = "LC_";

/// Variables that programs on Windows need.
#[cfg(windows)]
const SYSTEM: &[&str] = &[
    "APPDATA",
    "COMSPEC",
    "LOCALAPPDATA",
    "PATHEXT",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TEMP",
    "TMP",
    "USERNAME",
    "USERPROFILE",
    "WINDIR",
];
#[cfg(not(windows))]
const SYSTEM: &[&str] = &[];

/// The variables that a child process gets. It gets no others, because any of them may be a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Environment {
    named: Vec<String>,
}

impl Environment {
    /// The allow list and these variables.
    ///
    /// # Errors
    /// A name is invalid.
    pub(crate) fn with(named: Vec<String>) -> Result<Self, String> {
        match named.iter().find(|name| !is_name(name)) {
            None => Ok(Environment { named }),
            Some(wrong) => {
                // The value may be a secret and is not printed.
                let shown = match wrong.split_once('=') {
                    Some((name, _)) => format!("{name}=…"),
                    None => wrong.clone(),
                };
                Err(format!(
                    "`{shown}` is not the name of an environment variable: use letters, digits and `_`, and do not begin with a \
                     digit. The value comes from the environment of this program"
                ))
            }
        }
    }

    /// The variables of this process that the child process gets.
    pub(crate) fn select(
        &self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> impl Iterator<Item = (OsString, OsString)> {
        variables.into_iter().filter(|(name, _)| self.allows(name))
    }

    fn allows(&self, name: &OsStr) -> bool {
        let Some(name) = name.to_str() else {
            return false;
        };
        let known = ALWAYS.iter().chain(SYSTEM).any(|item| is_same(item, name));
        known || name.starts_with(LOCALE) || self.named.iter().any(|item| is_same(item, name))
    }
}

/// Names of variables are case-sensitive, except on Windows.
fn is_same(one: &str, other: &str) -> bool {
    match cfg!(windows) {
        true => one.eq_ignore_ascii_case(other),
        false => one == other,
    }
}

fn is_name(text: &str) -> bool {
    let mut chars = text.chars();
    let starts = |ch: char| ch.is_ascii_alphabetic() || ch == '_';
    chars.next().is_some_and(starts) && chars.all(|ch| starts(ch) || ch.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn selected(named: &[&str], variables: &[&str]) -> Vec<String> {
        let named = named.iter().map(ToString::to_string).collect();
        let environment = Environment::with(named).unwrap();
        let variables = variables.iter().map(|name| (name.into(), "value".into()));
        let selected = environment.select(variables.collect::<Vec<_>>());
        selected
            .map(|(name, _)| name.into_string().unwrap())
            .collect()
    }

    #[test]
    fn only_the_allow_list_and_named_variables_are_passed() {
        let variables = [
            "PATH",
            "HOME",
            "LANG",
            "LC_ALL",
            "LC_TIME",
            "TERM",
            "TZ",
            "TMPDIR",
            "USER",
            "DB_PASS",
            "DATABASE_URL",
            "SSH_AUTH_SOCK",
            "KUBECONFIG",
            "OPENAI_API_KEY",
            "PATH_TO_KEY",
            "COLOUR",
        ];
        assert_eq!(selected(&[], &variables), &variables[..9]);
        assert_eq!(
            selected(&["DATABASE_URL", "UNSET"], &variables),
            [&variables[..9], &["DATABASE_URL"]].concat()
        );
    }

    #[test]
    fn an_invalid_name_is_refused_without_printing_its_value() {
        for wrong in ["", "1A", "A B", "A-B", "A\0", "Ä", "*", "LC_*"] {
            let error = Environment::with(vec!["OK".into(), wrong.into()]).unwrap_err();
            assert!(
                error.contains(&format!("`{wrong}` is not the name")),
                "{error}"
            );
        }
        let error = Environment::with(vec!["TOKEN=hunter2".into()]).unwrap_err();
        assert!(
            error.contains("`TOKEN=…`") && !error.contains("hunter2"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn other_variables_are_not_passed(name in "[A-Z_]{1,12}|\\PC{1,12}") {
            let allowed = ALWAYS.contains(&name.as_str()) || SYSTEM.contains(&name.as_str()) || name.starts_with(LOCALE);
            let variables = vec![(OsString::from(&name), OsString::from("value"))];
            prop_assert_eq!(Environment::default().select(variables).count(), usize::from(allowed));
        }
    }
}
