//! Whose turn it is, and who calls it off.

use super::*;

#[tokio::test]
async fn a_turn_that_was_called_off_before_it_began_does_nothing() {
    let token = Cancellation::new();
    token.cancel();
    let (notes, model) = (Notes::default(), ScriptedModel::new([Step::say("x")]));
    let runner = TurnRunner::builder(model.clone())
        .turn_input(notes.layer("turn-input"))
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::new("go").cancellation(token)).await;
    assert!(matches!(outcome.ended, TurnStatus::Aborted { .. }));
    assert_eq!((notes.all().len(), model.times_asked()), (0, 0));
}

#[tokio::test]
async fn a_token_calls_off_every_turn_that_has_it_and_no_turn_calls_off_the_token() {
    let token = Cancellation::new();
    let runner = TurnRunner::builder(|ctx: DispatchContext| async move {
        match ctx.messages()[0].text() {
            "abort" => ctx.abort("me alone"),
            _ => std::future::pending().await,
        }
        Ok(())
    })
    .build()
    .unwrap();
    let input = |text: &str| TurnInput::new(text).cancellation(token.clone());
    let (a, b) = (runner.start(input("a")), runner.start(input("b")));
    runner.run(input("abort")).await;
    assert!(!token.is_cancelled());
    token.cancel();
    for turn in [a, b] {
        assert!(matches!(turn.await.ended, TurnStatus::Aborted { .. }));
    }
}

#[tokio::test]
async fn a_turn_runs_in_a_task_of_its_own() {
    let reached = Arc::new(Notify::new());
    let inside = Arc::clone(&reached);
    let runner = TurnRunner::builder(move |ctx: DispatchContext| {
        let inside = Arc::clone(&inside);
        async move {
            ctx.answer(format!("{:?}", tokio::task::try_id())).await?;
            inside.notify_one();
            Ok(())
        }
    })
    .build()
    .unwrap();
    // Nobody polls it, and yet it goes on.
    let turn = runner.start("go");
    reached.notified().await;
    assert_ne!(turn.await.text, format!("{:?}", tokio::task::try_id()));
}
