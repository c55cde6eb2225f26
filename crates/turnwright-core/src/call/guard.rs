//! Ensures that every recorded call is closed.
//!
//! A guard accompanies a call from the moment it is recorded. Settling the call consumes the guard. If the guard is
//! dropped instead (panic, cancellation, timeout), it spawns a task that marks the call as interrupted and notes
//! whether its handler had started. The turn waits for these tasks. A call can stay open only if the process dies;
//! recovery handles that case.

use std::sync::Arc;

use serde_json::Value;
use tokio::runtime::Handle;

use crate::deadline::Cut;
use crate::effects::Effects;
use crate::error::{Error, ErrorCode};
use crate::event::EventKind;
use crate::record::{CallState, Denial, LedgerEntry, Record, Settled, ToolCall, ToolResults};
use crate::task::Alive;
use crate::telemetry::{self, here};
use crate::tool::Tool;
use crate::tool::context::DispatchContext;

/// The open records of a call. If it is dropped before the call is settled, it closes the call as interrupted.
pub(super) struct CallGuard(Box<Open>);

struct Open {
    ctx: DispatchContext,
    /// The open record.
    record: Arc<ToolCall>,
    /// Whether the record is stored.
    recorded: bool,
    /// The ledger entry, for a call that may write.
    entry: Option<Arc<LedgerEntry>>,
    tool: Option<Tool>,
    /// The arguments that it runs with, if they differ from the proposed ones.
    edited: Option<Value>,
    /// The result, if the call was refused.
    refusal: Option<Settled>,
    /// Whether the handler was started.
    started: bool,
    /// Whether the call is closed here or elsewhere.
    closed: bool,
    runtime: Option<Handle>,
    /// The turn does not end before the call is settled.
    _open: Alive,
}

impl CallGuard {
    pub(super) fn new(ctx: &DispatchContext, record: &Arc<ToolCall>, recorded: bool) -> Self {
        CallGuard(Box::new(Open {
            ctx: ctx.clone(),
            record: Arc::clone(record),
            recorded,
            entry: None,
            tool: None,
            edited: None,
            refusal: None,
            started: false,
            closed: false,
            runtime: ctx.turn().runtime(),
            _open: ctx.turn().journal().open_calls().guard(),
        }))
    }

    /// Marks the call as admitted: it is about to run.
    pub(super) fn admitted(
        &mut self,
        tool: &Tool,
        edited: Option<Value>,
        entry: Option<Arc<LedgerEntry>>,
    ) {
        (self.0.tool, self.0.edited, self.0.entry) = (Some(tool.clone()), edited, entry);
    }

    /// Disarms the guard: the call is closed elsewhere.
    pub(super) fn disarm(mut self) {
        self.0.closed = true;
    }

    /// Marks the call as refused. The event was sent, but the record does not exist yet.
    pub(super) fn refused(&mut self, settled: Settled) {
        self.0.refusal = Some(settled);
    }

    /// Marks the handler as started.
    pub(super) fn handler_started(&mut self) {
        self.0.started = true;
    }

    /// Settles the call: stores the result, if the call is recorded, with the ledger entry, and reports it.
    pub(super) async fn settle(mut self, settled: Settled, state: CallState) -> Arc<ToolCall> {
        self.0.closed = true;
        let (record, records) = self.0.closed(settled, state);
        self.0.ctx.put_on_record(records).await;
        record
    }
}

impl Open {
    /// Returns the settled call, and what is to be stored.
    fn closed(&self, settled: Settled, state: CallState) -> (Arc<ToolCall>, Vec<Record>) {
        let record = Arc::clone(&self.record).closed(settled);
        let entry = self.entry.as_ref().map(|entry| entry.ended(state).into());
        let stored = self.recorded.then(|| Arc::clone(&record).into());
        (record, entry.into_iter().chain(stored).collect())
    }

    /// The result of a call that was interrupted here. If the handler was started, its end has already been reported.
    fn cut_off(&self) -> (Settled, CallState) {
        if let Some(refusal) = &self.refusal {
            return (refusal.clone(), CallState::Failed);
        }
        let error = match &self.tool {
            Some(tool) => cancelled(tool, self.started),
            None => Error::new(ErrorCode::TOOL_CANCELLED, "the call was dropped")
                .with_model_text("The call was cancelled. The tool was not run."),
        };
        if self.recorded && !self.started {
            report_refused(&self.ctx, &self.record, &error, None);
        }
        let for_model = error.model_text().to_owned();
        let (results, state) = if self.started {
            (ToolResults::Failure(for_model), CallState::Unknown)
        } else {
            (ToolResults::Refusal(for_model), CallState::Failed)
        };
        let mut settled = Settled::framework(results);
        settled.edited.clone_from(&self.edited);
        (settled, state)
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let open = &self.0;
        let turn = open.ctx.turn();
        let is_stored = open.recorded || open.entry.is_some();
        // A suspended turn leaves its calls open for the next run.
        if open.closed || !is_stored || turn.gates().activity().is_suspended() {
            return;
        }
        if let Some(runtime) = &open.runtime {
            let (settled, state) = open.cut_off();
            let (_, records) = open.closed(settled, state);
            let ctx = open.ctx.clone();
            let work = async move { ctx.put_on_record(records).await };
            let tasks = turn.journal().tasks();
            drop(tasks.spawn_on(here().instrument(work), runtime));
        }
    }
}

impl DispatchContext {
    /// Stores records of calls. Returns whether that succeeded.
    pub(super) async fn put_on_record(&self, records: Vec<Record>) -> bool {
        if records.is_empty() {
            return true;
        }
        self.turn().write(records).await.is_ok()
    }
}

debug_fields!(CallGuard {});

/// Reports that a call was refused.
pub(super) fn report_refused(
    ctx: &DispatchContext,
    call: &ToolCall,
    error: &Error,
    denial: Option<&Denial>,
) {
    telemetry::refused(ctx, call.id(), call.tool(), error.code());
    ctx.turn().emit(|| EventKind::ToolCallRefused {
        id: call.id().into(),
        checksum: call.checksum().into(),
        tool: Arc::clone(&call.tool),
        code: error.code().as_str(),
        message: error.with_causes(),
        faults: error.faults().to_vec(),
        reason: denial.map(|denial| denial.reason.clone()),
        sources: denial.map_or_else(Vec::new, |denial| denial.sources.clone()),
    });
}

/// Returns the code, the message for operators and the text for the model.
pub(super) fn describe(cut: Cut) -> (ErrorCode, String, String) {
    match cut {
        Cut::Timeout(limit) => (
            ErrorCode::TOOL_TIMEOUT,
            format!("it timed out after {limit:?}"),
            format!("The call timed out after {limit:?}."),
        ),
        Cut::Cancelled => (
            ErrorCode::TOOL_CANCELLED,
            "it was cancelled".to_owned(),
            "The call was cancelled.".to_owned(),
        ),
    }
}

/// The error of a cancelled call.
pub(super) fn cancelled(tool: &Tool, started: bool) -> Error {
    cut_off(Cut::Cancelled, tool, started)
}

/// The error of an interrupted call. Tells the model whether the call may have taken effect.
pub(super) fn cut_off(cut: Cut, tool: &Tool, started: bool) -> Error {
    let (code, why, for_model) = describe(cut);
    let effect = match (started, tool.effects()) {
        (false, _) => "The tool was not run.",
        (true, Effects::ReadOnly) => "It is read-only, so nothing was changed.",
        (true, Effects::Writes) => {
            "It may or may not have taken effect. Check before you repeat it."
        }
    };
    let message = format!("`{}` was interrupted: {why}", tool.name());
    Error::new(code, message).with_model_text(format!("{for_model} {effect}"))
}
