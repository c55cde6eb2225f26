//! The loop of a turn.

use std::future::poll_fn;
use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::time::Instant;

use super::history::History;
use crate::answer::AnswerFormat;
use crate::artifact_tools::{ArtifactToolSet, SharedArtifactTools};
use crate::call::OpenCalls;
use crate::deadline::{Cut, TimeLimit, cut_at, within};
use crate::dispatch::Executor;
use crate::error::{BoxError, Error, ErrorCode};
use crate::event::{EventBus, EventKind};
use crate::gate::Step;
use crate::outcome::{Limit, TurnOutcome, TurnStatus};
use crate::pipeline::{Broken, Pipeline};
use crate::record::Message;
use crate::task::OnDrop;
use crate::telemetry::{self, ModelSpan};
use crate::text::panic_text;
use crate::tool::context::{DispatchContext, Setup, Signal, TurnContext};
use crate::tool::registry::ToolRegistry;

/// The configuration of a runner.
#[derive(Clone)]
pub(crate) struct Plan {
    pub(crate) executor: Arc<dyn Executor>,
    pub(crate) setup: Arc<Setup>,
    pub(crate) tools: ToolRegistry,
    pub(crate) history: History,
    pub(crate) turn_input: Pipeline<TurnContext>,
    pub(crate) turn_output: Pipeline<TurnContext>,
    pub(crate) dispatch_input: Pipeline<DispatchContext>,
    pub(crate) dispatch_output: Pipeline<DispatchContext>,
    pub(crate) events: EventBus,
    pub(crate) stream_capacity: usize,
}

/// The state of a resumed turn.
pub(crate) struct Resumed {
    /// The calls that it left open.
    pub(crate) open_calls: OpenCalls,
    /// Whether it had its answer, but ended before that was recorded.
    pub(crate) answered: bool,
    /// The step in which it waited, if it can continue there.
    pub(crate) step: Option<Step>,
    /// Whether its last message was proposed as its answer and not decided on.
    pub(crate) proposed: bool,
}

/// Runs a turn to its end, whatever happens in it.
pub(crate) async fn drive(plan: Arc<Plan>, turn: TurnContext, begin: Start) -> TurnOutcome {
    let start = Instant::now();
    let mut iterations = 0;
    let turn_loop = TurnLoop {
        plan: &plan,
        turn: &turn,
        iterations: &mut iterations,
        before: 0,
    };
    // Boxed, so that it is held once.
    let steps = Box::pin(turn_loop.steps(begin));
    let work = async {
        let ended = run_to_end(&turn, steps).await;
        // Everything that was started is closed before the end event. Calls that run elsewhere are interrupted.
        turn.cancellation().cancel();
        turn.journal().open_calls().wait().await;
        turn.journal().tasks().wait().await;
        ended
    };
    let ended = turn.renew_while(turn.watch_answers_while(work)).await;
    Box::pin(turn.release(&ended.how, iterations)).await;
    if let TurnStatus::Failed(error) = &ended.how {
        telemetry::failed(&turn, error, ended.pipeline);
        if !telemetry::is_busy(error.code()) {
            turn.emit(|| EventKind::Error {
                code: error.code().as_str(),
                fatal: error.is_fatal(),
                message: error.message().to_owned(),
                pipeline: ended.pipeline,
            });
        }
    }
    let usage = turn.usage();
    let duration = start.elapsed();
    let mut outcome = TurnOutcome {
        turn_id: Arc::clone(turn.shared_id()),
        conversation: turn.conversation_id().as_str().into(),
        status: ended.how,
        text: turn
            .last_answer()
            .map(|answer| answer.text().to_owned())
            .unwrap_or_default(),
        typed: None,
        records: turn.journal().records().stored(),
        usage,
        iterations,
    };
    if let Some(format) = turn.answer_format().filter(|_| outcome.is_answered()) {
        outcome.typed = Some(format.check(&outcome.text).await);
    }
    turn.hub().end(|| EventKind::turn_end(&outcome, duration));
    turn.publish(&outcome);
    turn.end();
    outcome
}

/// How a turn begins.
pub(crate) enum Start {
    /// With an input and a stash.
    New {
        message: Option<Arc<Message>>,
        stash: Vec<(String, Value)>,
        /// Whether a suspended turn of the conversation is abandoned.
        abandon_suspended: bool,
    },
    /// With what the store has of it.
    Resumed {
        /// Whether a turn that has ended stays as it is.
        unless_ended: bool,
    },
}

impl Start {
    pub(crate) fn message(&self) -> Option<&Message> {
        match self {
            Start::New { message, .. } => message.as_deref(),
            Start::Resumed { .. } => None,
        }
    }
}

/// What the first iteration does.
#[derive(Default)]
enum FirstIteration {
    /// Runs the executor, as all others do.
    #[default]
    Execute,
    /// Settles the calls that a resumed turn left open.
    Settle(OpenCalls),
    /// Decides on the answer that a resumed turn had proposed.
    Decide,
    /// Runs only the output layers: a resumed turn waited there, after its executor had returned.
    Output,
}

impl From<Option<Resumed>> for FirstIteration {
    fn from(resumed: Option<Resumed>) -> Self {
        match resumed {
            Some(resumed) if resumed.proposed || resumed.answered => FirstIteration::Decide,
            Some(resumed) if !resumed.open_calls.is_empty() => {
                FirstIteration::Settle(resumed.open_calls)
            }
            Some(resumed) if resumed.step.is_some_and(Step::is_output) => FirstIteration::Output,
            _ => FirstIteration::Execute,
        }
    }
}

/// How a turn ended, and where.
pub(super) struct EndedBy {
    pub(super) how: TurnStatus,
    pub(super) pipeline: Option<&'static str>,
}

impl From<Error> for EndedBy {
    fn from(error: Error) -> Self {
        TurnStatus::Failed(error).into()
    }
}

impl From<TurnStatus> for EndedBy {
    fn from(how: TurnStatus) -> Self {
        EndedBy {
            how,
            pipeline: None,
        }
    }
}

/// Runs a turn to its end. A timeout cancels it, and so does an uncaught panic.
async fn run_to_end(
    turn: &TurnContext,
    work: impl Future<Output = Result<TurnStatus, EndedBy>> + Unpin,
) -> EndedBy {
    let mut work = pin!(AssertUnwindSafe(work).catch_unwind());
    let mut suspended = pin!(turn.suspended());
    // What a suspended turn awaits is dropped when this returns.
    let mut work = poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(ended) => Poll::Ready(ended),
        Poll::Pending => suspended.as_mut().poll(cx).map(|how| Ok(Ok(how))),
    });
    // A timeout cancels the turn, which then ends by itself. A resumed turn learns during the run how much time is left.
    let mut ended = cut_at(|| turn.time_is_up_at(), None, &mut work).await;
    if let Err(cut) = ended {
        if let Cut::Timeout(limit) = cut {
            turn.end_at_limit(Limit::Time(limit));
        }
        ended = Ok(work.await);
    }
    let suspended = matches!(&ended, Ok(Ok(Ok(TurnStatus::Suspended { .. }))));
    if let Some(stop) = turn.limits().stopped().filter(|_| !suspended) {
        return TurnStatus::from(stop).into();
    }
    match ended {
        Ok(Ok(Ok(how))) => how.into(),
        // Errors caused by the cancellation are not reported.
        Ok(Ok(Err(end)))
            if matches!(end.how, TurnStatus::Failed(_)) && turn.cancellation().is_cancelled() =>
        {
            cancelled()
        }
        Ok(Ok(Err(end))) => end,
        Ok(Err(panic)) => {
            let message = format!("the turn panicked: {}", panic_text(panic));
            Error::new(ErrorCode::LLM_EXECUTION_EXECUTOR_ERROR, message).into()
        }
        Err(_) => cancelled(),
    }
}

/// Runs a part of a turn until it ends or the turn is cancelled. On cancellation, what it awaits is dropped. Everything it
/// started is settled before the next part.
pub(super) async fn until_cancelled<T>(
    turn: &TurnContext,
    work: impl Future<Output = T>,
) -> Result<T, EndedBy> {
    let done = within(TimeLimit::none(), turn.cancellation(), work).await;
    turn.journal().tasks().wait().await;
    done.map_err(|_| cancelled())
}

/// The end of a turn that was cancelled from outside without a reason.
fn cancelled() -> EndedBy {
    let reason = "the turn was cancelled".to_owned();
    TurnStatus::Aborted { reason }.into()
}

/// How often the model may answer again.
pub(super) struct Retries {
    /// After an answer that does not match its type.
    pub(super) invalid: u32,
    /// After an answer that a layer rejected.
    pub(super) rejected: u32,
}

impl Retries {
    pub(super) fn of(turn: &TurnContext) -> Self {
        Retries {
            invalid: turn.answer_format().map_or(0, AnswerFormat::max_retries),
            rejected: turn.setup().answer_retries,
        }
    }
}

pub(super) struct TurnLoop<'t> {
    pub(super) plan: &'t Plan,
    pub(super) turn: &'t TurnContext,
    iterations: &'t mut u32,
    /// The iterations of earlier runs, which do not run again.
    before: u32,
}

/// Returns the number of iterations before the first of this run, which continues in the step where the turn waited. Without such
/// a step it is a new iteration, so that no gate gets the id of an earlier one.
fn iterations_before(turn: &TurnContext, resumed: Option<&Resumed>) -> u32 {
    match resumed.and_then(|resumed| resumed.step) {
        Some(step) if step != Step::TURN_OUTPUT => step.iteration().saturating_sub(1),
        _ => {
            let last = turn.gates().recorded().last_iteration();
            last.unwrap_or_default()
        }
    }
}

impl TurnLoop<'_> {
    async fn steps(mut self, begin: Start) -> Result<TurnStatus, EndedBy> {
        let (plan, turn) = (self.plan, self.turn);
        let resumed = match begin {
            Start::New {
                message,
                stash,
                abandon_suspended,
            } => {
                Box::pin(turn.begin(message, stash, abandon_suspended)).await?;
                None
            }
            Start::Resumed { unless_ended } => {
                match Box::pin(turn.resume_turn(unless_ended)).await? {
                    ControlFlow::Continue(resumed) => Some(resumed),
                    ControlFlow::Break(ended) => return Ok(ended),
                }
            }
        };
        until_cancelled(turn, Box::pin(plan.history.hydrate(turn))).await??;
        run_pipeline(&plan.turn_input, turn).await?;
        let wrong = |message| Error::new(ErrorCode::INVALID_TURN_CONTEXT, message);
        turn.tools().check_kinds().map_err(wrong)?;
        turn.set_kinds_or_warn();
        self.before = iterations_before(turn, resumed.as_ref());
        let answered = resumed.as_ref().is_some_and(|resumed| resumed.answered);
        let how = if answered && turn.answer_format().is_none() {
            // It already has an answer. A typed one is checked again.
            TurnStatus::Answered
        } else {
            Box::pin(self.dispatch(resumed.into())).await?
        };
        turn.gates().numbers().enter(Step::TURN_OUTPUT);
        run_pipeline(&plan.turn_output, turn).await?;
        Ok(how)
    }

    /// Runs the dispatch of the turn.
    async fn dispatch(&mut self, mut first: FirstIteration) -> Result<TurnStatus, EndedBy> {
        let mut retries = Retries::of(self.turn);
        let ctx = DispatchContext::of_turn(self.turn.clone());
        // Keeps the artifact tools up to date.
        let artifact_tools = self.turn.per_turn::<SharedArtifactTools>();
        artifact_tools.begin(self.turn.setup().artifact_tools.map(ArtifactToolSet::new));
        ctx.tools().bind_context(&ctx);
        ctx.turn().emit(|| EventKind::DispatchStart);
        // On every exit.
        let _end = OnDrop(|| {
            ctx.forget_on_ack();
            ctx.turn().emit(|| EventKind::DispatchEnd {
                signal: ctx.signal().map(Signal::as_str),
                iterations: ctx.iteration(),
            });
        });
        loop {
            // Iterations that never wait must not prevent cancellation.
            tokio::task::coop::consume_budget().await;
            // Open calls are always settled, as not run if the budget does not allow them. A proposed answer is always decided
            // on.
            let begins = matches!(first, FirstIteration::Execute);
            if let Some(limit) = self.turn.limit_reached().filter(|_| begins) {
                return Err(TurnStatus::Limit(limit).into());
            }
            let most = self.turn.setup().iteration_limit;
            if ctx.iteration() >= most {
                return Err(TurnStatus::Limit(Limit::Iterations(most)).into());
            }
            if self.turn.gates().activity().is_requested() {
                let next = self
                    .before
                    .saturating_add(*self.iterations)
                    .saturating_add(1);
                let step = match &first {
                    FirstIteration::Settle(_) => Step::execute(next),
                    FirstIteration::Decide | FirstIteration::Output => Step::output(next),
                    FirstIteration::Execute => Step::input(next),
                };
                self.turn.gates().numbers().enter(step);
                self.turn.wait_for_suspension(None).await;
                return Err(cancelled());
            }
            *self.iterations += 1;
            let first = std::mem::take(&mut first);
            self.iterate(&ctx, &artifact_tools, first, &mut retries)
                .await?;
            self.turn.record_outer_usage().await;
            match ctx.signal() {
                Some(Signal::Ack) => return Ok(TurnStatus::Answered),
                Some(Signal::Nack) => return Ok(TurnStatus::Nacked(ctx.nacked())),
                None if ctx.cancellation().is_cancelled() => return Err(cancelled()),
                None => {}
            }
        }
    }

    /// Runs one iteration. A signal ends it immediately.
    async fn iterate(
        &self,
        ctx: &DispatchContext,
        artifact_tools: &SharedArtifactTools,
        first: FirstIteration,
        retries: &mut Retries,
    ) -> Result<(), EndedBy> {
        let numbers = self.turn.gates().numbers();
        let number = self.before.saturating_add(*self.iterations);
        let iteration = ctx.begin_iteration();
        ctx.turn().emit(|| EventKind::IterationStart { iteration });
        let _end = OnDrop(|| ctx.turn().emit(|| EventKind::IterationEnd { iteration }));
        self.announce_last(iteration).await?;
        artifact_tools.refresh(ctx.turn())?;
        if !matches!(first, FirstIteration::Output) {
            numbers.enter(Step::input(number));
            run_pipeline(&self.plan.dispatch_input, ctx).await?;
            if ctx.is_over() {
                return Ok(());
            }
            numbers.enter(Step::execute(number));
        }
        let proposed = match first {
            FirstIteration::Settle(open) => {
                Box::pin(until_cancelled(self.turn, ctx.settle_open_calls(open))).await?;
                false
            }
            FirstIteration::Decide => true,
            FirstIteration::Execute => {
                self.turn.report_to_outer_call();
                self.execute(ctx).await?
            }
            FirstIteration::Output => false,
        };
        numbers.enter(Step::output(number));
        if proposed {
            Box::pin(self.decide(ctx, retries)).await
        } else if ctx.is_over() {
            Ok(())
        } else {
            run_pipeline(&self.plan.dispatch_output, ctx).await
        }
    }

    /// Informs the model that this is its last iteration, if enabled.
    async fn announce_last(&self, iteration: u32) -> Result<(), EndedBy> {
        let setup = self.turn.setup();
        let is_last = iteration == setup.iteration_limit && iteration > 1;
        if !is_last || !setup.announce_last_iteration {
            return Ok(());
        }
        let text = "This is the last step of this turn. Do not call tools. Answer with the information you have.";
        let message = Message::framework(text).build()?;
        Ok(Box::pin(self.turn.records().store(message)).await?)
    }

    /// Runs the executor. Returns whether it proposed an answer.
    async fn execute(&self, ctx: &DispatchContext) -> Result<bool, EndedBy> {
        let executor = &self.plan.executor;
        let span = ModelSpan::start(&**executor, ctx, None);
        let run = AssertUnwindSafe(executor.execute(ctx.clone())).catch_unwind();
        if self.turn.decides_answers() {
            ctx.signals().begin_proposing();
        }
        let ended = until_cancelled(self.turn, span.instrument(run)).await;
        let proposed = ctx.signals().end_proposing();
        let failed = match ended? {
            Ok(done) => done.err().map(executor_failed),
            Err(panic) => {
                let message = format!("the executor panicked: {}", panic_text(panic));
                let code = ErrorCode::LLM_EXECUTION_EXECUTOR_ERROR;
                Some(Error::new(code, message))
            }
        };
        span.end(failed.as_ref().map(|error| error.code().as_str()));
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(proposed),
        }
    }
}

/// The error of a turn whose executor failed. If the executor returned an [`Error`], its code is used for the turn.
fn executor_failed(error: BoxError) -> Error {
    match error.downcast::<Error>() {
        Ok(ours) => *ours,
        Err(other) => {
            let message = format!("the executor failed: {other}");
            Error::new(ErrorCode::LLM_EXECUTION_EXECUTOR_ERROR, message).with_source(other)
        }
    }
}

/// Runs a pipeline. A pipeline that was left because of a signal or an abort has succeeded, and nothing follows it.
pub(super) async fn run_pipeline<C>(pipeline: &Pipeline<C>, ctx: &C) -> Result<(), EndedBy>
where
    C: Clone + Send + Sync + AsRef<TurnContext> + 'static,
{
    let passed = until_cancelled(ctx.as_ref(), pipeline.run(ctx.clone())).await?;
    let called_off = ctx.as_ref().cancellation().is_cancelled();
    let error = match passed {
        Ok(()) | Err(Broken::ShortCircuited(_)) if called_off => return Err(cancelled()),
        Ok(()) => return Ok(()),
        Err(Broken::ShortCircuited(_)) if (pipeline.over)(ctx) => return Ok(()),
        Err(Broken::Failed(error) | Broken::ShortCircuited(error)) => error,
    };
    Err(EndedBy {
        how: TurnStatus::Failed(error),
        pipeline: Some(pipeline.name),
    })
}
