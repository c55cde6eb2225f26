//! Futures that are dropped after n polls, for every n until they complete.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;
use turnwright_core::event::EventKind;
use turnwright_core::record::Record;
use turnwright_core::record::{CallState, Message};
use turnwright_core::store::StoreExt as _;
use turnwright_core::tool::approval::{ApprovalRequest, GateAnswer};
use turnwright_core::{DispatchContext, ToolRegistry};
use turnwright_testkit::store::storage_of;

use super::judge::judge;
use super::play::{self, Played, all_ended};
use super::script::{
    Act, Answer, Args, Call, Check, End, Iteration, Kind, Layer, Pace, Patience, Pipe, Reader, Say,
    Script, StoreScript, TurnScript, Verdict,
};
use super::tools;
use super::world::{Alive, World};

/// One task is polled between two polls of the test, so that everything proceeds step by step.
fn step_by_step() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .event_interval(1)
        .build()
        .unwrap()
}

/// Lets the other tasks proceed by one step, and sometimes by a millisecond.
async fn step(count: usize) {
    tokio::task::yield_now().await;
    if count % 8 == 7 {
        tokio::time::advance(Duration::from_millis(1)).await;
    }
}

fn call(tool: Kind, n: u8) -> Call {
    Call {
        tool,
        args: Args::Good(n),
    }
}

fn iteration(calls: Vec<Call>) -> Iteration {
    Iteration {
        says: vec![Say::Thought(2), Say::Text(3)],
        calls,
        patience: None,
        end: End::Next,
    }
}

/// Two iterations with one of each kind of wait.
fn rich(reader: Reader, pace: Pace) -> Script {
    let pipes = [
        (Pipe::TurnInput, 0),
        (Pipe::DispatchInput, 1),
        (Pipe::DispatchOutput, 1),
        (Pipe::DispatchInput, 2),
        (Pipe::DispatchOutput, 2),
        (Pipe::TurnOutput, 0),
    ];
    let layers = pipes.map(|(pipeline, iteration)| Layer {
        pipeline,
        iteration,
        act: Act::Yield,
    });
    let first = vec![
        call(Kind::Note, 1),
        call(Kind::Look, 2),
        call(Kind::Gate(Answer::Resolved), 3),
        call(Kind::Ask(Verdict::Edited), 5),
        call(Kind::Checked(Check::Slow), 7),
        call(Kind::Unknown, 8),
    ];
    let second = vec![
        call(Kind::Slow, 3),
        call(Kind::Alone, 1),
        call(Kind::CallsTwo, 1),
        call(Kind::Large, 1),
    ];
    Script {
        turns: vec![TurnScript {
            iterations: vec![iteration(first), iteration(second)],
            layers: layers.into(),
            answered: true,
            reader,
            cut: None,
        }],
        shared: false,
        approver: true,
        store: StoreScript { pace, fault: None },
        parallel_calls: 2,
        stream_capacity: 1,
        iteration_limit: 8,
    }
}

/// Runs the single turn of a script and drops it after this many polls. Returns whether it had already ended.
fn drop_turn_after(script: &Script, polls: usize) -> bool {
    let runtime = step_by_step();
    let world = Arc::new(World::new(script, true));
    let runner = play::runner(&world);
    let outcome = runtime.block_on(async {
        let mut tasks = JoinSet::new();
        let mut outcome = play::begin(&world, &runner, 0, &mut tasks);
        let mut ended = None;
        for count in 0..polls {
            if let Poll::Ready(outcome) = poll_once(outcome.as_mut()) {
                ended = Some(outcome);
                break;
            }
            step(count).await;
        }
        drop(outcome);
        while tasks.join_next().await.is_some() {}
        all_ended().await;
        ended
    });
    let alive = runtime.metrics().num_alive_tasks();
    world.check(alive == 0, || format!("{alive} tasks are alive"));
    drop(runner);
    let ended = outcome.is_some();
    let outcomes = vec![outcome];
    let wrong = runtime.block_on(judge(Played { world, outcomes }));
    assert!(
        wrong.is_empty(),
        "dropped after {polls} polls: {}",
        wrong.join("\n")
    );
    ended
}

fn poll_once<F: Future + ?Sized>(work: Pin<&mut F>) -> Poll<F::Output> {
    work.poll(&mut Context::from_waker(Waker::noop()))
}

const PACES: [Pace; 3] = [Pace::AtOnce, Pace::Yields(2), Pace::Sleeps(1)];

#[test]
fn a_turn_dropped_after_any_number_of_polls_accounts_for_every_call() {
    let everybody = [Pace::AtOnce, Pace::Yields(2)].map(|pace| (Reader::All, pace));
    // No reader and no one at the gates: `run`.
    let alone = (Reader::Absent, Pace::Yields(2));
    for (reader, pace) in everybody.into_iter().chain([alone]) {
        let script = rich(reader, pace);
        let ends = (1..5_000).find(|polls| drop_turn_after(&script, *polls));
        let ends = ends.expect("it never ends");
        assert!(ends > 40, "{reader:?}, {pace:?}: too few steps: {ends}");
    }
}

#[test]
fn calls_dropped_by_their_executor_are_accounted_for_and_the_turn_continues() {
    for pace in PACES {
        let mut most = 0;
        for part in 0..2 {
            for polls in 1..500 {
                let mut script = rich(Reader::All, pace);
                script.turns[0].iterations[part].patience = Some(Patience::Polls(polls));
                let runtime = step_by_step();
                let played = play::play(&script, &runtime, true);
                let completed = played.world.turns[0].completed.load(Ordering::SeqCst);
                let wrong = runtime.block_on(judge(played));
                assert!(
                    wrong.is_empty(),
                    "{pace:?}, dropped after {polls} polls: {}",
                    wrong.join("\n")
                );
                most = most.max(polls);
                if completed == 2 {
                    break;
                }
            }
        }
        assert!((3..499).contains(&most), "{pace:?}: {most}");
    }
}

#[test]
fn a_call_dropped_after_any_number_of_polls_is_accounted_for() {
    let calls = [
        (call(Kind::Look, 1), false),
        (call(Kind::Alone, 1), true),
        (call(Kind::Fails, 1), true),
        (call(Kind::Ask(Verdict::Edited), 5), true),
        (call(Kind::Checked(Check::Slow), 1), true),
        (call(Kind::CallsTwo, 1), false),
        (call(Kind::Unknown, 1), false),
    ];
    for pace in PACES {
        for (call, writes) in calls {
            let ends = (1..500).find(|polls| drop_call_after(call, writes, pace, *polls));
            assert!(ends.is_some(), "{call:?} never ends");
        }
    }
}

/// Makes one call without a turn and drops it after this many polls.
fn drop_call_after(call: Call, writes: bool, pace: Pace, polls: usize) -> bool {
    let runtime = step_by_step();
    let script = rich(Reader::Absent, pace);
    let world = Arc::new(World::new(&script, true));
    let conversation_id = world.conversation_id(0);
    let reported = Arc::new(Mutex::new(Vec::new()));
    let (ended, weak) = runtime.block_on(async {
        let approving = Arc::clone(&world);
        let ctx = DispatchContext::builder()
            .turn_id("turn-0")
            .tools(ToolRegistry::new(tools::all(&world)).unwrap())
            .storage(storage_of(world.store.clone()))
            .conversation(conversation_id.as_str())
            .approver(move |request: ApprovalRequest| {
                let world = Arc::clone(&approving);
                async move {
                    tokio::task::yield_now().await;
                    let edited = json!({ "n": 6, "how": "Edited" });
                    world.grant(&request.id, &edited);
                    GateAnswer::edit(edited)
                }
            })
            .build();
        ctx.stash().set("turn", 0).unwrap();
        let seen = Arc::clone(&reported);
        ctx.turn().events().observe(move |event| match &event.kind {
            EventKind::ToolExecutionStart { id, .. } => seen.lock().push((id.to_string(), true)),
            EventKind::ToolExecutionEnd { id, .. } => seen.lock().push((id.to_string(), false)),
            _ => {}
        });
        let (name, args) = call.proposal(0);
        let mut work = Box::pin(ctx.call(name, args));
        let mut ended = false;
        for count in 0..polls {
            if poll_once(work.as_mut()).is_ready() {
                ended = true;
                break;
            }
            step(count).await;
        }
        drop(work);
        all_ended().await;
        let weak = Arc::downgrade(&ctx.turn().per_turn::<Alive>());
        drop(ctx);
        (ended, weak)
    });
    assert_eq!(runtime.metrics().num_alive_tasks(), 0);
    assert!(weak.upgrade().is_none(), "{call:?}: the context is held");
    assert_eq!(world.violations(), [""; 0]);

    let what = format!("{call:?}, {pace:?}, {polls} polls");
    let reported = reported.lock();
    let started: Vec<&String> = reported
        .iter()
        .filter(|entry| entry.1)
        .map(|entry| &entry.0)
        .collect();
    for id in &started {
        let of_call: Vec<bool> = reported
            .iter()
            .filter(|entry| entry.0 == **id)
            .map(|entry| entry.1)
            .collect();
        assert_eq!(of_call, [true, false], "{what}");
    }
    let stored = runtime.block_on(async { world.store.records(&conversation_id).await.unwrap() });
    let mut records = 0;
    for record in &stored {
        match record {
            Record::ToolCall(record) => {
                assert!(record.is_complete(), "{what}");
                records += 1;
                let ran = started.iter().any(|id| *id == record.id());
                let edited = record.edited_args().is_some();
                let edits = matches!(call.tool, Kind::Ask(_));
                assert!(!ran || edited == edits, "{what}");
            }
            Record::Ledger(entry) => {
                assert_ne!(entry.state, CallState::Started, "{what}");
                let ran = started.iter().any(|id| **id == entry.tool_call);
                assert!(ran || entry.state == CallState::Failed, "{what}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    let nested = world.turns[0].proposed.lock().len();
    assert_eq!(records, 1 + nested, "{what}");
    let ledger = stored.len() - records;
    assert!(!writes || ledger <= 1, "{what}");
    assert!(!(writes && ended) || ledger == 1, "{what}");
    ended
}

#[test]
fn dropped_writes_are_completed_in_order() {
    for pace in [Pace::Yields(2), Pace::Sleeps(1)] {
        let runtime = step_by_step();
        let script = rich(Reader::Absent, pace);
        let world = World::new(&script, true);
        let conversation_id = world.conversation_id(0);
        let ids = ["a", "b", "c", "d", "e"];
        let puts = runtime.block_on(async {
            let ctx = DispatchContext::builder()
                .storage(storage_of(world.store.clone()))
                .conversation(conversation_id.as_str())
                .build();
            for id in ids {
                let message = Message::user(id).id(id).build().unwrap();
                let mut work = Box::pin(ctx.records().store(message));
                assert!(poll_once(work.as_mut()).is_pending());
            }
            assert!(
                ctx.records().all::<Message>().is_empty(),
                "nothing is there before it is stored"
            );
            all_ended().await;
            let held: Vec<String> = ctx
                .records()
                .all::<Message>()
                .iter()
                .map(|message| message.id().to_owned())
                .collect();
            assert_eq!(held, ids);
            world.store.puts(&conversation_id)
        });
        let written: Vec<&str> = puts.iter().map(|put| &*put.id).collect();
        assert_eq!(written, ids, "{pace:?}");
    }
}
