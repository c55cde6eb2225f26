//! The loop itself.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::Value;
use tokio::time::Instant;

use super::resume::Resumed;
use super::turn_runner::Plan;
use crate::artifact_tools::Forge;
use crate::call::OpenCalls;
use crate::deadline::{Cut, TimeLimit, within};
use crate::error::{Error, ErrorCode, ErrorKind};
use crate::event::EventKind;
use crate::outcome::{Limit, TurnOutcome, TurnStatus};
use crate::panic::text_of;
use crate::pipeline::{Broken, Pipeline};
use crate::record::Message;
use crate::telemetry::{self, ModelSpan};
use crate::tool::context::{DispatchContext, Signal, TurnContext};

/// Runs a turn to its end, whatever happens in it.
pub(crate) async fn drive(
    plan: Arc<Plan>,
    turn: TurnContext,
    begins: Begins,
    deadline: Option<Duration>,
) -> TurnOutcome {
    let start = Instant::now();
    turn.tell(|| EventKind::TurnStart {
        conversation: turn.conversation_id().as_str().into(),
        resumed: matches!(begins, Begins::Again),
    });
    let mut iterations = 0;
    let play = Play {
        plan: &plan,
        turn: &turn,
        iterations: &mut iterations,
    };
    // Apart, so that it is held once.
    let whole = Box::pin(play.whole(begins));
    let played = async {
        let ended = play_out(&turn, deadline, whole).await;
        // What was begun is closed before the end is told; calls that somebody took elsewhere are cut off.
        turn.cancellation().cancel();
        turn.open_calls().wait().await;
        turn.tasks().wait().await;
        ended
    };
    let ended = holding(&turn, played).await;
    Box::pin(turn.let_go(&ended.how, iterations)).await;
    if let TurnStatus::Failed(error) = &ended.how {
        telemetry::failed(&turn, error, ended.pipeline);
        turn.tell(|| EventKind::Error {
            code: error.code().as_str(),
            fatal: error.is_fatal(),
            message: error.message().to_owned(),
            pipeline: ended.pipeline,
        });
    }
    let usage = turn.usage();
    turn.tell(|| EventKind::TurnEnd {
        ended: ended.how.name(),
        code: ended.how.error().map(|error| error.code().as_str()),
        duration: start.elapsed(),
        usage,
    });
    turn.end();
    let records = turn.records().read();
    TurnOutcome {
        turn_id: Arc::clone(turn.shared_id()),
        conversation: turn.conversation_id().as_str().into(),
        ended: ended.how,
        text: records
            .last_answer()
            .map(|answer| answer.text().to_owned())
            .unwrap_or_default(),
        records: records.stored(),
        usage,
        iterations,
    }
}

/// What a turn begins with.
pub(crate) enum Begins {
    /// What somebody said, and what stands in the stash.
    Anew {
        message: Option<Arc<Message>>,
        stash: Vec<(String, Value)>,
    },
    /// It was there before: with what the store has of it.
    Again,
}

impl Begins {
    pub(crate) fn message(&self) -> Option<&Message> {
        match self {
            Begins::Anew { message, .. } => message.as_deref(),
            Begins::Again => None,
        }
    }
}

/// Keeps the turn's hold on its conversation while it is played.
async fn holding<T>(turn: &TurnContext, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    let pause = turn.record_store().map(|_| turn.setup().lease / 3);
    loop {
        match within(TimeLimit::from_now(pause), None, work.as_mut()).await {
            Ok(done) => return done,
            // Beside the turn, which may be what the store waits for.
            Err(Cut::Timeout(_)) => {
                let renewed = turn.clone();
                // One that fails ends the turn.
                let renew = async move { drop(renewed.renew().await) };
                match turn.runtime() {
                    Some(runtime) => drop(turn.tasks().spawn_on(renew, &runtime)),
                    None => return work.await,
                }
            }
            Err(Cut::NoTimer | Cut::Cancelled) => return work.await,
        }
    }
}

/// How a turn ended, and where.
struct End {
    how: TurnStatus,
    pipeline: Option<&'static str>,
}

impl End {
    fn is_failure(&self) -> bool {
        matches!(self.how, TurnStatus::Failed(_))
    }
}

impl From<TurnStatus> for End {
    fn from(how: TurnStatus) -> Self {
        End {
            how,
            pipeline: None,
        }
    }
}

/// Plays a turn to its end. A deadline calls it off, and so does a panic that nobody else caught.
async fn play_out(
    turn: &TurnContext,
    deadline: Option<Duration>,
    work: impl Future<Output = End> + Unpin,
) -> End {
    let mut work = pin!(AssertUnwindSafe(work).catch_unwind());
    let mut ended = match deadline {
        None => Ok(work.as_mut().await),
        // The deadline calls the turn off, which then ends by itself.
        Some(_) => within(TimeLimit::from_now(deadline), None, work.as_mut()).await,
    };
    if let Err(cut) = ended {
        match cut {
            Cut::NoTimer => {
                let message = "a deadline needs a tokio runtime with its timer enabled";
                turn.fail(Error::new(ErrorCode::InvalidTurnContext, message));
            }
            Cut::Timeout(limit) => turn.reach(Limit::Time(limit)),
            Cut::Cancelled => {}
        }
        ended = Ok(work.await);
    }
    if let Some(stop) = turn.stop_cell().lock().clone() {
        return TurnStatus::from(stop).into();
    }
    match ended {
        // Whatever failed because the turn was called off did not fail by itself.
        Ok(Ok(end)) if end.is_failure() && turn.cancellation().is_cancelled() => cancelled(),
        Ok(Ok(end)) => end,
        Ok(Err(panic)) => {
            let message = format!("the turn panicked: {}", text_of(panic));
            TurnStatus::Failed(Error::new(ErrorCode::Executor, message)).into()
        }
        Err(_) => cancelled(),
    }
}

/// Does a part of a turn until it ends or the turn is called off; then what it awaits is dropped. Whatever it started is
/// settled before anything comes after it.
async fn part<T>(turn: &TurnContext, work: impl Future<Output = T>) -> Result<T, End> {
    let done = within(TimeLimit::none(), turn.cancellation(), work).await;
    turn.tasks().wait().await;
    done.map_err(|_| cancelled())
}

/// The end of a turn that was called off from outside, where nobody said why.
fn cancelled() -> End {
    let reason = "the turn was cancelled".to_owned();
    TurnStatus::Aborted { reason }.into()
}

struct Play<'t> {
    plan: &'t Plan,
    turn: &'t TurnContext,
    iterations: &'t mut u32,
}

impl Play<'_> {
    async fn whole(mut self, begins: Begins) -> End {
        match self.pass(begins).await {
            Ok(how) => how.into(),
            Err(end) => end,
        }
    }

    async fn pass(&mut self, begins: Begins) -> Result<TurnStatus, End> {
        let (plan, turn) = (self.plan, self.turn);
        let resumed = match begins {
            Begins::Anew { message, stash } => {
                let begun = Box::pin(turn.begin(message, stash)).await;
                begun.map_err(TurnStatus::Failed)?;
                None
            }
            Begins::Again => match Box::pin(turn.take_up()).await.map_err(TurnStatus::Failed)? {
                Some(resumed) => Some(resumed),
                // It was answered before, and that is its answer still.
                None => return Ok(TurnStatus::Answered),
            },
        };
        through(&plan.turn_input, turn).await?;
        // From here on nothing is played as it was before.
        turn.count_gates_on();
        let how = Box::pin(self.dispatches(resumed)).await?;
        through(&plan.turn_output, turn).await?;
        Ok(how)
    }

    /// One dispatch; more of them where an answer of a form is wanted and does not come.
    async fn dispatches(&mut self, resumed: Option<Resumed>) -> Result<TurnStatus, End> {
        // Its answer may be there already.
        let mut answered = resumed.as_ref().is_some_and(|resumed| resumed.answered);
        let mut open = resumed.map(|resumed| resumed.left);
        let Some(format) = self.turn.answer_format() else {
            return match answered {
                true => Ok(TurnStatus::Answered),
                false => self.dispatch(open).await,
            };
        };
        let mut left = format.attempts();
        loop {
            let how = match std::mem::take(&mut answered) {
                true => TurnStatus::Answered,
                false => self.dispatch(open.take()).await?,
            };
            if !matches!(how, TurnStatus::Answered) {
                return Ok(how);
            }
            let answer = self.turn.records().read().last_answer();
            let text = answer.as_ref().map_or("", |answer| answer.text());
            let Err(error) = part(self.turn, format.check(text)).await? else {
                return Ok(how);
            };
            left -= 1;
            if left == 0 {
                return Err(TurnStatus::Failed(error).into());
            }
            let told = Box::pin(self.turn.ask_again(&error)).await;
            told.map_err(TurnStatus::Failed)?;
        }
    }

    /// One dispatch. What was left open is settled in its first iteration, in the place of the executor that began it.
    async fn dispatch(&mut self, open: Option<OpenCalls>) -> Result<TurnStatus, End> {
        let mut open = open.filter(|open| !open.is_empty());
        let ctx = DispatchContext::of_turn(self.turn.clone());
        // Keeps the artifact tools up to date. `None` if the runner makes none.
        let mut forge = self.turn.setup().forge.map(Forge::new);
        let _pruning = ctx.tools().bind_context(&ctx);
        let _end = DispatchSpan::start(&ctx);
        loop {
            // Iterations that wait for nobody are not to keep the turn from being called off.
            tokio::task::coop::consume_budget().await;
            let most = ctx.most_iterations();
            if ctx.iteration() >= most {
                return Err(TurnStatus::Limit(Limit::Iterations(most)).into());
            }
            *self.iterations += 1;
            self.iterate(&ctx, forge.as_mut(), open.take()).await?;
            match ctx.signal() {
                Some(Signal::Ack) => return Ok(TurnStatus::Answered),
                Some(Signal::Nack) => return Ok(TurnStatus::Refused(ctx.refusal())),
                None if ctx.cancellation().is_cancelled() => return Err(cancelled()),
                None => {}
            }
        }
    }

    /// One iteration. A signal ends it where it is given.
    async fn iterate(
        &self,
        ctx: &DispatchContext,
        forge: Option<&mut Forge>,
        open: Option<OpenCalls>,
    ) -> Result<(), End> {
        let _end = IterationSpan::start(ctx);
        if let Some(forge) = forge {
            forge.refresh(ctx).map_err(TurnStatus::Failed)?;
        }
        through(&self.plan.dispatch_input, ctx).await?;
        if ctx.is_over() {
            return Ok(());
        }
        match open {
            Some(open) => Box::pin(part(self.turn, ctx.settle_left(open))).await?,
            None => self.execute(ctx).await?,
        }
        if ctx.is_over() {
            return Ok(());
        }
        through(&self.plan.dispatch_output, ctx).await
    }

    async fn execute(&self, ctx: &DispatchContext) -> Result<(), End> {
        let executor = &self.plan.executor;
        let span = ModelSpan::start(&**executor, ctx);
        let run = AssertUnwindSafe(executor.execute(ctx.clone())).catch_unwind();
        let ended = part(self.turn, span.around(run)).await?;
        let fine = matches!(ended, Ok(Ok(())));
        span.end((!fine).then_some(ErrorCode::Executor.as_str()));
        let (message, source) = match ended {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) => (format!("the executor failed: {error}"), Some(error)),
            Err(panic) => (format!("the executor panicked: {}", text_of(panic)), None),
        };
        let error = Error::new(ErrorCode::Executor, message);
        Err(TurnStatus::Failed(match source {
            Some(source) => {
                // Whether to try again, ask or give up is for whoever failed to say.
                let ours = source.downcast_ref::<Error>().map(Error::kind);
                error
                    .with_kind(ours.unwrap_or(ErrorKind::Internal))
                    .with_source(source)
            }
            None => error,
        })
        .into())
    }
}

/// Goes through a pipeline. One that was left by a signal or an abort did what it was to do, and nothing comes after it.
async fn through<C>(pipeline: &Pipeline<C>, ctx: &C) -> Result<(), End>
where
    C: Clone + Send + Sync + AsRef<TurnContext> + 'static,
{
    let passed = part(ctx.as_ref(), pipeline.run(ctx.clone())).await?;
    let called_off = ctx.as_ref().cancellation().is_cancelled();
    let error = match passed {
        Ok(()) | Err(Broken::ShortCircuited(_)) if called_off => return Err(cancelled()),
        Ok(()) => return Ok(()),
        Err(Broken::ShortCircuited(_)) if pipeline.is_over(ctx) => return Ok(()),
        Err(Broken::Failed(error) | Broken::ShortCircuited(error)) => error,
    };
    Err(End {
        how: TurnStatus::Failed(error),
        pipeline: Some(pipeline.name()),
    })
}

/// Tells the start of a dispatch, and its end however it comes.
struct DispatchSpan<'c>(&'c DispatchContext);

impl<'c> DispatchSpan<'c> {
    fn start(ctx: &'c DispatchContext) -> Self {
        ctx.tell(|| EventKind::DispatchStart);
        DispatchSpan(ctx)
    }
}

impl Drop for DispatchSpan<'_> {
    fn drop(&mut self) {
        let ctx = self.0;
        ctx.forget_on_ack();
        ctx.tell(|| EventKind::DispatchEnd {
            signal: ctx.signal().map(Signal::as_str),
            iterations: ctx.iteration(),
        });
    }
}

/// Tells the start of an iteration, and its end however it comes.
struct IterationSpan<'c>(&'c DispatchContext);

impl<'c> IterationSpan<'c> {
    fn start(ctx: &'c DispatchContext) -> Self {
        ctx.begin_iteration();
        ctx.tell(|| EventKind::IterationStart {
            iteration: ctx.iteration(),
        });
        IterationSpan(ctx)
    }
}

impl Drop for IterationSpan<'_> {
    fn drop(&mut self) {
        let ctx = self.0;
        ctx.tell(|| EventKind::IterationEnd {
            iteration: ctx.iteration(),
        });
    }
}
