//! The terminal.

use std::io::{self, IsTerminal as _};

use super::report::Check;
use crate::terminal::{Screen, is_dumb, with_colour};

pub(super) fn check() -> Check {
    if !io::stdout().is_terminal() {
        return Check::ok(
            "terminal",
            "the output is not a terminal: answers are raw text, and calls that need approval are denied",
        );
    }
    if is_dumb() {
        let term = std::env::var("TERM").unwrap_or_default();
        return Check::warn(
            "terminal",
            format!("TERM={term} supports no line editing and no Markdown"),
            "set TERM to the type of your terminal, for example xterm-256color",
        );
    }
    let columns = Screen::new(false).columns();
    let colour = if with_colour(&io::stdout()) {
        "colour"
    } else {
        "no colour"
    };
    if io::stdin().is_terminal() {
        Check::ok("terminal", format!("{columns} columns, {colour}"))
    } else {
        Check::warn(
            "terminal",
            "the input is not a terminal: approvals cannot be asked for",
            "run `chat` without redirecting its input",
        )
    }
}
