//! Text that is given as it is, by a file, or on standard input.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::exit::misuse;

/// Something that the program reads whole, and the most bytes that it may have.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    /// What messages call it.
    name: &'static str,
    most: u64,
}

pub(crate) const SCHEMA: Input = Input::new("the schema", 16);
pub(crate) const ARGUMENTS: Input = Input::new("the arguments", 16);
pub(crate) const SCRIPT: Input = Input::new("the script", 64);
pub(crate) const TOOLS_FILE: Input = Input::new("the tools file", 16);
pub(crate) const RECORDING: Input = Input::new("the recording", 256);

impl Input {
    const fn new(name: &'static str, mebibytes: u64) -> Self {
        Input {
            name,
            most: mebibytes << 20,
        }
    }

    /// Reads all of it. What is read is memory that is taken, so that it has a bound: a device or a pipe may have no end.
    fn read(self, reader: impl Read, from: &str) -> anyhow::Result<String> {
        let Input { name, most } = self;
        let mut bytes = Vec::new();
        let read = reader.take(most + 1).read_to_end(&mut bytes);
        read.map_err(|error| unreadable(self, from, &error))?;
        if bytes.len() as u64 > most {
            let most = most >> 20;
            return Err(misuse(format!(
                "{name} ({from}) is too large: at most {most} MiB are read"
            )));
        }
        String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            misuse(format!("{name} is not text in UTF-8: byte {at} is not"))
        })
    }
}

fn unreadable(input: Input, from: &str, error: &io::Error) -> anyhow::Error {
    misuse(format!("{} {from} cannot be read: {error}", input.name))
}

/// JSON text as it was given on a command line: the text itself, a file that holds it, or `-` for standard input.
pub(crate) fn given(argument: &str, input: Input) -> anyhow::Result<String> {
    if argument == "-" {
        return file(Path::new(argument), input);
    }
    // JSON begins like this, and hardly a file's name does.
    let begins = |sign: char| matches!(sign, '{' | '[' | '"' | '-' | '0'..='9');
    let trimmed = argument.trim_start();
    let literal = matches!(trimmed.trim_end(), "true" | "false" | "null" | "");
    let is_text = literal || (trimmed.starts_with(begins) && !Path::new(argument).is_file());
    match is_text {
        true => Ok(argument.to_owned()),
        false => file(Path::new(argument), input)
            .map_err(|error| misuse(format!("{error}. JSON text itself begins with `{{` or `[`"))),
    }
}

/// All of a file, or of standard input for `-`.
pub(crate) fn file(path: &Path, input: Input) -> anyhow::Result<String> {
    if path == Path::new("-") {
        return input.read(io::stdin().lock(), "standard input");
    }
    let from = format!("`{}`", path.display());
    let file = File::open(path).map_err(|error| unreadable(input, &from, &error))?;
    input.read(file, &from)
}
