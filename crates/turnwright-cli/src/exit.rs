//! How the program ends.

use std::fmt;
use std::process::ExitCode;

/// How a command ended that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// As it should.
    Done = 0,
    /// What was asked about is not so: arguments that are refused, a turn without an answer. It was said already.
    No = 1,
    /// The command makes no sense as it was given. It was said already.
    Misused = 2,
    /// Somebody pressed Ctrl-C.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// The command cannot be carried out as it was given: a file that is not there, a tool of no such name. Ends with 2, as wrong
/// options do.
#[derive(Debug)]
pub(crate) struct Misuse(String);

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

/// An error of whoever gave the command, in one sentence that says what to do.
pub(crate) fn misuse(sentence: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Misuse(sentence.into()))
}

/// What to say of an error: one sentence, and the code to end with.
pub(crate) fn verdict(error: &anyhow::Error) -> (String, u8) {
    let code = if error.is::<Misuse>() { 2 } else { 1 };
    (sentence(error), code)
}

/// The error and what caused it, each said once.
fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let message = match cause.downcast_ref::<turnwright::Error>() {
            Some(ours) => format!("{} ({})", ours.with_causes(), ours.code()),
            None => cause.to_string(),
        };
        // Many errors say already what caused them.
        if text.contains(&message) {
            continue;
        }
        if !text.is_empty() {
            text.push_str(": ");
        }
        text.push_str(&message);
        if cause.is::<turnwright::Error>() {
            break;
        }
    }
    text
}

/// Whether it is only that nobody reads any more, as with `| head`.
pub(crate) fn nobody_reads(error: &anyhow::Error) -> bool {
    let broken = |io: &std::io::Error| io.kind() == std::io::ErrorKind::BrokenPipe;
    let mut causes = error.chain();
    causes.any(|cause| cause.downcast_ref::<std::io::Error>().is_some_and(broken))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;
    use turnwright::ErrorCode;

    #[test]
    fn an_error_is_said_once_with_its_cause_and_code() {
        let inner = std::io::Error::other("no such file");
        let error = anyhow::Error::new(inner).context("`a.json` cannot be read");
        assert_eq!(
            verdict(&error),
            ("`a.json` cannot be read: no such file".into(), 1)
        );

        let ours = turnwright::Error::new(ErrorCode::MODEL_UNREACHABLE, "nobody listens there");
        let error = Err::<(), _>(ours)
            .context("the chat could not go on")
            .unwrap_err();
        let message = "the chat could not go on: nobody listens there (E_MODEL_UNREACHABLE)";
        assert_eq!(verdict(&error).0, message);
    }

    #[test]
    fn a_misuse_ends_with_two() {
        assert_eq!(
            verdict(&misuse("there is no tool `x`")),
            ("there is no tool `x`".into(), 2)
        );
    }
}
