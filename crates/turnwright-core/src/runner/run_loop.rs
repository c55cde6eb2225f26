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
use crate::answer::AnswerFormat;
use crate::artifact_tools::Forge;
use crate::call::OpenCalls;
use crate::deadline::{Cut, TimeLimit, within};
use crate::error::{Error, ErrorCode, ErrorKind};
use crate::event::EventKind;
use crate::outcome::{Limit, TurnOutcome, TurnStatus};
use crate::panic::text_of;
use crate::pipeline::{Broken, Pipeline};
use crate::record::Message;
use crate::task::OnDrop;
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
        resumed: matches!(begins, Begins::Resumed),
    });
    let mut iterations = 0;
    let play = Play {
        plan: &plan,
        turn: &turn,
        iterations: &mut iterations,
    };
    // Apart, so that it is held once.
    let steps = Box::pin(play.steps(begins));
    let played = async {
        let ended = play_out(&turn, deadline, steps).await;
        // What was begun is closed before the end is told; calls that somebody took elsewhere are cut off.
        turn.cancellation().cancel();
        turn.inner().open_calls.wait().await;
        turn.inner().tasks.wait().await;
        ended
    };
    let ended = turn.renew_while(played).await;
    Box::pin(turn.release(&ended.how, iterations)).await;
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
    let records = turn.inner().records.read();
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
    New {
        message: Option<Arc<Message>>,
        stash: Vec<(String, Value)>,
    },
    /// It was there before: with what the store has of it.
    Resumed,
}

impl Begins {
    pub(crate) fn message(&self) -> Option<&Message> {
        match self {
            Begins::New { message, .. } => message.as_deref(),
            Begins::Resumed => None,
        }
    }
}

/// How a turn ended, and where.
struct End {
    how: TurnStatus,
    pipeline: Option<&'static str>,
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
    work: impl Future<Output = Result<TurnStatus, End>> + Unpin,
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
    if let Some(stop) = turn.inner().stop.lock().clone() {
        return TurnStatus::from(stop).into();
    }
    match ended {
        Ok(Ok(Ok(how))) => how.into(),
        // Whatever failed because the turn was called off did not fail by itself.
        Ok(Ok(Err(end)))
            if matches!(end.how, TurnStatus::Failed(_)) && turn.cancellation().is_cancelled() =>
        {
            cancelled()
        }
        Ok(Ok(Err(end))) => end,
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
    turn.inner().tasks.wait().await;
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
    async fn steps(mut self, begins: Begins) -> Result<TurnStatus, End> {
        let (plan, turn) = (self.plan, self.turn);
        let resumed = match begins {
            Begins::New { message, stash } => {
                let begun = Box::pin(turn.begin(message, stash)).await;
                begun.map_err(TurnStatus::Failed)?;
                None
            }
            Begins::Resumed => match Box::pin(turn.take_up()).await.map_err(TurnStatus::Failed)? {
                Some(resumed) => Some(resumed),
                // It was answered before, and that is its answer still.
                None => return Ok(TurnStatus::Answered),
            },
        };
        through(&plan.turn_input, turn).await?;
        // From here on nothing is played as it was before: gates are counted on from where the turn was left, so that the one
        // where it waited has its id again, and no later one that of another.
        let recorded = &turn.inner().recorded_gates;
        turn.gates().count_on(recorded.counts());
        let how = Box::pin(self.dispatches(resumed)).await?;
        through(&plan.turn_output, turn).await?;
        Ok(how)
    }

    /// One dispatch; more of them where an answer of a form is wanted and does not come.
    async fn dispatches(&mut self, resumed: Option<Resumed>) -> Result<TurnStatus, End> {
        // Its answer may be there already.
        let mut answered = resumed.as_ref().is_some_and(|resumed| resumed.answered);
        let mut open = resumed.map(|resumed| resumed.left);
        let format = self.turn.answer_format();
        let mut left = format.map_or(0, AnswerFormat::attempts);
        loop {
            let how = match std::mem::take(&mut answered) {
                true => TurnStatus::Answered,
                false => self.dispatch(open.take()).await?,
            };
            let is_answered = matches!(how, TurnStatus::Answered);
            let Some(format) = format.filter(|_| is_answered) else {
                return Ok(how);
            };
            let answer = self.turn.inner().records.read().last_answer();
            let text = answer.as_ref().map_or("", |answer| answer.text());
            let Err(error) = part(self.turn, format.check(text)).await? else {
                return Ok(how);
            };
            left -= 1;
            if left == 0 {
                return Err(TurnStatus::Failed(error).into());
            }
            let text = format!(
                "{}\nMend this, and answer again with nothing but the JSON object.",
                error.model_text()
            );
            let message = Message::framework(text).build();
            let message = message.map_err(TurnStatus::Failed)?;
            let stored = Box::pin(self.turn.store_message(message)).await;
            stored.map_err(TurnStatus::Failed)?;
        }
    }

    /// One dispatch. What was left open is settled in its first iteration, in the place of the executor that began it.
    async fn dispatch(&mut self, open: Option<OpenCalls>) -> Result<TurnStatus, End> {
        let mut open = open.filter(|open| !open.is_empty());
        let ctx = DispatchContext::of_turn(self.turn.clone());
        // Keeps the artifact tools up to date. `None` if the runner makes none.
        let mut forge = self.turn.setup().forge.map(Forge::new);
        let _pruning = ctx.tools().bind_context(&ctx);
        ctx.tell(|| EventKind::DispatchStart);
        // However it ends.
        let _end = OnDrop(|| {
            ctx.forget_on_ack();
            ctx.tell(|| EventKind::DispatchEnd {
                signal: ctx.signal().map(Signal::as_str),
                iterations: ctx.iteration(),
            });
        });
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
                Some(Signal::Nack) => return Ok(TurnStatus::Nacked(ctx.nacked())),
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
        let iteration = ctx.begin_iteration();
        ctx.tell(|| EventKind::IterationStart { iteration });
        let _end = OnDrop(|| ctx.tell(|| EventKind::IterationEnd { iteration }));
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
        let ended = part(self.turn, span.instrument(run)).await?;
        let fine = matches!(ended, Ok(Ok(())));
        span.end((!fine).then_some(ErrorCode::Executor.as_str()));
        let error = match ended {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(source)) => {
                // Whether to try again, ask or give up is for whoever failed to say.
                let kind = source.downcast_ref::<Error>().map(Error::kind);
                let message = format!("the executor failed: {source}");
                Error::new(ErrorCode::Executor, message)
                    .with_kind(kind.unwrap_or(ErrorKind::Internal))
                    .with_source(source)
            }
            Err(panic) => {
                let message = format!("the executor panicked: {}", text_of(panic));
                Error::new(ErrorCode::Executor, message)
            }
        };
        Err(TurnStatus::Failed(error).into())
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
        Err(Broken::ShortCircuited(_)) if (pipeline.over)(ctx) => return Ok(()),
        Err(Broken::Failed(error) | Broken::ShortCircuited(error)) => error,
    };
    Err(End {
        how: TurnStatus::Failed(error),
        pipeline: Some(pipeline.name),
    })
}
