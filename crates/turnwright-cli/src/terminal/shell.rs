//! Quotes words of a command for a shell, without control or invisible characters.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

use super::plain::is_visible;

/// A word of a command, quoted if necessary.
pub(crate) fn shell_word(text: impl AsRef<OsStr>) -> String {
    let bytes = text.as_ref().as_encoded_bytes();
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.is_empty() && text.chars().all(is_harmless) => text.to_owned(),
        Ok(text) if text.chars().all(is_visible) => {
            format!("'{}'", text.replace('\'', r"'\''"))
        }
        _ => escaped(bytes),
    }
}

/// A path as a word of a command that cannot be mistaken for an option.
pub(crate) fn shell_path(path: &Path) -> String {
    if path.as_os_str().as_encoded_bytes().starts_with(b"-") {
        shell_word(Path::new(".").join(path))
    } else {
        shell_word(path)
    }
}

/// Whether a character needs no quotes in any shell.
fn is_harmless(ch: char) -> bool {
    ch.is_ascii_alphanumeric() || "/._-+:@%".contains(ch)
}

/// With escapes for everything that is not visible.
fn escaped(bytes: &[u8]) -> String {
    let mut word = String::from("$'");
    let octal = |word: &mut String, bytes: &[u8]| {
        for byte in bytes {
            // Writing into a string cannot fail.
            let _ = write!(word, "\\{byte:03o}");
        }
    };
    for chunk in bytes.utf8_chunks() {
        for ch in chunk.valid().chars() {
            match ch {
                '\\' | '\'' => word.extend(['\\', ch]),
                ch if is_visible(ch) => word.push(ch),
                ch => octal(&mut word, ch.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        octal(&mut word, chunk.invalid());
    }
    word.push('\'');
    word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_if_necessary() {
        assert_eq!(shell_word("/a/b-1.db"), "/a/b-1.db");
        assert_eq!(shell_word("it's here.db"), r"'it'\''s here.db'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(shell_word("x; rm -rf ~"), "'x; rm -rf ~'");
        assert_eq!(
            shell_word("a\u{1b}[2J\n'\\\u{202e}"),
            r"$'a\033[2J\012\'\\\342\200\256'"
        );
        assert_eq!(shell_path(Path::new("--yes")), "./--yes");
    }

    #[cfg(unix)]
    proptest::proptest! {
        #![proptest_config(proptest::prelude::ProptestConfig::with_cases(proptest::prelude::ProptestConfig::default().cases / 4))]

        #[test]
        fn a_shell_reads_the_original_text(text in proptest::collection::vec(1_u8.., 0..40)) {
            use std::os::unix::ffi::OsStrExt as _;
            let word = shell_word(OsStr::from_bytes(&text));
            proptest::prop_assert!(word.chars().all(is_visible), "{:?}", word);
            let command = format!("printf %s {word}");
            // Not every `sh` knows `$'…'`.
            let ran = std::process::Command::new("bash").env("LC_ALL", "C").args(["-c", &command]).output();
            if let Ok(ran) = ran {
                proptest::prop_assert_eq!(ran.stdout, text, "{}", word);
            }
        }
    }
}
