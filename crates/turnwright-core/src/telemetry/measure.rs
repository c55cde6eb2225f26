//! Emits metrics, as events that the bridge from `tracing` to OpenTelemetry understands.
//!
//! They have no parent, so that they are not also events of a span, and the lowest level, so that they do not fill logs.

use std::time::Duration;

use tracing::{Level, event};

use super::{METRICS_TARGET, names};
use crate::dispatch::Executor;
use crate::error::ErrorCode;
use crate::gate::GateEnd;
use crate::outcome::TurnOutcome;
use crate::record::GateKind;
use crate::usage::ModelUsage;

/// Measures a request to a model. `response`: what the executor reported, if anything.
pub(super) fn operation(
    executor: &dyn Executor,
    response: Option<&ModelUsage>,
    duration: Duration,
    error: Option<&'static str>,
) {
    let (provider, model) = (executor.name(), executor.model());
    let (server, port) = server_of(executor);
    let answered = response.and_then(|response| response.model.as_deref());
    event!(
        target: METRICS_TARGET,
        parent: None,
        Level::TRACE,
        { names::OPERATION_DURATION } = duration.as_secs_f64(),
        { names::OPERATION } = "chat",
        { names::PROVIDER } = provider,
        { names::MODEL } = model,
        { names::RESPONSE_MODEL } = answered,
        { names::SERVER } = server,
        { names::PORT } = port,
        { names::ERROR_TYPE } = error,
    );
    let tokens = response.map(|response| response.tokens);
    // Usage that is not known must not be reported.
    let Some(tokens) = tokens.filter(|tokens| tokens.total_tokens() > 0) else {
        return;
    };
    for (kind, count) in [
        ("input", tokens.input_tokens),
        ("output", tokens.output_tokens),
    ] {
        event!(
            target: METRICS_TARGET,
            parent: None,
            Level::TRACE,
            { names::TOKEN_USAGE } = count,
            { names::TOKEN_TYPE } = kind,
            { names::OPERATION } = "chat",
            { names::PROVIDER } = provider,
            { names::MODEL } = model,
            { names::RESPONSE_MODEL } = answered,
            { names::SERVER } = server,
            { names::PORT } = port,
        );
    }
}

/// Returns the address and the port of an executor's server, in the types that they have in traces.
pub(super) fn server_of(executor: &dyn Executor) -> (Option<&str>, Option<i64>) {
    let server = executor.server();
    let port = server.map(|(_, port)| i64::from(port));
    (server.map(|(host, _)| host), port)
}

/// Measures a turn that ended.
pub(super) fn turn(agent: Option<&str>, outcome: &TurnOutcome, duration: Duration) {
    event!(
        target: METRICS_TARGET,
        parent: None,
        Level::TRACE,
        { names::TURN_DURATION } = duration.as_secs_f64(),
        { names::AGENT } = agent,
        { names::ENDED } = outcome.status.as_str(),
        { names::ERROR_TYPE } = outcome.error().map(|error| error.code().as_str()),
    );
}

/// Measures one run of a handler.
pub(super) fn tool(tool: &str, duration: Duration, error: Option<&'static str>) {
    event!(
        target: METRICS_TARGET,
        parent: None,
        Level::TRACE,
        { names::TOOL_DURATION } = duration.as_secs_f64(),
        { names::TOOL } = tool,
        { names::ERROR_TYPE } = error,
    );
}

/// Counts a call that was refused. `tool`: its name, if it is that of a tool.
pub(super) fn refusal(tool: Option<&str>, code: ErrorCode) {
    event!(
        target: METRICS_TARGET,
        parent: None,
        Level::TRACE,
        { names::TOOL_REFUSALS } = 1_u64,
        { names::TOOL } = tool,
        { names::ERROR_TYPE } = code.as_str(),
    );
}

/// Counts a gate that was opened.
pub(crate) fn gate_opened(kind: &GateKind) {
    event!(
        target: METRICS_TARGET,
        parent: None,
        Level::TRACE,
        { names::GATE_OPENINGS } = 1_u64,
        { names::GATE_KIND } = kind.as_str(),
    );
}

/// Measures a gate that was closed.
pub(super) fn gate(kind: &GateKind, waited: Duration, how: GateEnd) {
    event!(
        target: METRICS_TARGET,
        parent: None,
        Level::TRACE,
        { names::GATE_DURATION } = waited.as_secs_f64(),
        { names::GATE_KIND } = kind.as_str(),
        { names::GATE_CLOSED } = how.as_str(),
    );
}
