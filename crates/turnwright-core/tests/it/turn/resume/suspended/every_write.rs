//! A process that dies at any write of suspending, answering and resuming.

use super::super::every_write::{Deadly, Dies};
use super::*;
use turnwright_core::gate::GateAnswer;
use turnwright_core::gate::GateKind;
use turnwright_core::gate::TurnGate;

fn runner(world: &World, store: Deadly) -> TurnRunner {
    let runs = world.runs.clone();
    let pay =
        tool("pay")
            .approval(always("it costs"))
            .handler(move |_: Value, ctx: ToolContext| {
                let runs = runs.clone();
                async move {
                    runs.note(ctx.idempotency_key());
                    "paid"
                }
            });
    let go_on = |ctx: DispatchContext, next: Next<DispatchContext>| async move {
        ctx.turn()
            .wait_for(TurnGate::new("go_on").question("?").build()?)
            .await?;
        next.run().await
    };
    let model = |ctx: DispatchContext| async move {
        match ctx.records().own_tool_calls().len() {
            0 => {
                let calls = [ctx.propose("look", "{}"), ctx.propose("pay", "{}")];
                ctx.call_tools(calls).await;
            }
            _ => drop(ctx.answer("All is well.").await?),
        }
        Ok::<_, BoxError>(())
    };
    turnwright_core::runner(model)
        .storage(storage_of(store))
        .tool(world.acting("look").effects(Effects::ReadOnly).build())
        .tool(pay.build())
        .dispatch_input(go_on)
        .suspend_at_gates()
        .build()
        .unwrap()
}

/// One process: starts or resumes the turn, and answers if it was suspended. Returns whether it died.
fn live_until(world: &World, at: usize, dies: Dies) -> bool {
    let died = Arc::new(Notify::new());
    let store = Deadly::store(world, at, dies, &died);
    let runner = runner(world, store);
    process().block_on(async {
        let there = world
            .store
            .find_turns(&TurnFilter::all().turn_id(TURN))
            .await
            .unwrap();
        let work = async {
            let turn = if there.is_empty() {
                runner.start(go_input())
            } else {
                runner.resume(TURN).await.unwrap()
            };
            let TurnStatus::Suspended { gates, .. } = turn.await.status else {
                return;
            };
            for gate in gates {
                let answer = match gate.kind {
                    GateKind::Approval => GateAnswer::approve(),
                    _ => GateAnswer::value(true),
                };
                // A store that fails accepted no answer. The next process gives it.
                drop(runner.storage().answer_gate(TALK, &gate.id, answer).await);
            }
        };
        tokio::select! {
            () = work => false,
            () = died.notified() => true,
        }
    })
}

#[test]
fn a_process_may_die_at_any_write_of_suspending_and_answering() {
    let mut places = 0;
    for dies in [Dies::Before, Dies::After, Dies::Fails] {
        // Which process dies: the first, the second, …
        for process_no in 0..4 {
            for at in 0.. {
                let world = World::default();
                let mut died = false;
                for number in 0..12 {
                    let at = if number == process_no { at } else { usize::MAX };
                    let this = live_until(&world, at, dies);
                    died |= this;
                    let state = process().block_on(async {
                        let turns = world.store.turns(&ConversationId::new(TALK)).await.unwrap();
                        turns.first().map(|turn| turn.state)
                    });
                    if state == Some(TurnState::Answered) {
                        break;
                    }
                }
                let what = format!("{dies:?} at {at} of process {process_no}");
                process().block_on(judge(&world, &what));
                if at > 12 || (!died && dies != Dies::Fails) {
                    break;
                }
                places += 1;
            }
        }
    }
    assert!(places > 40, "only {places} places");
}

async fn judge(world: &World, what: &str) {
    assert_eq!(world.state().await.0, "answered", "{what}");
    let runs = world.runs.all();
    let ledger = world
        .store
        .ledger(&ConversationId::new(TALK))
        .await
        .unwrap();
    // A call that waited for approval has not started: it runs once, or is unknown.
    for line in &ledger {
        let ran = runs.iter().filter(|key| *key == line.id()).count();
        assert!(ran <= 1, "{what}: ran {ran} times");
        assert_ne!(line.state.as_str(), "started", "{what}");
    }
    for call in world.calls().await {
        assert!(call.is_complete(), "{what}: {} was left open", call.tool());
    }
    // A turn whose store fails cancels its calls and leaves their gates as they are.
    if !what.starts_with("Fails") {
        let states = world.gate_states().await;
        assert!(
            !states.contains(&GateState::Open),
            "{what}: a gate was left open"
        );
    }
}
