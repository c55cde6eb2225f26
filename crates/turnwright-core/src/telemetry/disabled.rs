//! Stubs for builds without the feature `tracing`. They compile to nothing.

use std::marker::PhantomData;
use std::time::Duration;

use serde_json::Value;

use crate::dispatch::Executor;
use crate::error::{Error, ErrorCode};
use crate::event::Level;
use crate::gate::GateClosed;
use crate::outcome::TurnOutcome;
use crate::record::{GateKind, Message};
use crate::tool::context::{DispatchContext, TurnContext};
use crate::tool::{Tool, ToolOutput};

pub(crate) struct TurnSpan;

impl TurnSpan {
    pub(crate) fn start(_: &dyn Executor, _: &TurnContext, _: Option<&Message>) -> Self {
        TurnSpan
    }

    pub(crate) fn instrument<F: Future<Output = TurnOutcome>>(self, work: F) -> F {
        work
    }
}

pub(crate) fn principal(_: &TurnContext) {}

pub(crate) fn gate_opened(_: &GateKind) {}

pub(crate) struct ModelSpan<'c>(PhantomData<&'c DispatchContext>);

impl<'c> ModelSpan<'c> {
    pub(crate) fn start(_: &'c dyn Executor, _: &'c DispatchContext) -> Self {
        ModelSpan(PhantomData)
    }

    pub(crate) fn instrument<F: Future>(&self, work: F) -> F {
        work
    }

    pub(crate) fn end(self, _: Option<&'static str>) {}
}

pub(crate) struct ToolSpan;

impl ToolSpan {
    pub(crate) fn start(_: &DispatchContext, _: &str, _: &Tool, _: &Value) -> Self {
        ToolSpan
    }

    pub(crate) fn instrument<F: Future>(&self, work: F) -> F {
        work
    }

    pub(crate) fn result(&self, _: &Result<ToolOutput, Error>) {}

    pub(crate) fn end(&self, _: &str, _: Duration, _: Option<&'static str>, _: bool) {}
}

pub(crate) struct Here;

pub(crate) fn here() -> Here {
    Here
}

impl Here {
    pub(crate) fn instrument<F: Future>(self, work: F) -> F {
        work
    }

    pub(crate) fn in_scope<T>(self, work: impl FnOnce() -> T) -> T {
        work()
    }
}

pub(crate) fn is_traced(_: Level) -> bool {
    false
}

pub(crate) fn log(_: &TurnContext, _: Level, _: &str) {}

pub(crate) fn warning(_: &TurnContext, _: &str) {}

pub(crate) fn failed(_: &TurnContext, _: &Error, _: Option<&'static str>) {}

pub(crate) fn refused(_: &DispatchContext, _: &str, _: &str, _: ErrorCode) {}

pub(crate) fn gate_closed(_: &TurnContext, _: (&str, &GateKind), _: Duration, _: &GateClosed) {}
