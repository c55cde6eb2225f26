//! How long a gate waits, and how long an answer counts.

use std::time::Duration;

use turnwright_core::record::RecordKind;
use turnwright_core::store::TurnFilter;

use super::*;

const HOUR: Duration = Duration::from_secs(3600);

/// Moves the times of the only gate into the past.
async fn age(world: &World, by: Duration) {
    let talk = ConversationId::new(TALK);
    let gate = world.store.gates(&talk).await.unwrap().remove(0);
    let mut value = Record::from(gate).to_value().unwrap();
    for field in ["openedAt", "closedAt"] {
        if let Some(time) = value[field].as_str() {
            let time: jiff::Timestamp = time.parse().unwrap();
            value[field] = (time - by).to_string().into();
        }
    }
    let resolver = record::ByteResolver::new(Arc::new(spool::MemorySpool::default()));
    let old = Record::from_value(RecordKind::Gate, &value, &resolver).unwrap();
    world.store.put(&talk, old).await.unwrap();
}

async fn opened_at(world: &World) -> std::time::SystemTime {
    let gates = world.store.gates(&ConversationId::new(TALK)).await.unwrap();
    gates[0].opened_at
}

#[test]
fn without_a_timeout_a_suspended_turn_waits_for_years_and_its_answer_counts_for_years() {
    let world = World::default();
    let year = HOUR * 24 * 365;
    let runner = world.paying(&pays()).suspend_at_gates().build().unwrap();
    let id = suspend(&runner);
    process().block_on(async {
        age(&world, year).await;
        let recorded = world
            .storage()
            .answer_gate(TALK, &id, GateAnswer::approve())
            .await;
        recorded.unwrap();
        age(&world, year).await;
        let second = world.paying(&answers()).suspend_at_gates().build().unwrap();
        let outcome = second.resume(TURN).await.unwrap().await;
        assert!(outcome.is_answered(), "{}", outcome.status);
        assert_eq!(world.runs.all().len(), 1);
    });
}

#[test]
fn a_gate_past_its_explicit_timeout_takes_no_answer_and_a_stale_answer_does_not_count() {
    let world = World::default();
    let runner = world
        .paying(&pays())
        .suspend_at_gates()
        .approval_timeout(HOUR);
    let runner = runner.build().unwrap();
    let id = suspend(&runner);
    let resumable = async || {
        let listed = world.storage().resumable(&TurnFilter::all()).await;
        listed.unwrap().len()
    };
    process().block_on(async {
        assert_eq!(resumable().await, 0);
        age(&world, 2 * HOUR).await;
        assert_eq!(resumable().await, 1);
        let late = runner.answer_gate(TALK, &id, GateAnswer::approve()).await;
        assert_eq!(late.unwrap_err().code(), ErrorCode::TURN_GATE_TIMEOUT);
        // The resumed turn asks again, with all of the time.
        let before = opened_at(&world).await;
        assert!(runner.resume(TURN).await.unwrap().await.is_suspended());
        assert!(opened_at(&world).await > before + HOUR);
        assert_eq!(resumable().await, 0);
        let recorded = world
            .storage()
            .answer_gate(TALK, &id, GateAnswer::approve())
            .await;
        recorded.unwrap();
        age(&world, 2 * HOUR).await;
        let again = runner.resume(TURN).await.unwrap().await;
        assert_eq!(gates_of(&again)[0].id, id);
        assert!(world.runs.all().is_empty());
    });
}

#[test]
fn an_explicit_timeout_counts_from_the_opening_also_across_a_resume() {
    let world = World::default();
    let runner = world
        .paying(&pays())
        .suspend_at_gates()
        .approval_timeout(HOUR);
    let id = suspend(&runner.build().unwrap());
    let paused = Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    paused.unwrap().block_on(async {
        age(&world, HOUR / 2).await;
        let opened = opened_at(&world).await;
        let second = world.paying(&answers()).approval_timeout(HOUR);
        let turn = second.build().unwrap().resume(TURN).await.unwrap();
        let start = tokio::time::Instant::now();
        let gates = turn.gates();
        let open = super::opened(&gates).await;
        assert_eq!((&open[0].id, open[0].opened_at), (&id, opened));
        let outcome = turn.await;
        assert!(texts(&outcome).await[0].contains("no answer was received in time"));
        // On a clock that only moves while everything waits.
        let waited = start.elapsed();
        assert!(waited <= HOUR / 2, "{waited:?}");
        assert!(world.runs.all().is_empty());
    });
}

#[tokio::test(start_paused = true)]
async fn the_default_timeout_counts_while_a_process_waits() {
    let world = World::default();
    let model = ScriptedModel::new([
        Step::call_tool("pay", r#"{"amount": 7}"#),
        Step::say("All is well."),
    ]);
    let runner = world.paying(&model).build().unwrap();
    let turn = runner.start(go_input());
    let _gates = turn.gates();
    let start = tokio::time::Instant::now();
    let outcome = turn.await;
    assert!(texts(&outcome).await[0].contains("no answer was received in time"));
    assert_eq!(start.elapsed(), HOUR / 4);
}
