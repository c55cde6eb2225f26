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
use super::guard::CallGuard;
use super::proposed::report_refused;
use super::results::through_hooks;
use crate::deadline::{Cut, within};
use crate::effects::Effects;
use crate::error::{Error, ErrorCode, ToolError};
use crate::event::EventKind;
use crate::lease::TurnLease;
use crate::record::CallState;
use crate::task::OnDrop;
use crate::telemetry::{self, ToolSpan};
use crate::text::panic_text;
use crate::tool::context::{Call, Running, ToolContext};
use crate::tool::{BoundHandler, HandlerResult, Tool, ToolOutput, Work};

/// A call that ran or could not start. Its result is not stored yet.
#[derive(Debug)]
#[must_use = "an outcome is not recorded until it is settled"]
pub(crate) struct Ran {
    pub(super) call: Arc<Call<Running>>,
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
            Box::pin(guard.end(self.state)).await;
        }
        let mut output = self.result?;
        output.private |= self.call.stage.reads.so_far().private;
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
        let start = Instant::now();
        let mut guard = self.stage.guard.take();
        if let Some(guard) = &mut guard {
            guard.started();
        }
        // Held until the handler has ended.
        let mut permit = self.stage.permit.take();
        if let Some(permit) = &mut permit {
            permit.ran = true;
        }
        let (call, bound) = self.start(start);
        call.turn().wiring().begin_reads(&call.stage.reads);
        let mut watch = Watch::start(&call, start);
        let work = bound.start(ToolContext::new(Arc::clone(&call)));
        watch.blocking = matches!(work, Work::Blocking(_));
        let work = perform(work, &call, start);
        let (mut result, abandoned) = watch.span.instrument(work).await;
        // The state of the call does not depend on whether its result can be stored.
        let state = match &result {
            Ok(_) => CallState::Done,
            Err(error) if error.code() == ErrorCode::TOOL_DOWNSTREAM_ERROR => CallState::Failed,
            Err(_) => CallState::Unknown,
        };
        if call.has_result_hooks() {
            result = Box::pin(through_hooks(&call, result)).await;
        }
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
    pub(super) fn start(self, start: Instant) -> (Arc<Call<Running>>, BoundHandler) {
        let Checked {
            tool,
            checksum,
            args,
            edited,
            bound,
        } = self.stage.checked;
        let running = Running::new(self.ctx.turn(), (tool, args), checksum, edited, start);
        let call = Call {
            ctx: self.ctx,
            request: self.request,
            recorded: self.recorded,
            stage: running,
        };
        (Arc::new(call), bound)
    }

    /// Creates the outcome of a call whose handler was not started.
    pub(super) fn not_run(mut self, error: Error) -> Ran {
        let ids = (self.id(), self.stage.checked.checksum.as_str());
        report_refused(&self.ctx, ids, &self.request.name, &error, None);
        let guard = self.stage.guard.take();
        let (call, _) = self.start(Instant::now());
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
async fn perform(
    work: Work,
    call: &Call<Running>,
    start: Instant,
) -> (Result<ToolOutput, Error>, bool) {
    let (time, cancellation) = (call.stage.time(start), call.ctx.cancellation());
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
                Ok(Ok(result)) => result.map_err(|error| error.into_error(call.stage.tool.name())),
                Ok(Err(panic)) => Err(panicked(panic).into_error(call.stage.tool.name())),
                Err(cut) => Err(cut_off(cut, &call.stage.tool, true)),
            };
            (result, false)
        }
        Work::Blocking(work) => Box::pin(perform_blocking(work, call, start)).await,
    }
}

async fn perform_blocking(
    work: Box<dyn FnOnce() -> HandlerResult + Send>,
    call: &Call<Running>,
    start: Instant,
) -> (Result<ToolOutput, Error>, bool) {
    let failed = |error: ToolError| (Err(error.into_error(call.stage.tool.name())), false);
    let here = telemetry::here();
    let work = move || here.in_scope(|| catch_unwind(AssertUnwindSafe(work)));
    let mut thread = tokio::task::spawn_blocking(work);
    // If the caller stops waiting, work without a thread never runs, and a running thread is detached.
    let abort = thread.abort_handle();
    let _abort = OnDrop(|| abort.abort());
    let (time, cancellation) = (call.stage.time(start), call.ctx.cancellation());
    match within(time, cancellation, &mut thread).await {
        Ok(Ok(Ok(Ok(output)))) => (Ok(output), false),
        Ok(Ok(Ok(Err(error)))) => failed(error),
        Ok(Ok(Err(panic))) => failed(panicked(panic)),
        Ok(Err(lost)) => failed(lost.into()),
        Err(cut) => (Err(cut_off(cut, &call.stage.tool, true)), true),
    }
}

fn panicked(panic: Box<dyn Any + Send>) -> ToolError {
    ToolError::internal(format!("the handler panicked: {}", panic_text(panic)))
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

/// Sends the start event, and the end event on drop at the latest.
struct Watch<'c> {
    call: &'c Call<Running>,
    span: ToolSpan,
    start: Instant,
    ended: bool,
    /// Whether a thread is running, which cannot be stopped.
    blocking: bool,
}

impl<'c> Watch<'c> {
    fn start(call: &'c Call<Running>, start: Instant) -> Self {
        call.turn().emit(|| EventKind::ToolExecutionStart {
            id: call.request.id.shared(),
            checksum: call.stage.checksum.shared(),
            tool: Arc::clone(&call.request.name),
            fingerprint: call.stage.tool.fingerprint().into(),
            effects: call.stage.tool.effects(),
            args: Arc::new(call.stage.args.value().clone()),
            repairs: call.stage.args.repairs().into(),
        });
        let (ctx, id) = (&call.ctx, call.id());
        Watch {
            call,
            span: ToolSpan::start(ctx, id, &call.stage.tool, call.stage.args.value()),
            start,
            ended: false,
            blocking: false,
        }
    }

    fn end(&mut self, error: Option<&Error>, abandoned: bool) {
        self.ended = true;
        let code = error.map(|error| error.code().as_str());
        let (call, duration) = (self.call, self.start.elapsed());
        self.span
            .end(call.stage.tool.name(), duration, code, abandoned);
        // Cancel the token, so that a detached handler and the tasks it started can see that its time is over.
        if code.is_some() {
            let dispatch = call.ctx.cancellation();
            let own = call.stage.cancellation.get_or_init(|| dispatch.child());
            own.cancel();
        }
        call.turn().emit(|| EventKind::ToolExecutionEnd {
            id: call.request.id.shared(),
            checksum: call.stage.checksum.shared(),
            tool: Arc::clone(&call.request.name),
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
            let dropped = cancelled(&self.call.stage.tool, true);
            self.end(Some(&dropped), self.blocking);
        }
    }
}
