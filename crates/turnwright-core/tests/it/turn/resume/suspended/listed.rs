//! Turns that wait, over all conversations.

use super::*;
use turnwright_core::store::WaitingState;

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
            let query = storage.waiting().limit(2);
            let page = match after {
                Some(cursor) => query.after(cursor).await.unwrap(),
                None => query.await.unwrap(),
            };
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
        let one = storage.waiting().prefix("b").await.unwrap().remove(0);
        assert!(one.is_suspended() && !one.is_interrupted());
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
        let interrupted = storage.waiting().prefix("d").await.unwrap().remove(0);
        assert!(interrupted.is_interrupted());
        let runner = world.paying(&answers()).suspend_at_gates().build().unwrap();
        let outcome = runner.resume(&interrupted).await.unwrap().await;
        assert_eq!(gates_of(&outcome)[0].id, interrupted.gates[0].id);
    });
}

#[test]
fn running_turns_are_listed_on_request() {
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
        assert!(world.storage().waiting().await.unwrap().is_empty());
        let running = world.storage().waiting().running().await.unwrap();
        assert_eq!(
            (&*running[0].turn_id, running[0].state),
            (TURN, WaitingState::Running)
        );
        go.notify_one();
        assert!(turn.await.is_answered());
        assert!(
            world
                .storage()
                .waiting()
                .running()
                .await
                .unwrap()
                .is_empty()
        );
    });
}
