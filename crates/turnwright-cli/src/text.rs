//! Reads text from an argument, a file or standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::exit::misuse;

/// What is read: its name in messages, and its limit in MiB.
pub(crate) type Input = (&'static str, u64);

pub(crate) const SCHEMA: Input = ("the schema", 16);
pub(crate) const ARGUMENTS: Input = ("the arguments", 16);
pub(crate) const SCRIPT: Input = ("the script", 64);
pub(crate) const TOOLS_FILE: Input = ("the tools file", 16);
pub(crate) const MCP_CONFIG: Input = ("the MCP configuration", 16);
pub(crate) const RECORDING: Input = ("the recording", 256);

/// Reads everything, up to the limit: a device or a pipe may be endless.
fn read((name, most): Input, reader: impl Read, from: &str) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let read = reader.take((most << 20) + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(name, from, &error))?;
    if bytes.len() as u64 > most << 20 {
        return Err(misuse(format!(
            "{name} ({from}) is larger than the limit of {most} MiB"
        )));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        misuse(format!("{name} is not valid UTF-8 at byte {at}"))
    })
}

fn unreadable(name: &str, from: &str, error: &io::Error) -> anyhow::Error {
    misuse(format!("cannot read {name} from {from}: {error}"))
}

/// The JSON text of an argument: the text itself, the content of a file, or standard input for `-`.
pub(crate) fn given(argument: &str, input: Input) -> anyhow::Result<String> {
    if argument == "-" {
        return file(Path::new(argument), input);
    }
    // JSON begins like this; names of files rarely do.
    let begins = |ch: char| matches!(ch, '{' | '[' | '"' | '-' | '0'..='9');
    let trimmed = argument.trim_start();
    let literal = matches!(trimmed.trim_end(), "true" | "false" | "null" | "");
    let is_text = literal || (trimmed.starts_with(begins) && !Path::new(argument).is_file());
    if is_text {
        Ok(argument.to_owned())
    } else {
        file(Path::new(argument), input).map_err(|error| {
            misuse(format!(
                "{error}. To pass JSON text, begin with `{{` or `[`"
            ))
        })
    }
}

/// The name of a file in messages.
pub(crate) fn name_of(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        format!("`{}`", path.display())
    }
}

/// The content of a file, or of standard input for `-`.
pub(crate) fn file(path: &Path, input: Input) -> anyhow::Result<String> {
    let from = name_of(path);
    if path == Path::new("-") {
        return read(input, io::stdin().lock(), &from);
    }
    let file = File::open(path).map_err(|error| unreadable(input.0, &from, &error))?;
    read(input, file, &from)
}

/// The content of a configuration file, or of standard input for `-`. It must be a regular file: a pipe would block the program.
pub(crate) fn configuration(path: &Path, input: Input) -> anyhow::Result<String> {
    if path == Path::new("-") {
        return file(path, input);
    }
    let (name, most) = input;
    let read = turnwright::files::read_regular_file(path, most << 20);
    read.map_err(|error| unreadable(name, &name_of(path), &error))
}
