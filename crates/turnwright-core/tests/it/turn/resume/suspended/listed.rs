//! Waiting turns of all conversations.

use super::*;
use turnwright_core::spool::Spool;
use turnwright_core::store::WaitingState;
use turnwright_core::store::{
    Batch, Changes, ConversationFilter, ConversationId, FoundConversation, FoundTurn, Loaded,
    Query, Revision, Store, StoreError, TurnFilter,
};

#[test]
fn suspended_turns_open_gates_and_interrupted_turns_are_listed_in_pages() {
    let world = World::default();
    let at = |conversation: &str| TurnInput::new("go").conversation(conversation);
    process().block_on(async {
        let suspending = || world.paying(&pays()).suspend_at_gates().build().unwrap();
        for conversation in ["a", "b", "c"] {
            assert!(suspending().run(at(conversation)).await.is_suspended());
        }
        assert!(
            world
                .paying(&answers())
                .build()
                .unwrap()
                .run(at("done"))
                .await
                .is_answered()
        );
    });
    // A process that dies while its turn waits.
    let one = process();
    let turn = one.block_on(async {
        let runner = world.paying(&pays()).build().unwrap();
        let turn = runner.start(at("d"));
        opened(&turn.gates()).await;
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        turn
    });
    drop((one, turn));
    process().block_on(async {
        let storage = world.storage();
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let mut filter = TurnFilter::all().limit(2);
            filter.after = after;
            let page = storage.waiting(&filter).await.unwrap();
            after = page.last().map(store::Waiting::cursor);
            let is_last = page.len() < 2;
            found.extend(page);
            if is_last {
                break;
            }
        }
        let shown = found
            .iter()
            .map(|turn| (&*turn.conversation, turn.state, turn.gates.len()));
        let suspended = WaitingState::Suspended;
        assert_eq!(
            shown.collect::<Vec<_>>(),
            [
                ("a", suspended, 1),
                ("b", suspended, 1),
                ("c", suspended, 1),
                ("d", WaitingState::Interrupted, 1),
            ]
        );
        let one = storage
            .waiting(&TurnFilter::all().prefix("b"))
            .await
            .unwrap()
            .remove(0);
        assert_eq!(one.state, WaitingState::Suspended);
        let row = serde_json::to_value(&one).unwrap();
        assert_eq!(
            (&row["conversation"], &row["state"]),
            (&json!("b"), &json!("suspended"))
        );
        assert_eq!(row["turnId"], json!(one.turn_id));
        assert_eq!(row["gates"][0]["id"], json!(one.gates[0].id));
        assert_eq!(row["gates"][0]["question"]["tool"], "pay");
        assert!(row["beganAt"].is_string() && row["gates"][0]["openedAt"].is_string());

        // A row is all that is needed to resume.
        let interrupted = storage
            .waiting(&TurnFilter::all().prefix("d"))
            .await
            .unwrap()
            .remove(0);
        assert_eq!(interrupted.state, WaitingState::Interrupted);
        let runner = world.paying(&answers()).suspend_at_gates().build().unwrap();
        let outcome = runner.resume(&interrupted).await.unwrap().await;
        assert_eq!(gates_of(&outcome)[0].id, interrupted.gates[0].id);
    });
}

#[test]
fn running_turns_are_resumable() {
    let world = World::default();
    process().block_on(async {
        let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (arrives, goes) = (reached.clone(), go.clone());
        let runner = runner(move |ctx: DispatchContext| {
            let (reached, go) = (arrives.clone(), goes.clone());
            async move {
                reached.notify_one();
                go.notified().await;
                ctx.answer("done").await?;
                Ok(())
            }
        });
        let runner = runner.storage(world.storage()).build().unwrap();
        let turn = runner.start(go_input());
        reached.notified().await;
        assert!(
            world
                .storage()
                .waiting(&TurnFilter::all())
                .await
                .unwrap()
                .is_empty()
        );
        let running = world.storage().resumable(&TurnFilter::all()).await.unwrap();
        assert_eq!(
            (&*running[0].turn_id, running[0].state),
            (TURN, WaitingState::Running)
        );
        go.notify_one();
        assert!(turn.await.is_answered());
        assert!(
            world
                .storage()
                .resumable(&TurnFilter::all())
                .await
                .unwrap()
                .is_empty()
        );
    });
}

#[test]
fn a_turn_under_a_call_goes_on_with_its_outer_turn_and_is_not_resumable() {
    let world = World::default();
    let reached = Arc::new(Notify::new());
    let arrives = Arc::clone(&reached);
    let inner = runner(move |_: DispatchContext| {
        let reached = Arc::clone(&arrives);
        async move {
            reached.notify_one();
            std::future::pending().await
        }
    });
    let inner = inner.storage(world.storage()).build().unwrap();
    let delegate = tool("delegate").handler(move |_: Value, ctx: ToolContext| {
        let inner = inner.clone();
        async move {
            let task = TurnInput::new("go").conversation("inner").under_call(&ctx);
            Ok::<_, ToolError>(inner.run(task).await.into_answer()?)
        }
    });
    let outer = runner(ScriptedModel::new([Step::call_tool("delegate", "{}")]));
    let outer = outer.tool(delegate.build()).storage(world.storage());
    let outer = outer.build().unwrap();
    let dies = process();
    dies.block_on(async {
        drop(outer.start(go_input()));
        reached.notified().await;
    });
    drop((dies, outer));
    process().block_on(async {
        let all = TurnFilter::all();
        let waiting = world.storage().waiting(&all).await.unwrap();
        let listed = world.storage().resumable(&all).await.unwrap();
        let listed: Vec<&str> = listed.iter().map(|turn| &*turn.turn_id).collect();
        assert_eq!((waiting.len(), listed), (2, vec![TURN]));
    });
}

#[test]
fn each_answer_that_was_recorded_last_is_found_by_the_next_process() {
    let world = World::default();
    let twice = ScriptedModel::new([
        Step::call_tool("pay", r#"{"amount": 7}"#).call("pay", r#"{"amount": 8}"#)
    ]);
    let first = world.paying(&twice).suspend_at_gates().build().unwrap();
    let gates = gates_of(&process().block_on(first.run(go_input())));
    let listed = || async {
        let storage = world.storage();
        let all = storage.waiting(&TurnFilter::all()).await.unwrap().remove(0);
        let resumable = storage.resumable(&TurnFilter::all()).await.unwrap();
        (all.state, resumable.first().map(|turn| turn.state))
    };
    let record = async |gate: &str| {
        let answered = (world
            .storage()
            .answer_gate(TALK, gate, GateAnswer::approve()))
        .await;
        answered.unwrap();
    };
    let waits = (WaitingState::Suspended, None);
    let answered = WaitingState::AnsweredNotResumed;
    let answered = (answered, Some(answered));
    process().block_on(async {
        assert_eq!(listed().await, waits);
        // The last write of the process: it dies before it resumes the turn.
        record(&gates[0].id).await;
        assert_eq!(listed().await, answered, "one of two calls can go on");
    });
    process().block_on(async {
        let second = world.paying(&answers()).suspend_at_gates().build().unwrap();
        let again = gates_of(&second.resume(TURN).await.unwrap().await);
        assert_eq!((again.len(), &again[0].id), (1, &gates[1].id));
        assert_eq!(world.runs.all().len(), 1);
        assert_eq!(listed().await, waits, "its answer was used");
        // This process dies at the same point.
        record(&gates[1].id).await;
        assert_eq!(listed().await, answered);
    });
    process().block_on(async {
        let second = world.paying(&answers()).suspend_at_gates().build().unwrap();
        let error = second.run(TurnInput::new("more").conversation(TALK)).await;
        let message = error.into_answer().unwrap_err().message().to_owned();
        assert!(
            message.contains("it was not resumed: continue it with `runner.resume`"),
            "{message}"
        );
        for turn in world.storage().resumable(&TurnFilter::all()).await.unwrap() {
            assert!(matches!(
                turn.state,
                WaitingState::Suspended | WaitingState::AnsweredNotResumed
            ));
            assert!(second.resume(&turn).await.unwrap().await.is_answered());
        }
        assert_eq!(world.runs.all().len(), 2);
        assert!(
            world
                .storage()
                .waiting(&TurnFilter::all())
                .await
                .unwrap()
                .is_empty()
        );
    });
}

#[test]
fn a_turn_that_was_suspended_between_iterations_is_resumable_but_not_answered() {
    let world = World::default();
    process().block_on(async {
        let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (arrives, goes) = (reached.clone(), go.clone());
        let look = tool("look").handler(move |_: Value, _: ToolContext| {
            let (reached, go) = (arrives.clone(), goes.clone());
            async move {
                reached.notify_one();
                go.notified().await;
                "seen"
            }
        });
        let runner = world
            .runner(&calls("look"))
            .tool(look.build())
            .build()
            .unwrap();
        let turn = runner.start(go_input());
        reached.notified().await;
        turn.suspend().unwrap();
        go.notify_one();
        assert!(gates_of(&turn.await).is_empty());
        let resumable = world.storage().resumable(&TurnFilter::all()).await.unwrap();
        assert_eq!(resumable[0].state, WaitingState::Suspended);
    });
}

#[test]
fn a_call_that_a_suspension_kept_from_starting_is_resumable_while_a_gate_is_open() {
    let world = World::default();
    process().block_on(async {
        let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (arrives, goes) = (reached.clone(), go.clone());
        let look = tool("look").handler(move |_: Value, _: ToolContext| {
            let (reached, go) = (arrives.clone(), goes.clone());
            async move {
                reached.notify_one();
                go.notified().await;
                "seen"
            }
        });
        let model = ScriptedModel::new([Step::call_tool("pay", r#"{"amount": 7}"#)
            .call("pay", r#"{"amount": 8}"#)
            .call("look", "{}")]);
        let runner = world.paying(&model).tool(look.build()).build().unwrap();
        let turn = runner.start(go_input());
        let mut gates = turn.gates();
        reached.notified().await;
        let (one, two) = (gates.next().await.unwrap(), gates.next().await.unwrap());
        turn.suspend().unwrap();
        assert!(gates.approve(&one.id).unwrap());
        go.notify_one();
        let waits = gates_of(&turn.await);
        assert_eq!((waits.len(), &waits[0].id), (1, &two.id));
        assert!(
            world.runs.all().is_empty(),
            "the approved call was not started"
        );

        let resumable = async || world.storage().resumable(&TurnFilter::all()).await.unwrap();
        let found = resumable().await.remove(0);
        assert_eq!(
            (found.state, found.gates.len()),
            (WaitingState::Suspended, 1)
        );
        let second = world.paying(&answers()).suspend_at_gates().build().unwrap();
        let again = gates_of(&second.resume(&found).await.unwrap().await);
        assert_eq!((again.len(), &again[0].id), (1, &two.id));
        assert_eq!(world.runs.all().len(), 1);
        assert!(resumable().await.is_empty());
    });
}

/// Calls `apply` of the store, and then waits for a permit before it returns.
#[derive(Clone)]
struct SlowApply {
    store: Arc<MemoryStore>,
    applied: Arc<Notify>,
    permit: Arc<Notify>,
}

#[async_trait]
impl Store for SlowApply {
    async fn apply(
        &self,
        conversation: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        let applied = self.store.apply(conversation, batch).await;
        self.applied.notify_one();
        self.permit.notified().await;
        applied
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

#[test]
fn a_dropped_answer_still_continues_the_turn() {
    let world = World::default();
    let id = suspend(&world.paying(&pays()).suspend_at_gates().build().unwrap());
    process().block_on(async {
        let slow = SlowApply {
            store: Arc::clone(&world.store),
            applied: Arc::default(),
            permit: Arc::default(),
        };
        let second = world.paying(&answers()).storage(storage_of(slow.clone()));
        let second = second.build().unwrap();
        let answered = second.answer_gate(TALK, &id, GateAnswer::approve());
        tokio::select! {
            _ = answered => panic!("the store has not returned"),
            () = slow.applied.notified() => {}
        }
        // The answer is recorded, and its caller is gone. Every write may complete now.
        let all = async {
            loop {
                slow.permit.notify_one();
                tokio::task::yield_now().await;
            }
        };
        let ends = async {
            while !world
                .storage()
                .waiting(&TurnFilter::all())
                .await
                .unwrap()
                .is_empty()
                || world.state().await.0 != "answered"
            {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            () = all => {}
            () = ends => {}
        }
        assert_eq!(world.runs.all().len(), 1);
    });
}
