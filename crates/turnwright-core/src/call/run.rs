//! The only place that reaches a handler.

use std::any::Any;
use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::{Instant, Sleep};

use super::admitted::AdmittedCall;
use super::context::{CallFacts, ToolContext};
use super::ledger::{EndState, Ledger};
use crate::cancel::Cancellation;
use crate::error::{Error, ErrorCode};
use crate::event::Event;
use crate::tool::{BoundHandler, Effects, HandlerResult, Tool, ToolError, ToolOutput, Work};

/// What came of a call, not yet kept.
#[derive(Debug)]
#[must_use = "an outcome is not recorded until it is settled"]
pub struct RawOutcome {
    pub(super) facts: Arc<CallFacts>,
    pub(super) result: Result<ToolOutput, Error>,
}

impl RawOutcome {
    /// What the handler gave, or how it failed.
    ///
    /// # Errors
    /// The handler failed, panicked, ran out of time or was cancelled.
    pub fn into_result(self) -> Result<ToolOutput, Error> {
        self.result
    }

    /// How it failed, if it did.
    #[must_use]
    pub fn error(&self) -> Option<&Error> {
        self.result.as_ref().err()
    }
}

impl AdmittedCall {
    /// Runs the handler: under its timeout and the dispatch's cancellation, with a panic caught, between a start and an
    /// end that are always told as a pair.
    pub async fn run(mut self) -> RawOutcome {
        let ctx = &self.checked.call.ctx;
        if ctx.cancellation().is_cancelled() {
            let error = Cut::Cancelled.error(self.tool(), false);
            return Box::pin(self.not_run(error)).await;
        }
        let ledger = ctx.ledger().filter(|_| self.is_noted()).cloned();
        if ledger.is_some()
            && !self.begun
            && let Err(error) = Box::pin(AdmittedCall::begin_together(std::slice::from_mut(
                &mut self,
            )))
            .await
        {
            return Box::pin(self.not_run(error)).await;
        }
        let start = Instant::now();
        let (facts, bound) = self.into_facts(start);
        let mut watch = Watch::start(&facts, start);
        let work = bound.start(ToolContext::new(Arc::clone(&facts)));
        watch.blocking = matches!(work, Work::Blocking(_));
        let (result, abandoned) = perform(work, &facts, start).await;
        watch.end(result.as_ref().err(), abandoned);
        drop(watch);
        if let Some(ledger) = ledger {
            let state = match &result {
                Ok(_) => EndState::Done,
                Err(error) if error.code() == ErrorCode::ToolDownstream => EndState::Failed,
                Err(_) => EndState::Unknown,
            };
            Box::pin(note_end(&ledger, &facts, state)).await;
        }
        RawOutcome { facts, result }
    }

    fn into_facts(self, start: Instant) -> (Arc<CallFacts>, BoundHandler) {
        let timeout = self.checked.tool.timeout();
        let facts = CallFacts {
            checked: self.checked,
            deadline: timeout.and_then(|limit| start.checked_add(limit)),
            cancellation: OnceLock::new(),
        };
        (Arc::new(facts), self.bound)
    }

    /// The outcome of a call that came to nothing before its handler was reached. Where the ledger knows of it, that it
    /// had no effect is told there too.
    async fn not_run(self, error: Error) -> RawOutcome {
        let noted = self.begun && self.is_noted();
        let (facts, _) = self.into_facts(Instant::now());
        if let Some(ledger) = facts.call.ctx.ledger().filter(|_| noted) {
            note_end(ledger, &facts, EndState::Failed).await;
        }
        RawOutcome {
            facts,
            result: Err(error),
        }
    }
}

/// Tells the ledger how a call ended. What ran, ran: if the ledger fails now, that is a warning.
async fn note_end(ledger: &Arc<dyn Ledger>, facts: &CallFacts, state: EndState) {
    let key = facts.effect_key();
    if let Err(error) = ledger.ended(&key, state).await {
        facts.call.ctx.events().tell(|| Event::Warning {
            message: format!("the ledger did not note the end of {key}: {error}"),
        });
    }
}

/// Runs the work to its end or until it is cut; says also whether a thread was left behind.
async fn perform(
    work: Work,
    facts: &CallFacts,
    start: Instant,
) -> (Result<ToolOutput, Error>, bool) {
    let (limit, cancellation) = (facts.tool.timeout(), facts.call.ctx.cancellation());
    match work {
        Work::Async(mut future) => {
            // Many handlers end at once, and then nothing need be made to cut them off. What only others need is kept
            // apart, here and above, so that these do not carry the room for it.
            let first = poll_fn(|cx| {
                Poll::Ready(catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(cx))))
            });
            let ended = match first.await {
                Ok(Poll::Ready(Ok(output))) => return (Ok(output), false),
                Ok(Poll::Ready(Err(error))) => Ok(Ok(Err(error))),
                Ok(Poll::Pending) => {
                    let caught = AssertUnwindSafe(future.as_mut()).catch_unwind();
                    Box::pin(within(start, limit, cancellation, caught)).await
                }
                Err(panic) => Ok(Err(panic)),
            };
            let result = match ended {
                Ok(Ok(Ok(output))) => Ok(output),
                Ok(Ok(Err(error))) => Err(error.into_error(facts.tool.name())),
                Ok(Err(panic)) => Err(panicked(panic).into_error(facts.tool.name())),
                Err(cut) => Err(cut.error(&facts.tool, true)),
            };
            drop_quietly(future);
            (result, false)
        }
        Work::Blocking(work) => Box::pin(perform_blocking(work, facts, start)).await,
    }
}

async fn perform_blocking(
    work: Box<dyn FnOnce() -> HandlerResult + Send>,
    facts: &CallFacts,
    start: Instant,
) -> (Result<ToolOutput, Error>, bool) {
    let failed = |error: ToolError| (Err(error.into_error(facts.tool.name())), false);
    // Asked first: spawning outside of a runtime panics.
    let Ok(runtime) = tokio::runtime::Handle::try_current() else {
        return failed(ToolError::internal(
            "a blocking handler needs a tokio runtime",
        ));
    };
    let mut thread = NoLonger(runtime.spawn_blocking(move || catch_unwind(AssertUnwindSafe(work))));
    let (limit, cancellation) = (facts.tool.timeout(), facts.call.ctx.cancellation());
    match within(start, limit, cancellation, &mut thread.0).await {
        Ok(Ok(Ok(Ok(output)))) => (Ok(output), false),
        Ok(Ok(Ok(Err(error)))) => failed(error),
        Ok(Ok(Err(panic))) => failed(panicked(panic)),
        Ok(Err(lost)) => failed(lost.into()),
        Err(cut) => (Err(cut.error(&facts.tool, true)), true),
    }
}

/// Work that nobody waits for any more, when this is dropped: what still waits for a thread then never runs, and what
/// runs already is left behind.
struct NoLonger<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for NoLonger<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn panicked(panic: Box<dyn Any + Send>) -> ToolError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    let error = ToolError::internal(format!(
        "the handler panicked: {}",
        text.unwrap_or("(no text)")
    ));
    drop_quietly(panic);
    error
}

/// Drops what is foreign: a panic in its own drop goes no further.
pub(super) fn drop_quietly<T>(foreign: T) {
    // The second payload is let go undropped: it would be the third time that it fails us.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(foreign))) {
        std::mem::forget(again);
    }
}

/// Why something was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    Timeout(Duration),
    Cancelled,
    /// There is no timer here to measure by.
    NoTimer,
}

impl Cut {
    pub(super) fn code(self) -> ErrorCode {
        match self {
            Cut::Timeout(_) => ErrorCode::ToolTimeout,
            Cut::Cancelled => ErrorCode::ToolCancelled,
            Cut::NoTimer => ErrorCode::ToolDownstream,
        }
    }

    pub(super) fn why(self) -> String {
        match self {
            Cut::Timeout(limit) => format!("it ran out of time after {limit:?}"),
            Cut::Cancelled => "it was cancelled".to_owned(),
            Cut::NoTimer => {
                "it has a timeout, which needs a tokio runtime with its timer enabled".to_owned()
            }
        }
    }

    /// Says to the model whether the call may have had an effect.
    pub(super) fn error(self, tool: &Tool, started: bool) -> Error {
        let what = match self {
            Cut::Timeout(limit) => format!("The call ran out of time after {limit:?}."),
            Cut::Cancelled => "The call was cancelled.".to_owned(),
            Cut::NoTimer => "The tool failed. Nothing more is known.".to_owned(),
        };
        let effect = match (started, tool.effects()) {
            (false, _) => "Nothing was run.",
            (true, Effects::ReadOnly) => "It only reads, so nothing was changed.",
            (true, Effects::Writes) => {
                "It may have taken effect or not: find out before you repeat it."
            }
        };
        Error::new(
            self.code(),
            format!("`{}` was cut off: {}", tool.name(), self.why()),
        )
        .with_model_text(format!("{what} {effect}"))
    }
}

/// Waits for `work`, no longer than `limit` from `start`, and not past a cancellation. The timer and the wait for the cancellation
/// are made only if the work does not end at once.
pub(super) async fn within<F: Future>(
    start: Instant,
    limit: Option<Duration>,
    cancellation: &Cancellation,
    work: F,
) -> Result<F::Output, Cut> {
    let mut work = pin!(work);
    let mut cancelled: Option<Pin<Box<dyn Future<Output = ()> + Send>>> = None;
    let mut timer: Option<Pin<Box<Sleep>>> = None;
    poll_fn(move |cx| {
        if let Poll::Ready(output) = work.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        let cancelled = cancelled.get_or_insert_with(|| Box::pin(cancellation.cancelled()));
        if cancelled.as_mut().poll(cx).is_ready() {
            return Poll::Ready(Err(Cut::Cancelled));
        }
        let Some(limit) = limit else {
            return Poll::Pending;
        };
        if timer.is_none() {
            let Some(end) = start.checked_add(limit) else {
                return Poll::Pending;
            };
            match catch_unwind(AssertUnwindSafe(|| Box::pin(tokio::time::sleep_until(end)))) {
                Ok(made) => timer = Some(made),
                Err(_) => return Poll::Ready(Err(Cut::NoTimer)),
            }
        }
        match timer.as_mut().map(|timer| timer.as_mut().poll(cx)) {
            Some(Poll::Ready(())) => Poll::Ready(Err(Cut::Timeout(limit))),
            _ => Poll::Pending,
        }
    })
    .await
}

/// Tells the start, and the end however it comes: also when the whole call is dropped half way.
struct Watch<'c> {
    facts: &'c CallFacts,
    start: Instant,
    ended: bool,
    /// A thread is at work, which cannot be stopped.
    blocking: bool,
}

impl<'c> Watch<'c> {
    fn start(facts: &'c CallFacts, start: Instant) -> Self {
        facts.call.ctx.events().tell(|| Event::ToolExecutionStart {
            id: facts.call.id.shared(),
            call_id: facts.call_id.shared(),
            tool: Arc::clone(&facts.call.name),
            args: facts.args.value().clone(),
        });
        Watch {
            facts,
            start,
            ended: false,
            blocking: false,
        }
    }

    fn end(&mut self, error: Option<&Error>, abandoned: bool) {
        self.tell(error.map(|error| error.code().as_str()), abandoned);
    }

    fn tell(&mut self, code: Option<&'static str>, abandoned: bool) {
        self.ended = true;
        // A handler that is left behind, and whoever it started, learns that its time is over.
        if code.is_some()
            && let Some(cancellation) = self.facts.cancellation.get()
        {
            cancellation.cancel();
        }
        let facts = self.facts;
        facts.call.ctx.events().tell(|| Event::ToolExecutionEnd {
            id: facts.call.id.shared(),
            call_id: facts.call_id.shared(),
            tool: Arc::clone(&facts.call.name),
            duration: self.start.elapsed(),
            is_error: code.is_some(),
            code,
            abandoned,
        });
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.tell(Some(ErrorCode::ToolCancelled.as_str()), self.blocking);
        }
    }
}
