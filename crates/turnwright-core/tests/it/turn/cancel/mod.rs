//! Cancels a turn in every way and at every place.

mod calls;
mod places;
mod turns;

use std::sync::Arc;
use std::time::Duration;
use turnwright_core::record::Record;
use turnwright_core::runner::Limit;
use turnwright_core::store::MemoryStore;

use tokio::sync::Notify;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// How a turn is cancelled.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    Handle,
    Token,
    Deadline,
    DropHandle,
    DropRun,
    Inside,
}

const WAYS: [Way; 6] = [
    Way::Handle,
    Way::Token,
    Way::Deadline,
    Way::DropHandle,
    Way::DropRun,
    Way::Inside,
];

/// A value that lives as long as its turn.
#[derive(Default)]
struct Alive;

/// A turn that waits at a certain place.
struct Scene {
    runner: TurnRunner,
    store: Arc<MemoryStore>,
    observed: Observed,
    notes: Notes,
    reached: Arc<Notify>,
    /// Releases what completes whatever happens.
    go: Arc<Notify>,
    inside: Arc<Mutex<Option<TurnContext>>>,
}

impl Scene {
    fn new(
        steps: impl IntoIterator<Item = Step>,
        set: impl FnOnce(
            runner::TurnRunnerBuilder,
            &Arc<Notify>,
            &Arc<Notify>,
            &Arc<MemoryStore>,
        ) -> runner::TurnRunnerBuilder,
    ) -> Self {
        let (reached, go, observed, notes) = (
            Arc::new(Notify::new()),
            Arc::new(Notify::new()),
            Observed::default(),
            Notes::default(),
        );
        let (store, inside) = (Arc::new(MemoryStore::default()), Arc::new(Mutex::new(None)));
        let cell: Arc<Mutex<Option<TurnContext>>> = Arc::clone(&inside);
        let grab = move |ctx: TurnContext, next: Next<TurnContext>| {
            *cell.lock() = Some(ctx);
            async move { next.run().await }
        };
        let builder = runner(ScriptedModel::new(steps))
            .storage(storage_of(Arc::clone(&store)))
            .turn_input(grab)
            .turn_output(notes.layer("turn-output"))
            .observer(observed.observer());
        let builder = set(builder, &reached, &go, &store);
        Scene {
            runner: builder.build().unwrap(),
            store,
            observed,
            notes,
            reached,
            go,
            inside,
        }
    }

    /// Until it waits there and nothing else can continue.
    async fn there(&self) {
        self.reached.notified().await;
        tokio::time::sleep(SECOND).await;
    }

    /// Runs the turn, cancels it, and waits for its end event. Returns the outcome if it is available.
    async fn call_off(&self, way: Way) -> Option<TurnOutcome> {
        let token = Cancellation::new();
        let mut input = TurnInput::new("go")
            .conversation("c")
            .cancellation(token.clone());
        if way == Way::Deadline {
            input = input.budget(Budget::new().time(10 * SECOND));
        }
        if way == Way::DropRun {
            let mut run = Box::pin(self.runner.run(input));
            tokio::select! {
                outcome = &mut run => panic!("it ended: {:?}", outcome.status),
                () = self.there() => {}
            }
            drop(run);
            self.go.notify_one();
            self.end().await;
            return None;
        }
        let turn = self.runner.start(input);
        let _somebody = turn.gates();
        self.there().await;
        match way {
            Way::Handle => turn.cancel().unwrap(),
            Way::Token => token.cancel(),
            Way::Inside => {
                let inside = self.inside.lock().clone().expect("it began");
                inside.abort("a change of mind");
            }
            Way::DropHandle => {
                drop(turn.cancel_on_drop());
                self.go.notify_one();
                self.end().await;
                return None;
            }
            Way::Deadline | Way::DropRun => tokio::time::sleep(10 * SECOND).await,
        }
        self.go.notify_one();
        Some(turn.await)
    }

    async fn end(&self) {
        while self.observed.of("turnEnd").is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// What holds wherever and however a turn was cancelled.
    async fn assert_clean(&self, way: Way, outcome: Option<&TurnOutcome>) {
        self.observed.assert_paired();
        let end = &self.observed.of("turnEnd")[0];
        assert_eq!(
            end["status"],
            if way == Way::Deadline {
                "limit"
            } else {
                "aborted"
            },
            "{way:?}"
        );
        assert_eq!(
            self.observed.of("error").len(),
            0,
            "{way:?}: nothing failed"
        );
        assert!(
            !self.notes.has("turn-output in"),
            "{way:?}: nothing comes after"
        );
        match (way, outcome.map(|outcome| &outcome.status)) {
            (Way::Deadline, Some(TurnStatus::Limit(Limit::Time(limit)))) => {
                assert_eq!(*limit, 10 * SECOND);
            }
            (Way::Inside, Some(TurnStatus::Aborted { reason, .. })) => {
                assert_eq!(reason, "a change of mind");
            }
            (Way::Handle | Way::Token, Some(TurnStatus::Aborted { reason, .. })) => {
                assert!(reason.contains("cancelled"), "{reason}");
            }
            (Way::DropHandle | Way::DropRun, None) => {}
            (way, ended) => panic!("{way:?}: {ended:?}"),
        }
        let held = self.store.records(&ConversationId::new("c")).await.unwrap();
        for record in &held {
            if let Record::ToolCall(call) = record {
                assert!(call.is_complete(), "{way:?}: {} was left open", call.tool());
            }
            if let Record::Ledger(entry) = record {
                assert_ne!(entry.state.as_str(), "started", "{way:?}: {}", entry.tool);
            }
        }
        if let Some(outcome) = outcome {
            let of_store = held.iter().filter(|record| !record.kind().is_bookkeeping());
            let ids: Vec<&str> = of_store.map(Record::id).collect();
            assert_eq!(
                outcome.records.iter().map(Record::id).collect::<Vec<_>>(),
                ids
            );
        }
        // Nothing of it is alive any more.
        let weak = self.inside.lock().take();
        let weak = weak.map(|turn| Arc::downgrade(&turn.per_turn::<Alive>()));
        assert!(
            weak.is_none_or(|weak| weak.upgrade().is_none()),
            "{way:?}: something holds the turn"
        );
        let alive = tokio::runtime::Handle::current()
            .metrics()
            .num_alive_tasks();
        assert_eq!(alive, 0, "{way:?}");
    }

    /// The texts of the calls in the store.
    async fn texts(&self) -> Vec<String> {
        let mut texts = Vec::new();
        for record in self.store.records(&ConversationId::new("c")).await.unwrap() {
            if let Record::ToolCall(call) = record {
                texts.push(call.text().await.unwrap_or_default());
            }
        }
        texts
    }
}

const MAY_HAVE: &str =
    "The call was cancelled. It may or may not have taken effect. Check before you repeat it.";
const READ_ONLY: &str = "The call was cancelled. It is read-only, so nothing was changed.";
const NOT_RUN: &str = "The call was cancelled. The tool was not run.";
