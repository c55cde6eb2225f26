//! Runs a script: the executor, the readers, the waiters and the cancellations.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;
use std::time::Duration;

use tokio::task::JoinSet;
use turnwright_core::runner::TurnStream;
use turnwright_core::tool::approval::ApprovalRequest;
use turnwright_core::{BoxError, DispatchContext, TurnContext, TurnInput, TurnOutcome, TurnRunner};
use turnwright_testkit::store::storage_of;

use super::answers::{approve, stand_at_gates};
use super::layers::{acting, witness};
use super::script::{Cut, End, Iteration, Patience, Pipe, Reader, Say, Script};
use super::tools;
use super::world::{Proposed, World};

/// No script takes this long.
const HANGS: Duration = Duration::from_secs(100);
const APPROVAL_TIMEOUT: Duration = Duration::from_millis(40);

pub(super) struct Played {
    pub(super) world: Arc<World>,
    /// `None` for a turn whose future was dropped.
    pub(super) outcomes: Vec<Option<TurnOutcome>>,
}

/// Runs a script on its own runtime.
pub(super) fn play(script: &Script, runtime: &tokio::runtime::Runtime, strict: bool) -> Played {
    let world = Arc::new(World::new(script, strict));
    let runner = runner(&world);
    let metrics = runtime.metrics();
    let outcomes = runtime.block_on(async {
        let turns = (0..script.turns.len()).map(|turn| {
            // Turns of one runner do not wait for each other in a conversation.
            let own = script.shared.then(|| self::runner(&world));
            let (world, runner) = (Arc::clone(&world), own.unwrap_or_else(|| runner.clone()));
            tokio::spawn(async move { live(&world, &runner, turn).await })
        });
        let turns: Vec<_> = turns.collect();
        let mut outcomes = Vec::new();
        for turn in turns {
            outcomes.push(turn.await.unwrap());
        }
        let dropped = outcomes.iter().any(Option::is_none);
        let alive = metrics.num_alive_tasks();
        // If it ended by itself and nothing else runs, nothing may be left behind.
        if alive > 0 && (dropped || !strict) {
            all_ended().await;
        }
        outcomes
    });
    let alive = metrics.num_alive_tasks();
    world.check(alive == 0, || format!("{alive} tasks are alive"));
    drop(runner);
    Played { world, outcomes }
}

/// Waits until no task is alive, but not forever.
pub(super) async fn all_ended() {
    let metrics = tokio::runtime::Handle::current().metrics();
    for _ in 0..5_000 {
        if metrics.num_alive_tasks() == 0 {
            return;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

pub(super) fn runner(world: &Arc<World>) -> TurnRunner {
    let script = &world.script;
    let (executing, observing) = (Arc::clone(world), Arc::clone(world));
    let mut builder = turnwright_core::runner(move |ctx: DispatchContext| {
        let world = Arc::clone(&executing);
        async move { execute(&world, ctx).await }
    })
    .storage(storage_of(world.store.clone()))
    .history(turnwright_core::History::none())
    .tools(tools::all(world))
    .observer(move |event| observing.saw(event))
    .parallel_calls(script.parallel_calls)
    .stream_capacity(script.stream_capacity)
    .iteration_limit(script.iteration_limit)
    .approval_timeout(if world.strict {
        APPROVAL_TIMEOUT
    } else {
        HANGS
    })
    .turn_input(acting::<TurnContext>(world, Pipe::TurnInput))
    .turn_input(witness::<TurnContext>(world, Pipe::TurnInput))
    .dispatch_input(acting::<DispatchContext>(world, Pipe::DispatchInput))
    .dispatch_input(witness::<DispatchContext>(world, Pipe::DispatchInput))
    .dispatch_output(acting::<DispatchContext>(world, Pipe::DispatchOutput))
    .dispatch_output(witness::<DispatchContext>(world, Pipe::DispatchOutput))
    .turn_output(acting::<TurnContext>(world, Pipe::TurnOutput))
    .turn_output(witness::<TurnContext>(world, Pipe::TurnOutput));
    if script.approver {
        let world = Arc::clone(world);
        builder = builder.approver(move |request: ApprovalRequest| {
            let world = Arc::clone(&world);
            async move { approve(&world, request).await }
        });
    }
    builder.build().unwrap()
}

/// One turn, seen from outside.
async fn live(world: &Arc<World>, runner: &TurnRunner, turn: usize) -> Option<TurnOutcome> {
    let mut tasks = JoinSet::new();
    let outcome = begin(world, runner, turn, &mut tasks);
    let outcome = wait(world, turn, outcome).await;
    let ended = tokio::time::timeout(HANGS, async { while tasks.join_next().await.is_some() {} });
    if ended.await.is_err() {
        world.wrong(format!("turn {turn}: its stream or its gates do not end"));
    }
    outcome
}

pub(super) type Outcome = Pin<Box<dyn Future<Output = TurnOutcome> + Send>>;

/// Starts a turn with its readers, answers and cancellations. Returns the future of its outcome.
pub(super) fn begin(
    world: &Arc<World>,
    runner: &TurnRunner,
    turn: usize,
    tasks: &mut JoinSet<()>,
) -> Outcome {
    let script = &world.script.turns[turn];
    let seen = &world.turns[turn];
    let mut input = TurnInput::new("go")
        .turn_id(format!("turn-{turn}"))
        .conversation(world.conversation_id(turn).as_str())
        .stash("turn", turn)
        .cancellation(seen.token.clone());
    if let Some(Cut::Deadline(millis)) = script.cut {
        input = input.budget(turnwright_core::Budget::new().time(Duration::from_millis(millis)));
    }
    if let Some(Cut::Token(millis)) = script.cut {
        let token = seen.token.clone();
        tasks.spawn(async move {
            tokio::time::sleep(Duration::from_millis(millis)).await;
            token.cancel();
        });
    }
    if let Reader::Absent = script.reader {
        let runner = runner.clone();
        return Box::pin(async move { runner.run(input).await });
    }
    let (handle, stream) = runner.start(input).split();
    if script.answered {
        let (world, gates) = (Arc::clone(world), handle.gates());
        tasks.spawn(async move { stand_at_gates(&world, &gates, turn).await });
    }
    let world = Arc::clone(world);
    tasks.spawn(async move { read(&world, stream, turn).await });
    Box::pin(handle.cancel_on_drop().outcome())
}

async fn read(world: &World, mut stream: TurnStream, turn: usize) {
    let (seen, reader) = (&world.turns[turn], world.script.turns[turn].reader);
    loop {
        if let Reader::Leaves(after) = reader
            && seen.heard.lock().len() >= after
        {
            return;
        }
        if let Reader::Slow = reader {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        match stream.next().await {
            Some(event) => seen.heard.lock().push(event),
            None => return seen.hears_all(),
        }
    }
}

/// Waits for the outcome, or drops the future.
async fn wait(world: &World, turn: usize, outcome: Outcome) -> Option<TurnOutcome> {
    let limit = match world.script.turns[turn].cut {
        Some(Cut::Drop(millis)) => Duration::from_millis(millis),
        _ => HANGS,
    };
    let outcome = tokio::time::timeout(limit, outcome).await.ok();
    if outcome.is_none() && limit == HANGS {
        world.wrong(format!("turn {turn} does not end"));
    }
    outcome
}

async fn execute(world: &World, ctx: DispatchContext) -> Result<(), BoxError> {
    let turn = world.turn_of(ctx.turn());
    let iteration = ctx.iteration();
    world.check_not_cancelled(turn, || "the executor was asked".to_owned());
    world.passed(turn, format!("executor {iteration}"));
    let script = &world.script.turns[turn];
    let Some(part) = script.iterations.get(iteration as usize - 1) else {
        ctx.answer("done").await?;
        return Ok(());
    };
    for say in &part.says {
        match *say {
            Say::Text(pieces) => {
                let mut text = ctx.reporter().message();
                for piece in 0..pieces {
                    text.push(format!("wörd {piece} ")).await;
                }
                text.finish().await?;
            }
            Say::Thought(pieces) => {
                let mut thought = ctx.reporter().thought();
                for piece in 0..pieces {
                    thought.push(format!("hm{} ", "é".repeat(piece))).await;
                }
                thought.finish().await?;
            }
        }
    }
    call(world, &ctx, turn, part).await;
    match part.end {
        End::Fail => Err("the executor fails on purpose".into()),
        End::Panic => std::panic::resume_unwind(Box::new("on purpose")),
        _ if ctx.signal().is_some() => Ok(()),
        End::Next => Ok(()),
        End::Ack => Ok(ctx.ack()?),
        End::Nack => Ok(ctx.nack("executor")?),
    }
}

async fn call(world: &World, ctx: &DispatchContext, turn: usize, part: &Iteration) {
    let seen = &world.turns[turn];
    let calls: Vec<_> = part
        .calls
        .iter()
        .map(|call| {
            let (name, args) = call.proposal(turn);
            ctx.propose(name, args)
        })
        .collect();
    let ids: Vec<String> = calls.iter().map(|call| call.id().to_owned()).collect();
    let proposed = ids.iter().zip(&part.calls).map(|(id, call)| Proposed {
        id: id.clone(),
        iteration: ctx.iteration(),
        call: Some(*call),
    });
    world.proposes(turn, proposed);
    let running = ctx.call_tools(calls);
    let records = match part.patience {
        None => Some(running.await),
        Some(Patience::Millis(millis)) => {
            let limit = Duration::from_millis(millis);
            tokio::time::timeout(limit, running).await.ok()
        }
        Some(Patience::Polls(polls)) => poll_times(running, polls).await,
    };
    let Some(records) = records else {
        return;
    };
    seen.completed.fetch_add(1, Ordering::SeqCst);
    let came: Vec<&str> = records.iter().map(|record| record.id()).collect();
    world.check(came == ids, || {
        format!("turn {turn}: proposed {ids:?}, got {came:?}")
    });
    let open = records.iter().filter(|record| !record.is_complete());
    let open: Vec<&str> = open.map(|record| record.id()).collect();
    world.check(open.is_empty(), || {
        format!("turn {turn}: {open:?} came open")
    });
}

/// Polls this many times, and drops the future if it is not ready.
pub(super) async fn poll_times<F: Future>(work: F, polls: usize) -> Option<F::Output> {
    let mut work = Box::pin(work);
    let mut left = polls;
    let ended = poll_fn(|cx| {
        left = left.saturating_sub(1);
        match work.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending if left == 0 => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        }
    });
    ended.await
}
