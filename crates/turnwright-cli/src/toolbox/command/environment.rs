//! What a program is told of where it runs.

use std::ffi::{OsStr, OsString};

/// The names of what is kept from programs: keys and passwords are none of their business.
pub(super) fn secret_names() -> impl Iterator<Item = OsString> {
    let told = std::env::vars_os();
    let secret = told.filter(|(name, value)| is_secret(name) || holds_password(value));
    secret.map(|(name, _)| name)
}

/// Whether it is an address with a password in it, as those of databases are.
fn holds_password(value: &OsStr) -> bool {
    let address = value.to_str().and_then(|value| url::Url::parse(value).ok());
    address.is_some_and(|address| address.password().is_some())
}

fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    ["APIKEY", "TOKEN", "CREDENTIALS", "_PAT"]
        .iter()
        .any(|end| name.ends_with(end))
        || [
            "_KEY",
            "SECRET",
            "PASSWORD",
            "PASSWD",
            "PASSPHRASE",
            "PGPASS",
        ]
        .iter()
        .any(|part| name.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_keys_are_known_for_what_they_are() {
        for name in [
            "OPENAI_API_KEY",
            "openai_api_key",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "CLIENT_SECRET",
            "PGPASSWORD",
            "PASSWORD_STORE",
            "OPENAI_API_KEY_2",
            "GITHUB_PAT",
        ] {
            assert!(is_secret(OsStr::new(name)), "{name}");
        }
        assert!(holds_password(OsStr::new("postgres://u:p@127.0.0.1/db")));
        assert!(!holds_password(OsStr::new("http://127.0.0.1:8080/v1")));
        for name in ["PATH", "HOME", "LANG", "KEYBOARD", "TOKENIZER", "USER"] {
            assert!(!is_secret(OsStr::new(name)), "{name}");
        }
    }
}
