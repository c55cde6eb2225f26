//! Runs handlers. No other code does.
//!
//! The handler was bound when the arguments were checked: `Handler::bind` deserialises them and returns a closure that
//! needs only a context. The contract fuzzer uses the same binding and drops it.
//!
//! A single call is polled where it is awaited, under `catch_unwind`. Timers are created when the handler is first
//! pending. Parallel calls are tasks of one set. Blocking handlers run on the blocking pool; on timeout the thread is
//! detached.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use futures_util::FutureExt as _;
use tokio::time::Instant;

use super::admitted::Admitted;
use super::checked::Checked;
use super::guard::{CallGuard, cancelled, cut_off, report_refused};
use super::proposed::Call;
use super::results::through_hooks;
use crate::deadline::within;
use crate::error::{Error, ErrorCode, ToolError};
use crate::event::EventKind;
use crate::lease::TurnLease;
use crate::record::{CallState, Settled};
use crate::task::OnDrop;
use crate::telemetry::{self, ToolSpan};
use crate::text::panic_text;
use crate::tool::context::ToolContext;
use crate::tool::{BoundHandler, HandlerResult, ToolOutput, Work};

/// A call that ran or could not start. Its result is not stored yet.
#[derive(Debug)]
#[must_use = "an outcome is not recorded until it is settled"]
pub(crate) struct Ran {
    pub(super) call: ToolContext,
    pub(super) result: Result<ToolOutput, Error>,
    pub(super) guard: Option<CallGuard>,
    /// The state of the call in the ledger.
    pub(super) state: CallState,
    /// Whether the handler was started.
    pub(super) started: bool,
}

impl Ran {
    /// Returns the result of the handler. Ends the ledger entry; the call is not recorded.
    ///
    /// # Errors
    /// Returns an error if the handler failed, panicked, timed out or was cancelled.
    pub(crate) async fn into_result(self) -> Result<ToolOutput, Error> {
        if let Some(guard) = self.guard {
            // It has no record.
            Box::pin(guard.settle(Settled::default(), self.state)).await;
        }
        let mut output = self.result?;
        output.private |= self.call.reads().so_far().private;
        Ok(output)
    }
}

impl Call<Admitted> {
    /// Runs the handler with its timeout and the cancellation of the dispatch. Catches panics. The start and end events always
    /// come as a pair.
    pub(crate) async fn run(mut self) -> Ran {
        if self.ctx.cancellation().is_cancelled() {
            let error = cancelled(&self.stage.checked.tool, false);
            return self.not_run(error);
        }
        if let Err(error) = self.take_permit() {
            return self.not_run(error);
        }
        if let Err(error) = Box::pin(self.begin(None)).await {
            return self.not_run(error);
        }
        // If the process was suspended for long, the fencing token decides before anything is changed.
        if self.needs_ledger_entry() && self.turn().lease().is_some_and(TurnLease::may_be_over) {
            // A failure ends the turn, which is checked next.
            let _ = Box::pin(self.turn().renew()).await;
        }
        // The store may have taken long.
        if self.ctx.cancellation().is_cancelled() {
            let error = cancelled(&self.stage.checked.tool, false);
            return self.not_run(error);
        }
        let mut guard = self.stage.guard.take();
        if let Some(guard) = &mut guard {
            guard.handler_started();
        }
        // Held until the handler has ended.
        let mut permit = self.stage.permit.take();
        if let Some(permit) = &mut permit {
            permit.ran = true;
        }
        let (call, bound) = self.start();
        call.turn().begin_reads(call.reads());
        let mut watch = Watch::start(&call);
        let work = bound.start(call.clone());
        watch.blocking = matches!(work, Work::Blocking(_));
        let work = perform(work, &call);
        let (mut result, abandoned) = watch.span.instrument(work).await;
        // The state of the call does not depend on whether its result can be stored.
        let state = match &result {
            Ok(_) => CallState::Done,
            Err(error) if error.code() == ErrorCode::TOOL_DOWNSTREAM_ERROR => CallState::Failed,
            Err(_) => CallState::Unknown,
        };
        result = through_hooks(&call, result).await;
        watch.span.result(&result);
        watch.end(result.as_ref().err(), abandoned);
        drop(watch);
        drop(permit);
        Ran {
            call,
            result,
            guard,
            state,
            started: true,
        }
    }

    /// Moves the call to the stage in which its handler runs.
    pub(super) fn start(self) -> (ToolContext, BoundHandler) {
        let Checked {
            tool,
            args,
            edited,
            bound,
        } = self.stage.checked;
        let call = ToolContext::new(self.ctx, self.record, tool, args, edited);
        (call, bound)
    }

    /// Creates the outcome of a call whose handler was not started.
    pub(super) fn not_run(mut self, error: Error) -> Ran {
        report_refused(&self.ctx, &self.record, &error, None);
        let guard = self.stage.guard.take();
        let (call, _) = self.start();
        Ran {
            call,
            result: Err(error),
            guard,
            state: CallState::Failed,
            started: false,
        }
    }
}

/// Runs the work until it ends or is interrupted. Also returns whether a thread was detached.
async fn perform(work: Work, call: &ToolContext) -> (Result<ToolOutput, Error>, bool) {
    let (time, cancellation) = (call.time_limit(), call.dispatch().cancellation());
    match work {
        Work::Async(future) => {
            let mut work = AssertUnwindSafe(future).catch_unwind();
            // Many handlers complete on the first poll. Then no timer is needed. The rest is boxed, here and above, to keep the
            // future small.
            let ended = match (&mut work).now_or_never() {
                Some(ended) => Ok(ended),
                None => Box::pin(within(time, cancellation, work)).await,
            };
            let result = match ended {
                Ok(Ok(result)) => result.map_err(|error| error.into_error(call.tool().name())),
                Ok(Err(panic)) => Err(panicked(panic).into_error(call.tool().name())),
                Err(cut) => Err(cut_off(cut, call.tool(), true)),
            };
            (result, false)
        }
        Work::Blocking(work) => Box::pin(perform_blocking(work, call)).await,
    }
}

async fn perform_blocking(
    work: Box<dyn FnOnce() -> HandlerResult + Send>,
    call: &ToolContext,
) -> (Result<ToolOutput, Error>, bool) {
    let failed = |error: ToolError| (Err(error.into_error(call.tool().name())), false);
    let here = telemetry::here();
    let work = move || here.in_scope(|| catch_unwind(AssertUnwindSafe(work)));
    let mut thread = tokio::task::spawn_blocking(work);
    // If the caller stops waiting, work without a thread never runs, and a running thread is detached.
    let abort = thread.abort_handle();
    let _abort = OnDrop(|| abort.abort());
    let (time, cancellation) = (call.time_limit(), call.dispatch().cancellation());
    match within(time, cancellation, &mut thread).await {
        Ok(Ok(Ok(Ok(output)))) => (Ok(output), false),
        Ok(Ok(Ok(Err(error)))) => failed(error),
        Ok(Ok(Err(panic))) => failed(panicked(panic)),
        Ok(Err(lost)) => failed(lost.into()),
        Err(cut) => (Err(cut_off(cut, call.tool(), true)), true),
    }
}

fn panicked(panic: Box<dyn Any + Send>) -> ToolError {
    ToolError::internal(format!("the handler panicked: {}", panic_text(panic)))
}

/// Sends the start event, and the end event on drop at the latest.
struct Watch<'c> {
    call: &'c ToolContext,
    span: ToolSpan,
    start: Instant,
    ended: bool,
    /// Whether a thread is running, which cannot be stopped.
    blocking: bool,
}

impl<'c> Watch<'c> {
    fn start(call: &'c ToolContext) -> Self {
        call.turn().emit(|| EventKind::ToolExecutionStart {
            id: call.id().into(),
            checksum: call.checksum().into(),
            tool: Arc::clone(&call.record().tool),
            fingerprint: call.tool().fingerprint().into(),
            effects: call.tool().effects(),
            args: Arc::new(call.args().clone()),
            repairs: call.checked_args().repairs().into(),
        });
        Watch {
            call,
            span: ToolSpan::start(call.dispatch(), call.id(), call.tool(), call.args()),
            start: Instant::now(),
            ended: false,
            blocking: false,
        }
    }

    fn end(&mut self, error: Option<&Error>, abandoned: bool) {
        self.ended = true;
        let code = error.map(|error| error.code().as_str());
        let (call, duration) = (self.call, self.start.elapsed());
        self.span.end(call.tool().name(), duration, code, abandoned);
        // Cancel the token, so that a detached handler and the tasks it started can see that its time is over.
        if code.is_some() {
            call.cancellation().cancel();
        }
        call.turn().emit(|| EventKind::ToolExecutionEnd {
            id: call.id().into(),
            checksum: call.checksum().into(),
            tool: Arc::clone(&call.record().tool),
            duration,
            is_error: code.is_some(),
            code,
            message: error.map(Error::with_causes),
            abandoned,
        });
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.ended {
            let dropped = cancelled(self.call.tool(), true);
            self.end(Some(&dropped), self.blocking);
        }
    }
}
