//! Messages of the program in a chat.

#[cfg(test)]
mod tests;

use std::time::Duration;

use turnwright::{Error, ErrorCode, ErrorKind, Usage};

use super::input::{COMMANDS, HINTS};
use crate::show::{Show, Shown};
use crate::storage;
use crate::terminal::{Screen, plain, style, wrap};
use crate::units::count;

/// What to do about an error, in terms of this program. The messages of the library are for developers. `key` is the variable of the
/// API key, if there is one.
fn advice(error: &Error, key: Option<&str>) -> Option<String> {
    if let Some(kind) = storage::database_error(error) {
        return storage::remedy(kind).map(str::to_owned);
    }
    let advice = match error.code() {
        ErrorCode::CONTEXT_WINDOW_EXCEEDED => {
            "start a new part with /new, or send only the last exchanges with --last N"
        }
        ErrorCode::MODEL_SERVER_ERROR if error.kind() == ErrorKind::Denied => {
            return Some(format!(
                "check {}",
                key.unwrap_or("the access to the server")
            ));
        }
        ErrorCode::MODEL_UNREACHABLE => "check --base-url, or run `turnwright doctor`",
        ErrorCode::MODEL_RESPONSE_INCOMPLETE => "ask for a shorter answer, or type: continue",
        _ => return None,
    };
    Some(advice.to_owned())
}

/// Prints advice if there is no answer.
pub(super) fn advise(show: &mut Show, shown: &Shown, key: Option<&str>) -> anyhow::Result<()> {
    let error = shown.outcome.error();
    let advice = error.as_ref().and_then(|error| advice(error, key));
    if let Some(advice) = advice.filter(|_| !shown.interrupted) {
        show.screen.warn(format!("try: {advice}"))?;
    }
    Ok(())
}

/// Prints the warnings of a turn that were not printed before.
pub(super) fn warn(show: &mut Show) -> anyhow::Result<()> {
    let warnings = std::mem::take(&mut show.tally.counts().warnings);
    for warning in warnings {
        show.screen.warn(format!("warning: {}", plain(&warning)))?;
    }
    Ok(())
}

/// Prints warnings, usage and time of a turn.
pub(super) fn after(
    show: &mut Show,
    shown: &Shown,
    key: Option<&str>,
    took: Duration,
) -> anyhow::Result<()> {
    advise(show, shown, key)?;
    warn(show)?;
    let used = shown.outcome.usage;
    let seconds = format!("{:.1} s", took.as_secs_f64());
    let line = match used.input_tokens.saturating_add(used.output_tokens) {
        0 if !shown.outcome.is_answered() => return Ok(()),
        0 => seconds,
        _ => {
            let cached = cached(used);
            let (read, written) = (count(used.input_tokens), count(used.output_tokens));
            format!("{read} input tokens{cached}, {written} output tokens · {seconds}")
        }
    };
    show.screen.dim(line)?;
    Ok(())
}

/// Formats how many input tokens were read from the prompt cache and written to it.
fn cached(used: Usage) -> String {
    let facts = [
        (used.cached_input_tokens, "cached"),
        (used.cache_write_tokens, "written to the cache"),
    ];
    let facts = facts.into_iter().filter(|(tokens, _)| *tokens > 0);
    let facts: Vec<String> = facts
        .map(|(tokens, what)| format!("{} {what}", count(tokens)))
        .collect();
    if facts.is_empty() {
        String::new()
    } else {
        format!(" ({})", facts.join(", "))
    }
}

/// The columns of a command in the list.
const COMMAND: &str = "        ";

pub(super) fn help(screen: &mut Screen) -> anyhow::Result<()> {
    for (command, does) in COMMANDS {
        let room = screen
            .width()
            .map(|width| width.saturating_sub(COMMAND.len()));
        let does = wrap(does, room, "").replace('\n', &format!("\n{COMMAND}"));
        let command = style::paint(style::NAME, format_args!("{command:<8}"));
        screen.line(format_args!("{command}{does}"))?;
    }
    for hint in HINTS {
        screen.dim(hint)?;
    }
    Ok(())
}
