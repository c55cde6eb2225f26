//! Waiting for the gates of a turn ends with the turn.

use super::*;

fn process() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

/// Waits for the next gate, and fails if that takes forever.
async fn next_of(mut gates: Gates) -> Option<gate::OpenGate> {
    let waited = tokio::time::timeout(Duration::from_secs(60), gates.next());
    waited
        .await
        .expect("`Gates::next` waits for a turn that has ended")
}

#[tokio::test]
async fn waiting_for_gates_ends_for_turns_that_could_not_start() {
    let runner = runner(ScriptedModel::new([Step::say("done")]))
        .tool(returning("same", ""))
        .build()
        .unwrap();
    let refused = [
        TurnInput::new("go").turn_id(""),
        TurnInput::new("go").tool(returning("same", "")),
        TurnInput::new("go").stash("a..b", 1),
        TurnInput::new(""),
    ];
    for input in refused {
        let turn = runner.start(input);
        let gates = turn.gates();
        assert!(next_of(gates.clone()).await.is_none());
        assert!(!turn.await.is_answered());
        assert!(next_of(gates).await.is_none());
    }
}

#[test]
fn waiting_for_gates_ends_for_a_turn_that_was_started_outside_of_a_runtime() {
    let runner = runner(ScriptedModel::new([])).build().unwrap();
    let gates = runner.start("go").gates();
    assert!(process().block_on(next_of(gates)).is_none());
}

#[tokio::test]
async fn waiting_for_gates_ends_however_the_turn_ends() {
    let reached = Arc::new(tokio::sync::Notify::new());
    let runner = |step: Step| {
        runner(ScriptedModel::new([step]))
            .tool(endless("wait", &reached).build())
            .build()
            .unwrap()
    };
    let waits = || Step::call_tool("wait", "{}");
    // Answered, failed and panicked.
    for step in [
        Step::say("done"),
        Step::run(|_| async { Err("no".into()) }),
        Step::run(|_| async { panic!("on purpose") }),
    ] {
        let turn = runner(step).start("go");
        let waiting = tokio::spawn(next_of(turn.gates()));
        drop(turn.await);
        assert!(waiting.await.unwrap().is_none());
    }
    // Cancelled and dropped during the wait.
    for dropped in [false, true] {
        let turn = runner(waits()).start("go");
        let waiting = tokio::spawn(next_of(turn.gates()));
        reached.notified().await;
        if dropped {
            drop(turn.cancel_on_drop());
        } else {
            turn.cancel().unwrap();
        }
        assert!(waiting.await.unwrap().is_none());
    }
}

#[test]
fn waiting_for_gates_and_events_ends_when_the_runtime_of_the_turn_is_shut_down() {
    for runs in [false, true] {
        let reached = Arc::new(tokio::sync::Notify::new());
        let held = Arc::new(Mutex::new(None));
        let keeping = Arc::clone(&held);
        let runner = runner(ScriptedModel::new([Step::call_tool("wait", "{}")]))
            .tool(endless("wait", &reached).build())
            // The context is kept alive: the end of the turn must not depend on it.
            .turn_input(move |ctx: TurnContext, next: Next<TurnContext>| {
                *keeping.lock() = Some(ctx);
                next.run()
            })
            .build()
            .unwrap();
        let (first, second) = (process(), process());
        let (gates, mut stream, turn) = first.block_on(async {
            let turn = runner.start("go");
            if runs {
                reached.notified().await;
            }
            let gates = turn.gates();
            let (turn, stream) = turn.split();
            (gates, stream, turn)
        });
        drop(first);
        second.block_on(async {
            assert!(next_of(gates).await.is_none());
            let reading = async { while stream.next().await.is_some() {} };
            let read = tokio::time::timeout(Duration::from_secs(60), reading).await;
            read.expect("the stream of a turn that is gone does not end");
        });
        drop((turn, held));
    }
}
