//! Trace events: log messages, errors and refused calls.

use std::time::Duration;

use tracing::{debug, enabled, error, info, warn};

use super::{TARGET, content, measure, names};
use crate::error::{Error, ErrorCode};
use crate::event::Level;
use crate::gate::GateClosed;
use crate::principal::Principal;
use crate::record::GateKind;
use crate::tool::context::{DispatchContext, TurnContext};

/// Returns whether events of this level are recorded.
pub(crate) fn is_traced(level: Level) -> bool {
    match level {
        Level::Debug => enabled!(target: TARGET, tracing::Level::DEBUG),
        Level::Info => enabled!(target: TARGET, tracing::Level::INFO),
        Level::Warn => enabled!(target: TARGET, tracing::Level::WARN),
        Level::Error => enabled!(target: TARGET, tracing::Level::ERROR),
    }
}

/// Emits a message for operators. It is meant for them, so it does not count as content.
pub(crate) fn log(turn: &TurnContext, level: Level, message: &str) {
    let (turn, message) = (turn.turn_id(), content::text(message));
    // The level must be a constant at each call site.
    match level {
        Level::Debug => debug!(target: TARGET, { { names::TURN } = turn }, "{message}"),
        Level::Info => info!(target: TARGET, { { names::TURN } = turn }, "{message}"),
        Level::Warn => warn!(target: TARGET, { { names::TURN } = turn }, "{message}"),
        Level::Error => error!(target: TARGET, { { names::TURN } = turn }, "{message}"),
    }
}

/// Emits a warning. The framework's warnings quote errors, which may contain any content.
pub(crate) fn warning(turn: &TurnContext, message: &str) {
    let message = if turn.setup().trace_content {
        message
    } else {
        "warning: see the turn's events for details"
    };
    log(turn, Level::Warn, message);
}

/// Reports that a turn failed. The error message may contain content from the executor, a tool or a store.
pub(crate) fn failed(turn: &TurnContext, failure: &Error, pipeline: Option<&'static str>) {
    let code = failure.code();
    if is_busy(code) {
        let message = "the turn did not start: another turn of the conversation runs or waits";
        info!(
            target: TARGET,
            { { names::TURN } = turn.turn_id(), { names::ERROR_TYPE } = code.as_str() },
            "{message}"
        );
        return;
    }
    let content = turn.setup().trace_content;
    error!(
        target: TARGET,
        {
            { names::TURN } = turn.turn_id(),
            { names::ERROR_TYPE } = code.as_str(),
            { names::FATAL } = failure.is_fatal(),
            { names::PIPELINE } = pipeline
        },
        "{}",
        if content { content::text(failure.message()) } else { "the turn failed".into() }
    );
}

/// Returns whether the code says that the conversation is in use, or that the turn itself waits. Nothing is broken then.
pub(crate) fn is_busy(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::TURN_WAITING | ErrorCode::TURN_HELD)
}

/// Reports that a call was refused before it ran.
pub(crate) fn refused(ctx: &DispatchContext, id: &str, tool: &str, code: ErrorCode) {
    // A name that no tool has was chosen by the model and counts as content.
    let known = (code != ErrorCode::UNKNOWN_TOOL).then_some(tool);
    measure::refusal(known, code);
    info!(
        target: TARGET,
        {
            { names::TURN } = ctx.turn().turn_id(),
            { names::TOOL } = known,
            { names::TOOL_CALL } = id,
            { names::ERROR_TYPE } = code.as_str()
        },
        "tool call refused"
    );
}

/// Reports how a gate was closed, and who answered. The note is content.
pub(crate) fn gate_closed(
    turn: &TurnContext,
    (id, kind): (&str, &GateKind),
    waited: Duration,
    closed: &GateClosed,
) {
    measure::gate(kind, waited, closed.how);
    let note = closed.note.as_deref();
    let note = note.filter(|_| turn.setup().trace_content);
    info!(
        target: TARGET,
        {
            { names::TURN } = turn.turn_id(),
            { names::GATE } = id,
            { names::GATE_KIND } = kind.as_str(),
            { names::GATE_CLOSED } = closed.how.as_str(),
            { names::GATE_BY } = closed.by.as_ref().map(Principal::as_str),
            { names::GATE_NOTE } = note.map(|note| content::text(note).into_owned())
        },
        "gate closed"
    );
}
