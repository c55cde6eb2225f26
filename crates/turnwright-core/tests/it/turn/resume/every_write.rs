//! A process that dies at any of its writes, before or after the store has applied it. The turn is resumed as often as that
//! happens, and ends as if nothing had happened.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use turnwright_core::record::Record;
use turnwright_core::spool::Spool;
use turnwright_core::store::MemoryStore;
use turnwright_core::store::Store;
use turnwright_core::store::{
    Batch, Changes, ConversationFilter, ConversationId, FoundConversation, FoundTurn, Loaded,
    Query, Revision, StoreError, TurnFilter,
};
use turnwright_core::tool::Concurrency;
use turnwright_core::tool::approval::ApprovalRequest;
use turnwright_core::tool::approval::GateAnswer;

use super::*;
use turnwright_core::record::CallState;
use turnwright_core::tool::approval::always;

/// How the n-th write ends its process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Dies {
    Before,
    After,
    /// The store fails, and the process lives.
    Fails,
}

/// A store whose n-th write is the last that its process makes.
pub(super) struct Deadly {
    store: Arc<MemoryStore>,
    writes: AtomicUsize,
    at: usize,
    dies: Dies,
    died: Arc<Notify>,
}

impl Deadly {
    /// Creates a store whose write number `at` is the last that its process makes.
    pub(super) fn store(world: &World, at: usize, dies: Dies, died: &Arc<Notify>) -> Self {
        Deadly {
            store: Arc::clone(&world.store),
            writes: AtomicUsize::new(0),
            at,
            dies,
            died: Arc::clone(died),
        }
    }
}

#[async_trait]
impl Store for Deadly {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        let write = self.writes.fetch_add(1, Ordering::Relaxed);
        if write != self.at {
            return self.store.apply(conversation_id, batch).await;
        }
        if self.dies == Dies::Fails {
            return Err(StoreError::failed("the disk is full"));
        }
        if self.dies == Dies::After {
            self.store.apply(conversation_id, batch).await?;
        }
        self.died.notify_one();
        std::future::pending().await
    }

    async fn load(
        &self,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        self.store.load(conversation, query).await
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.store.conversations(filter).await
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        self.store.find_turns(filter).await
    }

    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        self.store.changed(conversation, since).await
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        self.store.wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        self.store.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        self.store.spool()
    }
}

/// A model that knows only the records.
async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
    let done = ctx.records().own_tool_calls();
    let next: &[&str] = match done.len() {
        0 => &["look"],
        1 => &["pay", "look", "pay", "alone"],
        5 => &["approved"],
        _ => &[],
    };
    if next.is_empty() {
        ctx.answer("All is well.").await?;
        return Ok(());
    }
    let calls: Vec<_> = next.iter().map(|name| ctx.propose(*name, "{}")).collect();
    ctx.call_tools(calls).await;
    Ok(())
}

fn runner(world: &World, store: Deadly) -> TurnRunner {
    turnwright_core::runner(model)
        .storage(storage_of(store))
        .tool(world.acting("look").effects(Effects::ReadOnly).build())
        .tool(world.acting("pay").build())
        .tool(
            world
                .acting("alone")
                .concurrency(Concurrency::Exclusive)
                .build(),
        )
        .tool(
            world
                .acting("approved")
                .approval(always("it costs"))
                .build(),
        )
        .approver(|_: ApprovalRequest| async { GateAnswer::approve() })
        .build()
        .unwrap()
}

/// Runs or resumes the turn in a process that dies at a write. Returns whether it got that far.
pub(super) fn live_until(
    world: &World,
    at: usize,
    dies: Dies,
    runner: impl Fn(&World, Deadly) -> TurnRunner,
) -> bool {
    let died = Arc::new(Notify::new());
    let store = Deadly::store(world, at, dies, &died);
    let runner = runner(world, store);
    let process = process();
    process.block_on(async {
        let there = world
            .store
            .find_turns(&TurnFilter::all().turn_id(TURN))
            .await
            .unwrap();
        let turn = if there.is_empty() {
            runner.start(go_input())
        } else {
            runner.resume(TURN).await.unwrap()
        };
        tokio::select! {
            outcome = turn => !outcome.is_answered(),
            () = died.notified() => true,
        }
    })
}

/// Invariants at the end, whatever happened before.
async fn judge(world: &World, what: &str) {
    let records = world.conversation_id().await;
    let mut states: BTreeMap<String, CallState> = BTreeMap::new();
    let mut calls = 0;
    for record in &records {
        match record {
            Record::Ledger(line) => {
                states.insert(line.id().to_owned(), line.state);
            }
            Record::ToolCall(call) => {
                calls += 1;
                assert!(call.is_complete(), "{what}: {} was left open", call.tool());
            }
            _ => {}
        }
    }
    assert_eq!(calls, 6, "{what}");
    assert_eq!(world.state().await.0, "answered", "{what}");
    let answers = world
        .store
        .messages(&ConversationId::new(TALK))
        .await
        .unwrap();
    let answers: Vec<&str> = answers.iter().map(|answer| answer.text()).collect();
    assert_eq!(answers, ["go", "All is well."], "{what}");
    let mut runs: BTreeMap<String, usize> = BTreeMap::new();
    for key in world.runs.all() {
        *runs.entry(key).or_default() += 1;
    }
    for (key, state) in &states {
        assert_ne!(*state, CallState::Started, "{what}: {key} was left begun");
        let ran = runs.remove(key).unwrap_or(0);
        match state {
            CallState::Done => assert_eq!(ran, 1, "{what}: {key} is done"),
            _ => assert!(ran <= 1, "{what}: {key} ran {ran} times"),
        }
    }
    // The remaining calls are read-only: they may have run more than once, and have no ledger entry. Only a failed store prevents
    // a call from running at all.
    let refused = what.starts_with("Fails");
    assert!(runs.len() == 2 || refused, "{what}: {runs:?}");
}

#[test]
fn a_turn_can_be_resumed_after_a_crash_at_any_write() {
    let mut places = 0;
    for dies in [Dies::Before, Dies::After, Dies::Fails] {
        for at in 0.. {
            let world = World::default();
            let died = live_until(&world, at, dies, runner);
            let untouched = !live_until(&world, usize::MAX, Dies::Before, runner);
            assert!(untouched, "{dies:?} at {at}: the turn did not end");
            process().block_on(judge(&world, &format!("{dies:?} at {at}")));
            if !died {
                break;
            }
            places += 1;
        }
    }
    assert!(places > 30, "only {places} places");
}

#[test]
fn a_turn_can_be_resumed_after_repeated_crashes() {
    for (first, dies) in [(2, Dies::After), (4, Dies::Before), (6, Dies::After)] {
        let world = World::default();
        let mut died = 0;
        // Each time a little later, so that it ends eventually.
        for at in first.. {
            died += 1;
            if !live_until(&world, at, dies, runner) {
                break;
            }
        }
        assert!(died > 1);
        process().block_on(judge(&world, &format!("{dies:?} from {first} on")));
    }
}

#[test]
fn an_uninterrupted_turn_has_no_unknown_calls() {
    let world = World::default();
    assert!(!live_until(&world, usize::MAX, Dies::Before, runner));
    process().block_on(async {
        judge(&world, "whole").await;
        let states = world.ledger().await;
        assert!(
            states.iter().all(|(_, state)| *state == "done"),
            "{states:?}"
        );
    });
}
