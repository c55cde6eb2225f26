//! Emits metrics, as events that the bridge from `tracing` to OpenTelemetry understands.
//!
//! They have no parent, so that they are not also events of a span, and the lowest level, so that they do not fill logs.

use std::time::Duration;

use tracing::{Level, event};

use super::events::is_busy;
use super::{METRICS_TARGET, names};
use crate::dispatch::Executor;
use crate::error::{Error, ErrorCode};
use crate::gate::GateEnd;
use crate::outcome::TurnOutcome;
use crate::record::GateKind;
use crate::usage::{ModelRequest, ModelUsage};

/// The model that is asked, in the types that it has in traces.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Asked<'a> {
    pub(super) provider: &'a str,
    pub(super) model: Option<&'a str>,
    pub(super) server: Option<&'a str>,
    pub(super) port: Option<i64>,
}

impl<'a> Asked<'a> {
    /// Returns the model of a request, or that of the executor.
    pub(super) fn of(executor: &'a dyn Executor, request: Option<&'a ModelRequest>) -> Self {
        let server = request.and_then(|request| request.server.as_ref());
        let server = server
            .map(|(host, port)| (&**host, *port))
            .or_else(|| executor.server());
        let provider = request.and_then(|request| request.provider.as_deref());
        let model = request.and_then(|request| request.model.as_deref());
        Asked {
            provider: provider.unwrap_or_else(|| executor.name()),
            model: model.or_else(|| executor.model()),
            server: server.map(|(host, _)| host),
            port: server.map(|(_, port)| i64::from(port)),
        }
    }
}

/// Measures a request to a model. `response`: what the executor reported, if anything.
pub(super) fn operation(
    asked: Asked<'_>,
    response: Option<&ModelUsage>,
    duration: Duration,
    error: Option<&'static str>,
) {
    let Asked {
        provider,
        model,
        server,
        port,
    } = asked;
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

/// Returns the error of a turn, unless it only says that the turn waits or that the conversation is in use.
pub(super) fn failure_of(outcome: &TurnOutcome) -> Option<Error> {
    outcome.error().filter(|error| !is_busy(error.code()))
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
        { names::ERROR_TYPE } = failure_of(outcome).map(|error| error.code().as_str()),
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
