//! How a program reports errors and panics.

use std::io::Write as _;
use std::process::ExitCode;

use serde_json::json;

use crate::exit::verdict;
use crate::terminal::style::{self, paint};

/// Panics of handlers are reported as failed calls, so they print nothing. A panic on the main thread is a bug of the
/// program and is reported in one sentence.
pub(super) fn set_panic_hook() {
    std::panic::set_hook(Box::new(|info| {
        if std::thread::current().name() != Some("main") {
            return;
        }
        let place = info.location().map(ToString::to_string).unwrap_or_default();
        // If the output is closed, the exit code is all that is left to report.
        let _ = writeln!(
            anstream::stderr(),
            "error: internal error at {place}; please report it"
        );
    }));
}

/// Prints an error in one sentence, without a backtrace.
pub(super) fn print_error(error: &anyhow::Error, json: bool) -> ExitCode {
    let (sentence, code) = verdict(error);
    let sentence = crate::terminal::plain(&sentence).into_owned();
    let text = if json {
        json!({ "error": { "message": sentence, "exit": code } }).to_string()
    } else {
        format!("{} {sentence}", paint(style::BAD, "error:"))
    };
    // If the output is closed, the exit code is all that is left to report.
    let _ = writeln!(anstream::stderr(), "{text}");
    ExitCode::from(code)
}
