//! Ensures that every recorded call is closed.
//!
//! A guard accompanies a call from the moment it is recorded. Settling the call consumes the guard. If the guard is
//! dropped instead (panic, cancellation, timeout), it spawns a task that marks the call as interrupted and notes
//! whether its handler had started. The turn waits for these tasks. A call can stay open only if the process dies;
//! recovery handles that case.

use std::sync::Arc;

use serde_json::Value;
use tokio::runtime::Handle;

use super::proposed::report_refused;
use super::run::cancelled;
use crate::error::{Error, ErrorCode};
use crate::record::{CallState, LedgerEntry, Record, Settled, ToolCall, ToolResults};
use crate::task::Alive;
use crate::telemetry::here;
use crate::tool::Tool;
use crate::tool::context::DispatchContext;

/// The open records of a call. If it is dropped before the call is settled, it closes the call as interrupted.
pub(super) struct CallGuard(Option<Box<Open>>);

struct Open {
    ctx: DispatchContext,
    /// The open record. `None` if the call is not recorded.
    record: Option<Arc<ToolCall>>,
    /// The ledger entry, for a call that may write.
    entry: Option<Arc<LedgerEntry>>,
    tool: Option<Tool>,
    /// The arguments that it runs with, if they differ from the proposed ones.
    edited: Option<Value>,
    /// The result, if the call was refused.
    refusal: Option<Settled>,
    /// Whether the handler was started.
    started: bool,
    runtime: Option<Handle>,
    /// The turn does not end before the call is settled.
    _open: Alive,
}

impl CallGuard {
    pub(super) fn new(ctx: &DispatchContext, record: Option<Arc<ToolCall>>) -> Self {
        CallGuard(Some(Box::new(Open {
            ctx: ctx.clone(),
            record,
            entry: None,
            tool: None,
            edited: None,
            refusal: None,
            started: false,
            runtime: ctx.turn().runtime(),
            _open: ctx.turn().journal().open_calls().guard(),
        })))
    }

    /// Marks the call as about to run.
    pub(super) fn mark_started(
        &mut self,
        tool: &Tool,
        edited: Option<Value>,
        entry: Option<Arc<LedgerEntry>>,
    ) {
        if let Some(open) = &mut self.0 {
            (open.tool, open.edited, open.entry) = (Some(tool.clone()), edited, entry);
        }
    }

    /// Disarms the guard: the call is closed elsewhere.
    pub(super) fn disarm(mut self) {
        self.0 = None;
    }

    /// Marks the call as refused. The event was sent, but the record does not exist yet.
    pub(super) fn refused(&mut self, settled: Settled) {
        if let Some(open) = &mut self.0 {
            open.refusal = Some(settled);
        }
    }

    /// Marks the handler as started.
    pub(super) fn started(&mut self) {
        if let Some(open) = &mut self.0 {
            open.started = true;
        }
    }

    /// Settles the call: stores the result with the ledger entry, and reports it.
    pub(super) async fn settle(
        mut self,
        settled: Settled,
        state: CallState,
    ) -> Option<Arc<ToolCall>> {
        let open = self.0.take()?;
        open.settle(settled, state).await
    }

    /// Ends the ledger entry of a call that is not recorded.
    pub(super) async fn end(mut self, state: CallState) {
        if let Some(open) = self.0.take() {
            let entry = open.entry.as_ref().map(|entry| entry.ended(state));
            let records = entry.map(Record::Ledger).into_iter().collect();
            open.ctx.put_on_record(records).await;
        }
    }
}

impl Open {
    async fn settle(self, settled: Settled, state: CallState) -> Option<Arc<ToolCall>> {
        let mut records = Vec::with_capacity(2);
        let record = self.record.map(|record| record.closed(settled));
        records.extend(self.entry.map(|entry| Record::Ledger(entry.ended(state))));
        records.extend(record.clone().map(Record::ToolCall));
        self.ctx.put_on_record(records).await;
        record
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
        if let Some(record) = self.record.as_ref().filter(|_| !self.started) {
            let ids = (record.id(), record.checksum());
            report_refused(&self.ctx, ids, record.tool(), &error, None);
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
        if let Some(open) = self.0.take()
            // A suspended turn leaves its calls open for the next run.
            && !open.ctx.turn().gates().activity().is_suspended()
            && let Some(runtime) = open.runtime.clone()
            && (open.record.is_some() || open.entry.is_some())
        {
            let tasks = open.ctx.turn().journal().tasks().clone();
            let (settled, state) = open.cut_off();
            tasks.spawn_on(
                here().instrument(async move { drop(open.settle(settled, state).await) }),
                &runtime,
            );
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
