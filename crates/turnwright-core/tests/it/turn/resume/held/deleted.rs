//! Conversations that are deleted while a process holds their lease.

use super::*;

#[tokio::test]
async fn a_conversation_deleted_during_a_turn_stays_deleted_and_can_restart() {
    let (world, reached) = (World::default(), Arc::new(Notify::new()));
    let go = Arc::new(Notify::new());
    let slow = slow(&reached, &go);
    let model = ScriptedModel::new([Step::call_tool("slow", "{}"), Step::say("Hello.")]);
    let runner = world.runner(&model).tool(slow.build()).build().unwrap();
    let turn = runner.start(go_input());
    reached.notified().await;
    let conversation_id = ConversationId::new(TALK);
    world
        .store
        .delete_conversation(&conversation_id)
        .await
        .unwrap();
    go.notify_one();
    assert_eq!(code_of(&turn.await), "E_TURN_TAKEN_OVER");
    assert_eq!(world.conversation_id().await.len(), 0);
    // The lease is gone, but the fencing token is not.
    let outcome = runner.run(TurnInput::new("hello").conversation(TALK)).await;
    assert_eq!(outcome.text, "Hello.");
    let lease = world.store.lease(&conversation_id).await.unwrap().unwrap();
    assert_eq!(lease.fencing_token, 3);
}

/// Another turn starts in the conversation with its own fencing token, although no lease is left to count from.
#[tokio::test]
async fn a_deleted_lease_does_not_reuse_its_fencing_token() {
    let world = World::default();
    let (store, notes) = (Arc::clone(&world.store), world.runs.clone());
    let act = tool("act").handler(move |_: Value, ctx: ToolContext| {
        let (store, notes) = (Arc::clone(&store), notes.clone());
        async move {
            let conversation_id = ctx.conversation_id();
            store
                .delete(conversation_id, RecordKind::Lease, "lease")
                .await?;
            let other = runner(ScriptedModel::new([Step::say("Hello.")]));
            let other = other.storage(storage_of(Arc::clone(&store))).build()?;
            let input = TurnInput::new("Hello?").conversation(conversation_id.as_str());
            assert!(other.run(input).await.is_answered());
            notes.note(ctx.turn().ensure_lease().await.unwrap_err().code().as_str());
            Ok::<_, ToolError>("never")
        }
    });
    let runner = world.runner(&calls("act")).tool(act.build());
    let outcome = runner.build().unwrap().run(go_input()).await;
    assert_eq!(code_of(&outcome), "E_TURN_TAKEN_OVER");
    assert_eq!(world.runs.all(), ["E_TURN_TAKEN_OVER"]);
}

/// Third parties remember a key for longer than the conversation exists.
#[tokio::test]
async fn idempotency_keys_of_a_deleted_conversation_are_not_reused() {
    let world = World::default();
    for _ in 0..2 {
        let model = ScriptedModel::new([Step::call_tool("pay", "{}"), Step::say("Paid.")]);
        let pay = world.acting("pay").build();
        let runner = world.runner(&model).tool(pay).build().unwrap();
        assert_eq!(runner.run(go_input()).await.text, "Paid.");
        world
            .store
            .delete_conversation(&ConversationId::new(TALK))
            .await
            .unwrap();
    }
    let keys = world.runs.all();
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1]);
}
