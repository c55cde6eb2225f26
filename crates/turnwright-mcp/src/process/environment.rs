//! The environment of a child process: an allow list and the variables that the user names.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;

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

/// The variables that a child process gets: an allow list (`PATH`, `HOME`, `LANG`, `LC_*`, `TERM`, `TMPDIR`, `TZ`, `USER`), variables
/// of this process that are named, and values that are set. It gets no others, because any of them may be a secret.
///
/// ```
/// use turnwright_mcp::process::Environment;
///
/// let environment = Environment::default().inherit("DATABASE_URL")?.set("API_KEY", "secret")?;
/// assert!(!format!("{environment:?}").contains("secret"));
/// assert!(Environment::default().inherit("NOT-A-NAME").is_err());
/// # Ok::<(), turnwright_mcp::process::InvalidVariable>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Environment {
    inherited: Vec<String>,
    set: BTreeMap<String, String>,
}

/// The name of an environment variable is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidVariable(String);

impl fmt::Display for InvalidVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The value may be a secret and is not printed.
        let (shown, advice) = match self.0.split_once('=') {
            Some((name, _)) => (
                format!("{name}=…"),
                "give only the name; the value comes from the environment of this program",
            ),
            None => (
                self.0.clone(),
                "use letters, digits and `_`, and do not begin with a digit",
            ),
        };
        write!(
            f,
            "`{shown}` is not the name of an environment variable: {advice}"
        )
    }
}

impl std::error::Error for InvalidVariable {}

impl Environment {
    /// Adds a variable of this process. Nothing is added if it is not set when the child process starts.
    ///
    /// # Errors
    /// The name is invalid.
    pub fn inherit(mut self, name: impl Into<String>) -> Result<Self, InvalidVariable> {
        self.inherited.push(checked(name.into())?);
        Ok(self)
    }

    /// Sets a variable.
    ///
    /// # Errors
    /// The name is invalid.
    pub fn set(
        mut self,
        name: impl Into<String>,
        value: impl Into<String>,
    ) -> Result<Self, InvalidVariable> {
        self.set.insert(checked(name.into())?, value.into());
        Ok(self)
    }

    /// Returns the variables of the child process.
    pub(super) fn select(
        &self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> impl Iterator<Item = (OsString, OsString)> {
        let allows = |name: &OsStr| name.to_str().is_some_and(|name| self.allows(name));
        let inherited = variables.into_iter().filter(move |(name, _)| allows(name));
        let set = self.set.iter();
        inherited.chain(set.map(|(name, value)| (name.into(), value.into())))
    }

    /// Returns the values that are set, and those of the variables that are named.
    pub(super) fn secrets(&self) -> impl Iterator<Item = String> {
        let inherited = self.inherited.iter();
        let inherited = inherited.filter_map(|name| std::env::var(name).ok());
        self.set.values().cloned().chain(inherited)
    }

    /// Returns whether a child process gets this variable of this process.
    ///
    /// ```
    /// # use turnwright_mcp::process::Environment;
    /// assert!(Environment::default().allows("HOME"));
    /// assert!(!Environment::default().allows("API_KEY"));
    /// ```
    #[must_use]
    pub fn allows(&self, name: &str) -> bool {
        let known = ALWAYS.iter().chain(SYSTEM).any(|item| is_same(item, name));
        known || name.starts_with(LOCALE) || self.inherited.iter().any(|item| is_same(item, name))
    }
}

/// Names of variables are case-sensitive, except on Windows.
fn is_same(one: &str, other: &str) -> bool {
    if cfg!(windows) {
        one.eq_ignore_ascii_case(other)
    } else {
        one == other
    }
}

fn checked(name: String) -> Result<String, InvalidVariable> {
    let starts = |ch: char| ch.is_ascii_alphabetic() || ch == '_';
    let continues = |ch: char| starts(ch) || ch.is_ascii_digit();
    if name.starts_with(starts) && name.chars().all(continues) {
        Ok(name)
    } else {
        Err(InvalidVariable(name))
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Environment")
            .field("inherited", &self.inherited)
            .field("set", &self.set.keys())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn selected(named: &[&str], variables: &[&str]) -> Vec<String> {
        let environment = named
            .iter()
            .fold(Environment::default(), |environment, name| {
                environment.inherit(*name).unwrap()
            });
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
            let error = Environment::default()
                .inherit(wrong)
                .unwrap_err()
                .to_string();
            assert!(
                error.contains(&format!("`{wrong}` is not the name")),
                "{error}"
            );
        }
        let error = Environment::default()
            .inherit("TOKEN=hunter2")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("`TOKEN=…`") && !error.contains("hunter2"),
            "{error}"
        );
    }

    #[test]
    fn set_values_are_passed_and_replace_inherited_ones() {
        let environment = Environment::default().set("PATH", "/opt").unwrap();
        let variables = vec![
            ("PATH".into(), "/usr".into()),
            ("SECRET".into(), "x".into()),
        ];
        let selected: std::collections::HashMap<_, _> = environment.select(variables).collect();
        assert_eq!(selected, [("PATH".into(), "/opt".into())].into());
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
