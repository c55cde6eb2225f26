//! Waiting turns of all conversations.

use super::*;

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
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = world.store.waiting(after, 2).await.unwrap();
            after = page.last().map(store::FoundTurn::cursor);
            let is_last = page.len() < 2;
            found.extend(page);
            if is_last {
                break;
            }
        }
        let shown: Vec<_> = found
            .iter()
            .map(|turn| {
                let state = turn.turn.as_ref().unwrap().state;
                (turn.conversation.as_str(), state, turn.open_gates.len())
            })
            .collect();
        let suspended = TurnState::Suspended;
        assert_eq!(
            shown,
            [
                ("a", suspended, 1),
                ("b", suspended, 1),
                ("c", suspended, 1),
                ("d", TurnState::Running, 1),
            ]
        );
    });
}
