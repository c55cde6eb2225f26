//! Text that is given as it is, by a file, or on standard input.

use std::io::Read as _;
use std::path::Path;

use crate::exit::misuse;

/// JSON text as it was given on a command line: the text itself, a file that holds it, or `-` for standard input.
pub(crate) fn given(told: &str, what: &str) -> anyhow::Result<String> {
    if told == "-" {
        return standard_input(what);
    }
    // JSON begins like this, and hardly a file's name does.
    let begins = |sign: char| matches!(sign, '{' | '[' | '"' | '-' | '0'..='9');
    let trimmed = told.trim_start();
    let literal = matches!(trimmed.trim_end(), "true" | "false" | "null" | "");
    let is_text = literal || (trimmed.starts_with(begins) && !Path::new(told).is_file());
    match is_text {
        true => Ok(told.to_owned()),
        false => file(Path::new(told), what)
            .map_err(|error| misuse(format!("{error}. JSON text itself begins with `{{` or `[`"))),
    }
}

/// All of a file, or of standard input for `-`.
pub(crate) fn file(path: &Path, what: &str) -> anyhow::Result<String> {
    if path == Path::new("-") {
        return standard_input(what);
    }
    let bytes = std::fs::read(path).map_err(|error| {
        let shown = path.display();
        misuse(format!("{what} `{shown}` cannot be read: {error}"))
    })?;
    text(bytes, what)
}

fn standard_input(what: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().lock().read_to_end(&mut bytes);
    read.map_err(|error| {
        misuse(format!(
            "{what} cannot be read from standard input: {error}"
        ))
    })?;
    text(bytes, what)
}

fn text(bytes: Vec<u8>, what: &str) -> anyhow::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        misuse(format!("{what} is not text in UTF-8: byte {at} is not"))
    })
}
