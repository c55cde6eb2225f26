//! A process that dies while an answer is decided on.

use super::every_write::{Deadly, Dies, live_until};
use super::*;
use turnwright_core::Message;

/// A model that knows only the records: each answer is better than the last.
async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
    let messages = ctx.records().all::<Message>();
    let rejected = messages
        .iter()
        .filter(|message| message.text().starts_with("Your answer was rejected"));
    ctx.answer(format!("answer {}", rejected.count())).await?;
    Ok(())
}

/// Rejects the first two answers.
async fn judge(ctx: DispatchContext, next: Next<DispatchContext>) -> Result<(), BoxError> {
    match ctx.proposed_answer() {
        Some(answer) if !answer.text().contains("answer 2") => {
            answer.reject("One better.")?;
            Ok(())
        }
        _ => next.run().await,
    }
}

fn deciding(world: &World, store: Deadly) -> TurnRunner {
    let notes = world.runs.clone();
    let counted = move |ctx: DispatchContext| {
        notes.note("asked");
        model(ctx)
    };
    runner(counted)
        .auto_ack(false)
        .dispatch_output(judge)
        .storage(storage_of(store))
        .build()
        .unwrap()
}

#[test]
fn a_rejected_answer_is_never_the_answer_of_a_resumed_turn() {
    let mut places = 0;
    for dies in [Dies::Before, Dies::After, Dies::Fails] {
        for at in 0.. {
            let world = World::default();
            let died = live_until(&world, at, dies, deciding);
            let what = format!("{dies:?} at {at}");
            assert!(!live_until(&world, usize::MAX, dies, deciding), "{what}");
            process().block_on(async {
                let turns = world.store.turns(&ConversationId::new(TALK)).await.unwrap();
                let messages = world.store.messages(&ConversationId::new(TALK)).await;
                let messages = messages.unwrap();
                let answer = messages
                    .iter()
                    .find(|message| Some(message.id()) == turns[0].answer.as_deref());
                assert_eq!(answer.unwrap().text(), "answer 2", "{what}");
                assert_eq!(messages.last().unwrap().text(), "answer 2", "{what}");
                let answers = messages
                    .iter()
                    .filter(|message| message.text().starts_with("answer"));
                assert_eq!(answers.count(), 3, "{what}: each was stored once");
            });
            let asked = world.runs.all().len();
            assert!(asked <= 4, "{what}: the model was asked {asked} times");
            if !died {
                break;
            }
            places += 1;
        }
    }
    assert!(places > 15, "only {places} places");
}

#[test]
fn a_proposed_answer_is_decided_on_without_asking_the_model_again() {
    let world = World::default();
    let reached = Arc::new(Notify::new());
    let judge = {
        let reached = Arc::clone(&reached);
        move |_: DispatchContext, _: Next<DispatchContext>| {
            reached.notify_one();
            std::future::pending()
        }
    };
    let model = ScriptedModel::new([Step::say("perhaps")]);
    let first = world.runner(&model).auto_ack(false).dispatch_output(judge);
    world.die(&first.build().unwrap(), &reached);
    let process = process();
    process.block_on(async {
        let runner = world.runner(&ScriptedModel::new([])).auto_ack(false);
        let runner = runner.build().unwrap();
        let outcome = runner.resume(TURN).await.unwrap().await;
        assert!(outcome.is_answered());
        assert_eq!(outcome.text, "perhaps");
    });
}

#[test]
fn a_turn_whose_last_answer_was_rejected_continues_from_the_reason() {
    let world = World::default();
    let rejects = |ctx: DispatchContext, next: Next<DispatchContext>| async move {
        match ctx.proposed_answer() {
            Some(answer) => Ok(answer.reject("Not this.")?),
            None => next.run().await,
        }
    };
    let model = ScriptedModel::new([Step::say("perhaps"), Step::say("yes")]);
    process().block_on(async {
        let strict = world.runner(&model).auto_ack(false).answer_retries(0);
        let strict = strict.dispatch_output(rejects).build().unwrap();
        let failed = strict.run(go_input()).await;
        assert_eq!(code_of(&failed), "E_ANSWER_REJECTED");
        // Even a runner that accepts everything does not accept the rejected answer.
        let runner = world.runner(&model).build().unwrap();
        let outcome = runner.resume(TURN).await.unwrap().await;
        assert_eq!(outcome.text, "yes");
        let last = model.request(1);
        assert!(last.texts().last().unwrap().contains("Not this."));
    });
}
