//! Which process may run a turn of a conversation.

mod clocks;
mod deleted;

use std::time::Duration;
use turnwright_core::record::Record;
use turnwright_core::record::RecordKind;

use super::*;
use turnwright_core::record::ByteResolver;
use turnwright_core::spool::MemorySpool;
use turnwright_core::store::TurnFilter;

/// A lease of another process.
fn lease(turn: &str, fencing_token: u64, until: &str) -> Record {
    lease_of(&record::new_id(), turn, fencing_token, until, 0)
}

fn lease_of(owner: &str, turn: &str, fencing_token: u64, until: &str, renewals: u64) -> Record {
    let reopen = ByteResolver::new(Arc::new(MemorySpool::default()));
    let value = json!({
        "v": 1, "kind": "lease", "id": "lease", "turnId": turn, "owner": owner, "fencingToken": fencing_token, "until": until,
        "termMs": 3_600_000, "renewals": renewals,
    });
    Record::from_value(RecordKind::Lease, &value, &reopen).unwrap()
}

/// The duration of these leases.
const TERM: Duration = Duration::from_secs(60 * 60);

/// The time on a wall clock that is this many milliseconds ahead or behind.
fn wall(ahead: i64) -> String {
    let now = std::time::SystemTime::now();
    let by = Duration::from_millis(ahead.unsigned_abs());
    let at = if ahead < 0 { now - by } else { now + by };
    let note = record::Memory::new("a").created_at(at).build().unwrap();
    let value = Record::from(note).to_value().unwrap();
    value["createdAt"].as_str().unwrap().to_owned()
}

/// How far clocks differ, and by how much one is set, in milliseconds.
const SKEWS: [i64; 7] = [
    -31_536_000_000,
    -3_600_000,
    -100,
    0,
    100,
    3_600_000,
    31_536_000_000,
];

/// A tool that signals when it was started, and waits until it is released.
fn slow(reached: &Arc<Notify>, go: &Arc<Notify>) -> ToolBuilder<Value> {
    let (reached, go) = (Arc::clone(reached), Arc::clone(go));
    tool("slow").handler(move |_: Value, _: ToolContext| {
        let (reached, go) = (Arc::clone(&reached), Arc::clone(&go));
        async move {
            reached.notify_one();
            go.notified().await;
            "slow is done"
        }
    })
}

const PAST: &str = "2001-01-01T00:00:00.000000000Z";

const FAR: &str = "2999-01-01T00:00:00.000000000Z";

/// In half an hour.
fn soon() -> String {
    wall(30 * 60 * 1_000)
}

#[tokio::test(start_paused = true)]
async fn only_one_process_runs_a_turn_of_a_conversation() {
    let world = World::default();
    let model = ScriptedModel::new([Step::fail("out of reach"), Step::say("All is well.")]);
    let runner = world.runner(&model).build().unwrap();
    runner.run(go_input()).await;
    let conversation_id = ConversationId::new(TALK);
    world
        .store
        .put(&conversation_id, lease(TURN, 9, &soon()))
        .await
        .unwrap();
    let before = world.conversation_id().await.len();
    // The holder is alive and renews the lease.
    let (store, of) = (Arc::clone(&world.store), conversation_id.clone());
    let alive = tokio::spawn(async move {
        loop {
            tokio::time::sleep(Duration::from_secs(1)).await;
            store.put(&of, lease(TURN, 9, &soon())).await.unwrap();
        }
    });
    for outcome in [
        runner.resume(TURN).await.unwrap().await,
        runner.run(TurnInput::new("hello").conversation(TALK)).await,
    ] {
        assert_eq!(code_of(&outcome), "E_TURN_HELD");
        assert!(error_of(&outcome).message().contains("`turn-1`"));
        assert_eq!(outcome.records.len(), 0);
    }
    assert_eq!(
        world.conversation_id().await.len(),
        before,
        "nothing was written"
    );
    assert_eq!(model.request_count(), 1);
    alive.abort();
    // Once it has expired, another process may run a turn.
    world
        .store
        .put(&conversation_id, lease(TURN, 9, PAST))
        .await
        .unwrap();
    let outcome = runner.resume(TURN).await.unwrap().await;
    assert_eq!(outcome.text, "All is well.");
    let lease = world.store.lease(&conversation_id).await.unwrap().unwrap();
    assert_eq!((lease.fencing_token, lease.turn_id.as_deref()), (10, None));
}

#[tokio::test]
async fn a_process_that_lost_the_turn_writes_and_starts_nothing_more() {
    let (world, reached) = (World::default(), Arc::new(Notify::new()));
    let go = Arc::new(Notify::new());
    let slow = slow(&reached, &go);
    let model = ScriptedModel::new([
        Step::call_tool("slow", "{}"),
        Step::call_tool("pay", "{}"),
        Step::say("never"),
    ]);
    let pay = world.acting("pay").build();
    let runner = world.runner(&model).tool(slow.build()).tool(pay);
    let turn = runner.build().unwrap().start(go_input());
    reached.notified().await;
    // Another process has taken over.
    let conversation_id = ConversationId::new(TALK);
    let taken = Batch::new().put(lease(TURN, 2, &soon())).fencing_token(2);
    let revision = world.store.apply(&conversation_id, taken).await.unwrap();
    go.notify_one();
    let outcome = turn.await;
    assert_eq!(code_of(&outcome), "E_TURN_TAKEN_OVER");
    assert_eq!(world.runs.all(), Vec::<String>::new());
    assert_eq!(model.request_count(), 1);
    let now = world
        .store
        .load(&conversation_id, &Query::all().limit(0))
        .await
        .unwrap();
    assert_eq!(now.revision, revision, "it has written");
    assert_eq!(world.ledger().await, [("slow".to_owned(), "started")]);
    assert_eq!(world.state().await, ("running", 1));
}

#[tokio::test]
async fn a_long_turn_keeps_its_lease() {
    let world = World::default();
    let mut odd = Odd::store(usize::MAX, How::Fails);
    odd.store = Arc::clone(&world.store);
    tokio::time::pause();
    let model = ScriptedModel::new([Step::wait(Duration::from_secs(100)).then_say("At last.")]);
    let runner = runner(model).storage(storage_of(odd.clone()));
    let runner = runner.lease(Duration::from_secs(3)).build().unwrap();
    assert_eq!(runner.run(go_input()).await.text, "At last.");
    // The start, the answer, the end, and a renewal each second.
    let writes = odd.writes.load(std::sync::atomic::Ordering::Relaxed);
    assert!((95..=105).contains(&writes), "{writes} writes");
    let held = world
        .store
        .lease(&ConversationId::new(TALK))
        .await
        .unwrap()
        .unwrap();
    assert_eq!((held.fencing_token, held.turn_id.as_deref()), (1, None));
}

#[tokio::test]
async fn a_new_turn_waits_for_a_turn_that_is_being_cancelled() {
    let world = World::default();
    let reached = Arc::new(Notify::new());
    let model = ScriptedModel::new([Step::call_tool("act", "{}"), Step::say("Hello.")]);
    let act = world.endless("act", &reached).build();
    let runner = world.runner(&model).tool(act).build().unwrap();
    let turn = runner.start(go_input());
    reached.notified().await;
    drop(turn.cancel_on_drop());
    let outcome = runner.run(TurnInput::new("hello").conversation(TALK)).await;
    assert_eq!(outcome.text, "Hello.");
    let turns = world.store.turns(&ConversationId::new(TALK)).await.unwrap();
    let states: Vec<&str> = turns.iter().map(|turn| turn.state.as_str()).collect();
    assert_eq!(states, ["aborted", "answered"]);
}

#[test]
fn a_new_turn_abandons_an_interrupted_one_and_reports_its_calls() {
    let (world, reached) = (World::default(), Arc::new(Notify::new()));
    let both = Arc::new(Notify::new());
    let model = ScriptedModel::new([Step::call_tool("look", "{}").call("pay", "{}")]);
    let first = world
        .runner(&model)
        .tool(
            world
                .endless("look", &both)
                .effects(Effects::ReadOnly)
                .build(),
        )
        .tool(world.endless("pay", &reached).build())
        .build()
        .unwrap();
    world.die(&first, &reached);
    process().block_on(async {
        let observed = Observed::default();
        let model = answers();
        let second = world.runner(&model);
        let second = second.observer(observed.observer()).build().unwrap();
        let outcome = second.run(TurnInput::new("hello").conversation(TALK)).await;
        assert!(outcome.is_answered());
        assert_eq!(outcome.records.len(), 2, "calls of another turn");
        assert_eq!(world.state().await, ("abandoned", 1));
        assert_eq!(world.ledger().await, [("pay".to_owned(), "unknown")]);
        let warned = observed.of("warning");
        let warned = warned[0]["message"].as_str().unwrap();
        assert!(warned.contains("one of its calls"), "{warned}");
        let shown = model.request(0);
        let text: Vec<&str> = shown
            .tool_calls()
            .iter()
            .map(|call| call.rendered())
            .collect();
        assert!(text[0].contains("Nothing was changed."), "{text:?}");
        assert!(text[1].contains("may not have taken effect"), "{text:?}");
        let outcome = second.resume(TURN).await.unwrap().await;
        assert_eq!(code_of(&outcome), "E_TURN_NOT_RESUMABLE");
    });
}

#[tokio::test]
async fn a_lease_duration_that_is_too_short_is_rejected() {
    let error = runner(answers())
        .lease(Duration::from_millis(1))
        .build()
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_TURN_RUNNER_CONFIG);
    assert!(error.message().contains("lease"), "{error}");
}

/// Others write to the same conversation continuously, and the turn still starts.
#[tokio::test]
async fn a_turn_starts_despite_concurrent_writes() {
    let world = World::default();
    let conversation_id = ConversationId::new(TALK);
    let (store, of) = (Arc::clone(&world.store), conversation_id.clone());
    let writer = tokio::spawn(async move {
        for n in 0..1_000 {
            let note = record::Memory::new("a").id(format!("n{}", n % 7));
            store.put(&of, note.build().unwrap()).await.unwrap();
            tokio::task::yield_now().await;
        }
    });
    let runner = world.runner(&answers()).build().unwrap();
    assert!(runner.run(go_input()).await.is_answered());
    writer.await.unwrap();
    assert_eq!(world.state().await, ("answered", 1));
}

#[tokio::test]
async fn calls_that_a_turn_could_not_close_are_closed_by_the_next_one() {
    let world = World::default();
    // The start, the started call, its result.
    let mut odd = Odd::store(2, How::Fails);
    odd.store = Arc::clone(&world.store);
    let model = ScriptedModel::new([Step::call_tool("pay", "{}"), Step::say("Hello.")]);
    let pay = world.acting("pay").build();
    let runner = runner(model).storage(storage_of(odd)).tool(pay).build();
    let runner = runner.unwrap();
    assert_eq!(code_of(&runner.run(go_input()).await), "E_STORE_ERROR");
    assert_eq!(world.state().await, ("failed", 1));
    assert_eq!(world.ledger().await, [("pay".to_owned(), "started")]);
    let outcome = runner.run(TurnInput::new("hello").conversation(TALK)).await;
    assert_eq!(outcome.text, "Hello.");
    assert_eq!(world.ledger().await, [("pay".to_owned(), "unknown")]);
    assert!(world.calls().await[0].is_complete());
    assert_eq!(world.state().await, ("failed", 1));
    assert_eq!(world.runs.all().len(), 1);
}

/// A handler that checks before a renewal is due: meanwhile another process has the turn, or it was deleted.
#[tokio::test]
async fn ensure_held_notices_a_takeover_immediately() {
    for deleted in ["not", "by scope", "record by record"] {
        let world = World::default();
        let (store, notes) = (Arc::clone(&world.store), world.runs.clone());
        let act = tool("act").handler(move |_: Value, ctx: ToolContext| {
            let (store, notes) = (Arc::clone(&store), notes.clone());
            async move {
                notes.note(format!("{:?}", ctx.turn().ensure_lease().await.is_ok()));
                match deleted {
                    "not" => {
                        let taken = Batch::new().put(lease(TURN, 2, &soon())).fencing_token(2);
                        store.apply(ctx.conversation_id(), taken).await?;
                    }
                    "by scope" => drop(store.delete_conversation(ctx.conversation_id()).await?),
                    _ => {
                        for record in store.records(ctx.conversation_id()).await? {
                            store
                                .delete(ctx.conversation_id(), record.kind(), record.id())
                                .await?;
                        }
                    }
                }
                let error = ctx.turn().ensure_lease().await.unwrap_err();
                notes.note(error.code().as_str());
                Ok::<_, ToolError>("never")
            }
        });
        let runner = world.runner(&calls("act")).tool(act.build());
        let outcome = runner.build().unwrap().run(go_input()).await;
        assert_eq!(code_of(&outcome), "E_TURN_TAKEN_OVER", "{deleted}");
        assert_eq!(world.runs.all(), ["true", "E_TURN_TAKEN_OVER"], "{deleted}");
    }
}

#[tokio::test]
async fn ensure_held_succeeds_while_the_lease_is_held() {
    let world = World::default();
    let (store, notes) = (Arc::clone(&world.store), world.runs.clone());
    let act = tool("act").handler(move |_: Value, ctx: ToolContext| {
        let (store, notes) = (Arc::clone(&store), notes.clone());
        async move {
            notes.note(format!("{:?}", ctx.turn().ensure_lease().await.is_ok()));
            let taken = Batch::new().put(lease(TURN, 2, &soon())).fencing_token(2);
            store.apply(ctx.conversation_id(), taken).await?;
            // The process was suspended for longer than its lease duration.
            std::thread::sleep(Duration::from_millis(150));
            let error = ctx.turn().ensure_lease().await.unwrap_err();
            notes.note(error.code().as_str());
            Ok::<_, ToolError>("never")
        }
    });
    let runner = world.runner(&calls("act")).tool(act.build());
    let runner = runner.lease(Duration::from_millis(100)).build().unwrap();
    assert_eq!(code_of(&runner.run(go_input()).await), "E_TURN_TAKEN_OVER");
    assert_eq!(world.runs.all(), ["true", "E_TURN_TAKEN_OVER"]);
}

#[test]
fn a_reader_learns_what_it_waits_for_when_a_process_may_be_gone() {
    let world = World::default();
    let reached = Arc::new(Notify::new());
    let model = ScriptedModel::new([Step::call_tool("act", "{}")]);
    let runner = world
        .runner(&model)
        .tool(world.endless("act", &reached).build());
    world.die(&runner.build().unwrap(), &reached);
    let builder = &mut Builder::new_current_thread();
    let paused = builder.enable_time().start_paused(true).build().unwrap();
    let events = paused.block_on(async {
        // A process of another machine: it cannot be seen that it is gone.
        let conversation_id = ConversationId::new(TALK);
        let lease = lease(TURN, 9, &soon());
        world.store.put(&conversation_id, lease).await.unwrap();
        let here = world.runner(&ScriptedModel::new([])).build().unwrap();
        let mut turn = here.attach(TALK, TURN).await.unwrap();
        let mut events = Vec::new();
        while let Some(event) = turn.next().await {
            events.push(serde_json::to_value(&event).unwrap());
        }
        events
    });
    let names: Vec<_> = events.iter().map(|event| &event["event"]).collect();
    assert_eq!(names, ["turnStart", "leaseWait", "turnEnd"]);
    assert_eq!(events[1]["heldBy"], TURN);
    let most = events[1]["atMostMs"].as_f64().unwrap();
    assert!(
        most > 3_500_000.0 && most <= TERM.as_secs_f64() * 1e3,
        "{most}"
    );
    assert_eq!(events[2]["code"], "E_TURN_INTERRUPTED");
    let message = "The turn was interrupted and is not running. It must be resumed.";
    assert_eq!(events[2]["message"], message);
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_waits_for_a_lease_says_so_and_names_the_holder_if_it_fails() {
    let world = World::default();
    let conversation_id = ConversationId::new(TALK);
    let put = async |renewals| {
        let lease = lease_of("other", "turn-9", 9, &soon(), renewals);
        world.store.put(&conversation_id, lease).await.unwrap();
    };
    put(0).await;
    let runner = world.runner(&ScriptedModel::new([])).build().unwrap();
    let mut turn = runner.start(go_input());
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        // A sign of life, once the turn waits.
        if event.name() == "leaseWait" {
            put(1).await;
        }
        events.push(serde_json::to_value(&event).unwrap());
    }
    let names: Vec<_> = events.iter().map(|event| &event["event"]).collect();
    assert_eq!(names, ["turnStart", "leaseWait", "turnEnd"]);
    assert_eq!(
        (&events[1]["heldBy"], &events[2]["blockedBy"]),
        (&json!("turn-9"), &json!("turn-9"))
    );
    assert_eq!(events[2]["code"], "E_TURN_HELD");
    let error = error_of(&turn.await);
    let held = error.find_cause::<runner::TurnHeld>().unwrap();
    assert_eq!(held.turn_id.as_deref(), Some("turn-9"));
    // The message is not repeated by its cause.
    assert_eq!(error.with_causes(), error.message());
}

#[tokio::test(start_paused = true)]
async fn a_second_message_fails_at_once_while_the_same_process_runs_a_turn() {
    let world = World::default();
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let model = ScriptedModel::new([Step::call_tool("slow", "{}"), Step::say("done")]);
    let storage = storage_of(Arc::clone(&world.store));
    let first = runner(model).storage(storage.clone());
    let first = first.tool(slow(&reached, &go).build()).build().unwrap();
    let other = runner(answers()).storage(storage).build().unwrap();
    let turn = first.start(go_input());
    reached.notified().await;
    let more = || TurnInput::new("more").conversation(TALK);
    for runner in [&first, &other] {
        for input in [more(), more().abandon_suspended(), go_input()] {
            let mut second = runner.start(input);
            let mut names = Vec::new();
            while let Some(event) = second.next().await {
                names.push(event.name());
            }
            // Without `leaseWait`, which comes after a second.
            assert_eq!(names, ["turnStart", "turnEnd"]);
            assert_eq!(code_of(&second.await), "E_TURN_HELD");
        }
    }
    go.notify_one();
    assert!(turn.await.is_answered());
}

/// Runs until it is released. Then it fails, or never answers.
fn held_up(fails: bool, reached: &Arc<Notify>, go: &Arc<Notify>) -> TurnRunnerBuilder {
    let (reached, go) = (Arc::clone(reached), Arc::clone(go));
    runner(move |_: DispatchContext| {
        let (reached, go) = (Arc::clone(&reached), Arc::clone(&go));
        async move {
            reached.notify_one();
            go.notified().await;
            if fails {
                return Err(BoxError::from("out of reach"));
            }
            Ok(())
        }
    })
    .iteration_limit(1)
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_ends_after_it_was_listed_is_not_resumed() {
    for state in ["aborted", "failed", "limit"] {
        let world = World::default();
        let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let storage = || storage_of(Arc::clone(&world.store));
        let first = held_up(state == "failed", &reached, &go).storage(storage());
        let running = first.build().unwrap().start(go_input());
        reached.notified().await;
        // Another process starts meanwhile.
        let listed = storage()
            .resumable(&TurnFilter::all())
            .await
            .unwrap()
            .remove(0);
        let second = world.runner(&answers()).build().unwrap();
        let mut resumed = second.resume(&listed).await.unwrap();
        while !matches!(
            resumed.next().await.expect("it waits for the lease").kind,
            EventKind::LeaseWait { .. }
        ) {}
        match state {
            "aborted" => running.cancel().unwrap(),
            _ => go.notify_one(),
        }
        let ended = running.await.status.to_string();
        assert_eq!(resumed.await.status.to_string(), ended);
        let again = second.resume(&listed).await.unwrap().await;
        assert_eq!(again.status.to_string(), ended);
        assert_eq!(world.state().await, (state, 1));
        // A caller who names the turn resumes it.
        assert!(second.resume(TURN).await.unwrap().await.is_answered());
    }
}
