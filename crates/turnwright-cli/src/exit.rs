//! Exit codes and error messages.

use std::fmt;
use std::io;
use std::process::ExitCode;

/// The exit code of a command that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Done = 0,
    /// The answer is no: invalid arguments, a turn without an answer. The reason was printed already.
    No = 1,
    /// The command cannot be run as given. The reason was printed already.
    Misused = 2,
    /// Interrupted by Ctrl-C.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit as u8)
    }
}

/// The command cannot be run as given: a missing file, an unknown tool. Exits with 2, as a wrong option does.
#[derive(Debug)]
pub(crate) struct Misuse(String);

impl fmt::Display for Misuse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Misuse {}

/// An error of the caller, in one message that says what to do.
pub(crate) fn misuse(sentence: impl Into<String>) -> anyhow::Error {
    anyhow::Error::new(Misuse(sentence.into()))
}

/// A port of this machine that cannot be used. `free` says how to use a free one.
pub(crate) fn unusable_port(port: u16, error: &io::Error, free: &str) -> anyhow::Error {
    let what = match error.kind() {
        io::ErrorKind::AddrInUse => format!("port {port} of 127.0.0.1 is in use"),
        _ => format!("cannot listen on port {port} of 127.0.0.1: {error}"),
    };
    misuse(format!("{what}. Choose another port, or {free}"))
}

/// The message and the exit code of an error.
pub(crate) fn verdict(error: &anyhow::Error) -> (String, u8) {
    let code = if error.is::<Misuse>() { 2 } else { 1 };
    (sentence(error), code)
}

/// The error and its causes, without repetitions.
fn sentence(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let message = match cause.downcast_ref::<turnwright::Error>() {
            Some(ours) => format!("{} ({})", ours.with_causes(), ours.code()),
            None => cause.to_string(),
        };
        // Many errors include their cause.
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

/// Whether the output was closed by its reader, as with `| head`.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |error: &io::Error| error.kind() == io::ErrorKind::BrokenPipe;
    let mut causes = error.chain();
    causes.any(|cause| cause.downcast_ref().is_some_and(broken))
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context as _;
    use turnwright::ErrorCode;

    #[test]
    fn an_error_has_its_cause_and_code_once() {
        let inner = io::Error::other("no such file");
        let error = anyhow::Error::new(inner).context("cannot read `a.json`");
        assert_eq!(
            verdict(&error),
            ("cannot read `a.json`: no such file".into(), 1)
        );

        let ours = turnwright::Error::new(ErrorCode::MODEL_UNREACHABLE, "connection refused");
        let error = Err::<(), _>(ours).context("the chat failed").unwrap_err();
        let message = "the chat failed: connection refused (E_MODEL_UNREACHABLE)";
        assert_eq!(verdict(&error).0, message);
    }

    #[test]
    fn a_misuse_exits_with_two() {
        assert_eq!(verdict(&misuse("no tool `x`")), ("no tool `x`".into(), 2));
    }
}
