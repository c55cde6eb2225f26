//! Suspending a working turn.

use super::*;
use turnwright_core::tool::approval::ApprovalRequest;
use turnwright_core::tool::approval::GateAnswer;

#[test]
fn running_work_finishes_and_nothing_new_is_started() {
    let world = World::default();
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let slow = || {
        let (runs, reached, go) = (world.runs.clone(), Arc::clone(&reached), Arc::clone(&go));
        tool("slow").handler(move |_: Value, ctx: ToolContext| {
            let (runs, reached, go) = (runs.clone(), Arc::clone(&reached), Arc::clone(&go));
            async move {
                runs.note(ctx.idempotency_key());
                reached.notify_one();
                go.notified().await;
                "slow is done"
            }
        })
    };
    process().block_on(async {
        let model = ScriptedModel::new([Step::call_tool("slow", "{}")
            .call("pay", r#"{"amount": 1}"#)
            .call("pay", r#"{"amount": 2}"#)]);
        let runner = world.paying(&model).tool(slow().build()).build().unwrap();
        let turn = runner.start(go_input());
        let mut gates = turn.gates();
        let (one, _two) = (gates.next().await.unwrap(), gates.next().await.unwrap());
        reached.notified().await;
        turn.suspend().unwrap();
        // Approved, but the turn is being suspended, so it does not start any more.
        assert!(gates.approve(&one.id).unwrap());
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        assert_eq!(turn.activity(), TurnActivity::Working);
        go.notify_one();
        let outcome = turn.await;
        assert_eq!(gates_of(&outcome).len(), 1);
        assert_eq!(world.runs.all().len(), 1);
        assert_eq!(world.ledger().await, [("slow".to_owned(), "done")]);
    });
    process().block_on(async {
        let second = world
            .paying(&answers())
            .tool(slow().build())
            .build()
            .unwrap();
        let turn = second.resume(TURN).await.unwrap();
        let mut gates = turn.gates();
        let open = gates.next().await.unwrap();
        assert!(gates.deny(&open.id, "once is enough").unwrap());
        let outcome = turn.await;
        assert!(outcome.is_answered(), "{}", outcome.status);
        let mut texts = texts(&outcome).await;
        texts.sort();
        assert!(
            texts[2].contains("slow is done") && texts[1].starts_with("paid"),
            "{texts:?}"
        );
        assert_eq!(world.runs.all().len(), 2);
    });
}

#[test]
fn a_turn_that_does_not_wait_is_suspended_before_its_next_iteration() {
    let world = World::default();
    let model = ScriptedModel::new([Step::call_tool("stop", "{}"), Step::say("All is well.")]);
    process().block_on(async {
        let handle = Arc::new(Mutex::new(None::<Turn>));
        let suspending = Arc::clone(&handle);
        let stop = tool("stop").handler(move |_: Value, _: ToolContext| {
            let suspending = Arc::clone(&suspending);
            async move {
                suspending.lock().as_ref().unwrap().suspend().unwrap();
                "stopped"
            }
        });
        let runner = world.runner(&model).tool(stop.build()).build().unwrap();
        let (started, stream) = runner.start(go_input()).split();
        drop(stream);
        *handle.lock() = Some(started);
        while !matches!(
            handle.lock().as_ref().unwrap().activity(),
            TurnActivity::Ended
        ) {
            tokio::task::yield_now().await;
        }
        let started = handle.lock().take().unwrap();
        let outcome = started.outcome().await;
        assert!(gates_of(&outcome).is_empty());
        assert_eq!(texts(&outcome).await, ["stopped"]);
        assert_eq!(model.request_count(), 1);
        // It does not wait for anything, and still a new message does not overtake it.
        let more = runner.run(TurnInput::new("more").conversation(TALK)).await;
        assert_eq!(code_of(&more), "E_TURN_WAITING");
        assert!(runner.resume(TURN).await.unwrap().await.is_answered());
        assert_eq!(model.request_count(), 2);
    });
}

#[test]
fn a_turn_waits_for_its_approver_unless_suspension_is_requested() {
    let world = World::default();
    let asked = Arc::new(Notify::new());
    let asking = Arc::clone(&asked);
    process().block_on(async {
        let runner = world.paying(&pays()).suspend_at_gates();
        let runner = runner.approver(move |_: ApprovalRequest| {
            let asking = Arc::clone(&asking);
            async move {
                asking.notify_one();
                std::future::pending::<GateAnswer>().await
            }
        });
        let turn = runner.build().unwrap().start(go_input());
        asked.notified().await;
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        assert!(matches!(turn.activity(), TurnActivity::Waiting { .. }));
        turn.suspend().unwrap();
        assert_eq!(gates_of(&turn.await).len(), 1);
    });
}
