//! The environment of a child process: an allow list, and the variables that the user names.

use std::ffi::{OsStr, OsString};

/// The variables that every child process gets if they are set.
const ALWAYS: &[&str] = &["PATH", "HOME", "LANG", "TERM", "TZ", "TMPDIR", "USER"];

/// The variables of a locale begin like this; every child process gets them.
const LOCALE: &str = "LC_";

/// What programs on Windows cannot run without.
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

/// Which variables a child process gets. All others are kept from it, since any of them may be a secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Environment {
    named: Vec<String>,
}

impl Environment {
    /// The allow list and these variables.
    ///
    /// # Errors
    /// What is wrong with a name.
    pub(crate) fn with(named: Vec<String>) -> Result<Self, String> {
        match named.iter().find(|name| !is_name(name)) {
            None => Ok(Environment { named }),
            Some(wrong) => {
                // A value may be a secret: it is not repeated.
                let shown = match wrong.split_once('=') {
                    Some((name, _)) => format!("{name}=…"),
                    None => wrong.clone(),
                };
                Err(format!(
                    "`{shown}` is not the name of an environment variable: a name has letters, digits and `_` and does not \
                     begin with a digit; the value is taken from the environment of this program"
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

/// Names of variables differ by case, except on Windows.
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
    fn only_the_allow_list_and_what_is_named_is_passed() {
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
    fn a_name_that_cannot_be_one_is_refused_and_its_value_is_not_repeated() {
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
        fn nothing_else_is_passed(name in "[A-Z_]{1,12}|\\PC{1,12}") {
            let allowed = ALWAYS.contains(&name.as_str()) || SYSTEM.contains(&name.as_str()) || name.starts_with(LOCALE);
            let variables = vec![(OsString::from(&name), OsString::from("value"))];
            prop_assert_eq!(Environment::default().select(variables).count(), usize::from(allowed));
        }
    }
}
