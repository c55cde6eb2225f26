//! What a program is told of where it runs.

use std::ffi::{OsStr, OsString};

/// The names of what is kept from programs: keys and passwords are none of their business.
pub(super) fn secret_names() -> impl Iterator<Item = OsString> {
    let names = std::env::vars_os().map(|(name, _)| name);
    names.filter(|name| is_secret(name))
}

fn is_secret(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    ["_KEY", "APIKEY", "TOKEN", "CREDENTIALS"]
        .iter()
        .any(|end| name.ends_with(end))
        || ["SECRET", "PASSWORD", "PASSWD"]
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
        ] {
            assert!(is_secret(OsStr::new(name)), "{name}");
        }
        for name in ["PATH", "HOME", "LANG", "KEYBOARD", "TOKENIZER", "USER"] {
            assert!(!is_secret(OsStr::new(name)), "{name}");
        }
    }
}
