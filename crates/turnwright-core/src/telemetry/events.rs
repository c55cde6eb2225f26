//! What is told of a turn in single words: to operators, of errors, of calls that were refused.

use tracing::{debug, enabled, error, info, warn};

use super::{TARGET, content, names};
use crate::error::{Error, ErrorCode};
use crate::event::Level;
use crate::tool::context::{DispatchContext, TurnContext};

/// Words to operators, which become a `String` once somebody wants them.
pub(crate) enum Words<M> {
    Heard(String),
    Unheard(M),
}

impl<M: Into<String>> Words<M> {
    pub(crate) fn into_string(self) -> String {
        match self {
            Words::Heard(words) => words,
            Words::Unheard(words) => words.into(),
        }
    }
}

/// Gives words to the trace, if somebody traces, and gives them back. They are meant for operators, so they are no content.
pub(crate) fn log<M: Into<String>>(turn: &TurnContext, level: Level, message: M) -> Words<M> {
    // A level must stand in the code itself, so there is one place for each.
    macro_rules! at {
        ($level:ident, $tell:ident) => {{
            if !enabled!(target: TARGET, tracing::Level::$level) {
                return Words::Unheard(message);
            }
            let words: String = message.into();
            let shown = content::text(&words);
            $tell!(target: TARGET, { { names::TURN } = turn.turn_id() }, "{shown}");
            drop(shown);
            Words::Heard(words)
        }};
    }
    match level {
        Level::Debug => at!(DEBUG, debug),
        Level::Info => at!(INFO, info),
        Level::Warn => at!(WARN, warn),
        Level::Error => at!(ERROR, error),
    }
}

/// Notes a warning, and gives it back. What the framework warns of it says with the error that it came across, in which
/// anything may stand.
pub(crate) fn warning<M: Into<String>>(turn: &TurnContext, message: M) -> Words<M> {
    if turn.setup().trace_content {
        return log(turn, Level::Warn, message);
    }
    warn!(target: TARGET, { { names::TURN } = turn.turn_id() }, "a warning: see the turn's events");
    Words::Unheard(message)
}

/// A turn failed. The error's own words may hold anything that the executor, a tool or a store came across.
pub(crate) fn failed(turn: &TurnContext, failure: &Error, pipeline: Option<&'static str>) {
    let content = turn.setup().trace_content;
    error!(
        target: TARGET,
        {
            { names::TURN } = turn.turn_id(),
            { names::ERROR_TYPE } = failure.code().as_str(),
            { names::FATAL } = failure.is_fatal(),
            { names::PIPELINE } = pipeline
        },
        "{}",
        match content {
            true => content::text(failure.message()),
            false => "the turn failed".into(),
        }
    );
}

/// A call was refused: nothing ran.
pub(crate) fn refused(ctx: &DispatchContext, id: &str, tool: &str, code: ErrorCode) {
    // A name that no tool has is the model's own words.
    let known = (code != ErrorCode::UnknownTool).then_some(tool);
    info!(
        target: TARGET,
        {
            { names::TURN } = ctx.turn_id(),
            { names::TOOL } = known,
            { names::TOOL_CALL } = id,
            { names::ERROR_TYPE } = code.as_str()
        },
        "a call was refused"
    );
}
