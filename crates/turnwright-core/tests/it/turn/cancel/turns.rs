//! Which turns a cancellation reaches.

use super::*;
use turnwright_core::Message;

#[tokio::test]
async fn a_turn_cancelled_before_it_starts_does_nothing() {
    let token = Cancellation::new();
    token.cancel();
    let (notes, model) = (Notes::default(), ScriptedModel::new([Step::say("x")]));
    let runner = runner(model.clone())
        .turn_input(notes.layer("turn-input"))
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::new("go").cancellation(token)).await;
    assert!(matches!(outcome.status, TurnStatus::Aborted { .. }));
    assert_eq!((notes.all().len(), model.request_count()), (0, 0));
}

#[tokio::test]
async fn a_token_cancels_all_its_turns_and_a_turn_does_not_cancel_the_token() {
    let token = Cancellation::new();
    let runner = runner(|ctx: DispatchContext| async move {
        match ctx.records().all::<Message>()[0].text() {
            "abort" => ctx.turn().abort("me alone"),
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
        assert!(matches!(turn.await.status, TurnStatus::Aborted { .. }));
    }
}

#[tokio::test]
async fn a_turn_runs_in_its_own_task() {
    let reached = Arc::new(Notify::new());
    let inside = Arc::clone(&reached);
    let runner = runner(move |ctx: DispatchContext| {
        let inside = Arc::clone(&inside);
        async move {
            ctx.answer(format!("{:?}", tokio::task::try_id())).await?;
            inside.notify_one();
            Ok(())
        }
    })
    .build()
    .unwrap();
    // It continues although it is not polled.
    let turn = runner.start("go");
    reached.notified().await;
    assert_ne!(turn.await.text, format!("{:?}", tokio::task::try_id()));
}

/// An executor that waits until it is released, and then answers.
fn waiting(reached: &Arc<Notify>, go: &Arc<Notify>) -> TurnRunner {
    let (reached, go) = (Arc::clone(reached), Arc::clone(go));
    runner(move |ctx: DispatchContext| {
        let (reached, go) = (Arc::clone(&reached), Arc::clone(&go));
        async move {
            reached.notify_one();
            go.notified().await;
            ctx.answer("done").await?;
            Ok(())
        }
    })
    .build()
    .unwrap()
}

#[tokio::test]
async fn dropping_a_turn_its_handle_or_its_stream_does_not_cancel_it() {
    type Leave = fn(Turn);
    let ways: [Leave; 4] = [
        |turn| drop(turn),
        |turn| {
            let (handle, stream) = turn.split();
            drop(stream);
            drop(handle);
        },
        |turn| drop(turn.outcome()),
        |turn| drop(futures_util::StreamExt::map(turn, |event| event)),
    ];
    for leave in ways {
        let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let runner = waiting(&reached, &go);
        let observed = Observed::default();
        let ended = Arc::new(Notify::new());
        let (observer, tell) = (observed.observer(), Arc::clone(&ended));
        runner.observe(move |event| {
            observer(event);
            if event.name() == "turnEnd" {
                tell.notify_one();
            }
        });
        let turn = runner.start("go");
        reached.notified().await;
        leave(turn);
        go.notify_one();
        ended.notified().await;
        assert_eq!(observed.of("turnEnd")[0]["status"], "answered");
    }
}

#[tokio::test]
async fn cancel_on_drop_cancels_the_turn_when_dropped() {
    type Leave = fn(Turn);
    let ways: [Leave; 3] = [
        |turn| drop(turn.cancel_on_drop()),
        |turn| drop(turn.split().0.cancel_on_drop()),
        |turn| drop(turn.cancel_on_drop().outcome()),
    ];
    for leave in ways {
        let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let runner = waiting(&reached, &go);
        let turn = runner.start("go");
        let mut gates = turn.gates();
        reached.notified().await;
        leave(turn);
        // It ends although the executor is not released.
        assert!(gates.next().await.is_none());
    }
}

/// What an HTTP handler needs of a stream.
#[test]
fn a_turn_is_a_send_static_stream() {
    fn owns<S: futures_util::Stream + Send + Unpin + 'static>() {}
    owns::<Turn>();
    owns::<runner::TurnStream>();
}
