//! Leases of processes whose clocks differ.

use super::*;

#[tokio::test(start_paused = true)]
async fn a_lease_written_with_a_wrong_clock_does_not_block_others() {
    let world = World::default();
    let model = ScriptedModel::new([Step::fail("out of reach"), Step::say("All is well.")]);
    let runner = world.runner(&model).build().unwrap();
    runner.run(go_input()).await;
    let conversation_id = ConversationId::new(TALK);
    world
        .store
        .put(&conversation_id, lease(TURN, 9, FAR))
        .await
        .unwrap();
    let held = world.store.lease(&conversation_id).await.unwrap().unwrap();
    assert_eq!(held.estimated_remaining(), Some(TERM));
    let outcome = runner.resume(TURN).await.unwrap().await;
    assert_eq!(outcome.text, "All is well.");
    let error = turnwright_core::runner(answers()).lease(Duration::from_secs(3_601));
    let error = error.build().unwrap_err();
    assert!(error.message().contains("1 hour"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_live_holder_is_recognised_whatever_its_clock() {
    for skew in SKEWS {
        let world = World::default();
        let model = ScriptedModel::new([Step::fail("out of reach")]);
        let runner = world.runner(&model).build().unwrap();
        runner.run(go_input()).await;
        let conversation_id = ConversationId::new(TALK);
        let (store, of) = (Arc::clone(&world.store), conversation_id.clone());
        let owner = record::new_id();
        let first = lease_of(&owner, TURN, 9, &wall(skew + 3_600_000), 0);
        store.put(&of, first).await.unwrap();
        let alive = tokio::spawn(async move {
            for renewals in 1.. {
                tokio::time::sleep(TERM / 3).await;
                // Its clock is set back and forth, too.
                let step = SKEWS[renewals as usize % SKEWS.len()];
                let until = wall(skew + step + 3_600_000);
                let renewed = lease_of(&owner, TURN, 9, &until, renewals);
                store.put(&of, renewed).await.unwrap();
            }
        });
        let outcome = runner.resume(TURN).await.unwrap().await;
        assert_eq!(code_of(&outcome), "E_TURN_HELD", "{skew}");
        let held = world.store.lease(&conversation_id).await.unwrap().unwrap();
        assert_eq!(held.fencing_token, 9, "{skew}");
        alive.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn the_lease_of_a_dead_process_is_taken_over_after_its_duration_whatever_its_clock() {
    for skew in SKEWS {
        let world = World::default();
        let model = ScriptedModel::new([Step::fail("out of reach"), Step::say("All is well.")]);
        let runner = world.runner(&model).build().unwrap();
        runner.run(go_input()).await;
        let conversation_id = ConversationId::new(TALK);
        let left = lease(TURN, 9, &wall(skew + 3_600_000));
        world.store.put(&conversation_id, left).await.unwrap();
        let begun = tokio::time::Instant::now();
        let outcome = runner.resume(TURN).await.unwrap().await;
        assert_eq!(outcome.text, "All is well.", "{skew}");
        // On the clock of the test, which only these waits advance.
        let waited = begun.elapsed();
        assert!(waited >= TERM && waited < TERM * 2, "{skew}: {waited:?}");
    }
}

/// The counter shows that the holder is alive, even if its clock does not advance.
#[tokio::test(start_paused = true)]
async fn a_renewal_with_an_unchanged_time_is_noticed() {
    let world = World::default();
    let runner = world
        .runner(&ScriptedModel::new([Step::fail("a")]))
        .build()
        .unwrap();
    runner.run(go_input()).await;
    let (store, conversation_id) = (Arc::clone(&world.store), ConversationId::new(TALK));
    let (owner, until) = (record::new_id(), soon());
    let first = lease_of(&owner, TURN, 9, &until, 0);
    store.put(&conversation_id, first).await.unwrap();
    let alive = tokio::spawn(async move {
        for renewals in 1.. {
            tokio::time::sleep(TERM / 3).await;
            let renewed = lease_of(&owner, TURN, 9, &until, renewals);
            store
                .put(&ConversationId::new(TALK), renewed)
                .await
                .unwrap();
        }
    });
    let outcome = runner.resume(TURN).await.unwrap().await;
    assert_eq!(code_of(&outcome), "E_TURN_HELD");
    alive.abort();
}

/// A process that cannot wait for a complete lease duration succeeds after several attempts.
#[tokio::test(start_paused = true)]
async fn observations_of_a_lease_count_for_the_next_attempt() {
    let world = World::default();
    let model = ScriptedModel::new([Step::fail("out of reach"), Step::say("All is well.")]);
    let runner = world.runner(&model).build().unwrap();
    runner.run(go_input()).await;
    let left = lease(TURN, 9, &soon());
    world
        .store
        .put(&ConversationId::new(TALK), left)
        .await
        .unwrap();
    let mut attempts = 0;
    let outcome = loop {
        attempts += 1;
        let patience = TurnInput::resume(TURN).budget(Budget::new().time(TERM / 4));
        let outcome = runner.resume(patience).await.unwrap().await;
        if outcome.is_answered() || attempts == 10 {
            break outcome;
        }
    };
    assert_eq!(outcome.text, "All is well.", "{}", outcome.status);
    assert!((4..=5).contains(&attempts), "{attempts}");
}
