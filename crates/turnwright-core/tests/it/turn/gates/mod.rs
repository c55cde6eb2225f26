//! Gates, where a turn waits for an external answer.

mod answers;
mod conversations;
mod readers;

use std::time::Duration;
use turnwright_core::gate::GateAnswer;
use turnwright_core::gate::GateKind;
use turnwright_core::gate::Gates;
use turnwright_core::gate::TurnGate;

use turnwright_core::schema::{integer, object, string};

use super::*;

fn gate() -> TurnGate {
    TurnGate::new("address")
        .question("Where to?")
        .schema(
            object()
                .field("street", string().required())
                .field("number", integer()),
        )
        .build()
        .unwrap()
}

/// Middleware that waits at a gate and records the answer.
fn asking(gate: TurnGate, notes: &Notes) -> impl Middleware<TurnContext> + use<> {
    let notes = notes.clone();
    move |ctx: TurnContext, next: Next<TurnContext>| {
        let (gate, notes) = (gate.clone(), notes.clone());
        async move {
            match ctx.wait_for(gate).await {
                Ok(answer) => notes.note(answer.to_string()),
                Err(error) => notes.note(error.code().as_str()),
            }
            next.run().await
        }
    }
}

/// A tool that waits at a gate and then works.
fn waiting(gate: TurnGate, works: Duration) -> ToolBuilder<Value> {
    tool("ask").handler(move |_: Value, ctx: ToolContext| {
        let gate = gate.clone();
        async move {
            let answer = ctx.wait_for(gate).await?;
            tokio::time::sleep(works).await;
            Ok::<_, ToolError>(answer.to_string())
        }
    })
}

fn call_ask() -> ScriptedModel {
    ScriptedModel::new([Step::call_tool("ask", "{}"), Step::say("done")])
}

#[tokio::test]
async fn a_gate_in_middleware_holds_the_turn_until_it_is_resolved() {
    let (notes, observed) = (Notes::default(), Observed::default());
    let model = ScriptedModel::new([Step::say("done")]);
    let runner = runner(model.clone())
        .turn_input(asking(gate(), &notes))
        .observer(observed.observer())
        .build()
        .unwrap();
    let turn = runner.start("go");
    let gates = turn.gates();
    let open = opened(&gates).await;
    assert_eq!(
        (open.len(), open[0].kind.as_str(), &*open[0].question),
        (1, "address", &json!("Where to?"))
    );
    assert_eq!(
        open[0].schema.as_ref().unwrap()["required"],
        json!(["street"])
    );
    assert_eq!(
        (open[0].tool_call.clone(), model.request_count()),
        (None, 0)
    );
    // The answer is checked like arguments, including repairs.
    assert!(
        gates
            .answer(&open[0].id, json!({ "street": "Elm", "number": "7" }))
            .unwrap()
    );
    assert!(turn.await.is_answered());
    assert_eq!(notes.all(), [r#"{"street":"Elm","number":7}"#]);
    assert_eq!(observed.of("turnGateOpen")[0]["id"], *open[0].id);
    assert_eq!(observed.of("turnGateClosed")[0]["how"], "resolved");
    observed.assert_paired();
    assert!(gates.open().is_empty());
    assert!(gates.clone().next().await.is_none(), "the turn has ended");
}

#[tokio::test]
async fn a_rejection_is_an_error_for_the_waiting_code() {
    let notes = Notes::default();
    let runner = runner(call_ask())
        .turn_input(asking(gate(), &notes))
        .tool(waiting(gate(), Duration::ZERO).build())
        .build()
        .unwrap();
    let turn = runner.start("go");
    let gates = turn.gates();
    let id = opened(&gates).await[0].id.clone();
    let reject = |reason| GateAnswer::reject(reason);
    assert!(gates.answer(&id, reject("none of your business")).unwrap());
    let open = loop {
        let open = opened(&gates).await;
        if open[0].id != id {
            break open;
        }
    };
    assert!(gates.answer(&open[0].id, reject("nor yours")).unwrap());
    let outcome = turn.await;
    assert_eq!(notes.all(), ["E_TURN_GATE_REJECTED"]);
    let call = outcome.tool_calls().next().unwrap();
    assert_eq!(open[0].tool_call.as_deref(), Some(call.id()));
    assert!(call.is_error() && outcome.is_answered());
}

#[tokio::test(start_paused = true)]
async fn a_gate_without_an_answer_times_out() {
    let (notes, observed) = (Notes::default(), Observed::default());
    let brief = TurnGate::new("quick")
        .timeout(Duration::from_secs(30))
        .build()
        .unwrap();
    let runner = runner(call_ask())
        .turn_input(asking(brief.clone(), &notes))
        .tool(waiting(brief, Duration::ZERO).build())
        .observer(observed.observer())
        .build()
        .unwrap();
    let turn = runner.start("go");
    let _somebody = turn.gates();
    let start = tokio::time::Instant::now();
    let outcome = turn.await;
    assert_eq!(start.elapsed().as_secs(), 60);
    assert_eq!(notes.all(), ["E_TURN_GATE_TIMEOUT"]);
    assert!(outcome.is_answered() && outcome.tool_calls().next().unwrap().is_error());
    assert!(
        observed
            .of("turnGateClosed")
            .iter()
            .all(|entry| entry["how"] == "timedOut")
    );
}

#[tokio::test]
async fn a_gate_is_aborted_with_its_turn() {
    let (notes, observed) = (Notes::default(), Observed::default());
    let runner = runner(ScriptedModel::new([]))
        .turn_input(asking(gate(), &notes))
        .observer(observed.observer())
        .build()
        .unwrap();
    let turn = runner.start("go");
    let gates = turn.gates();
    let id = opened(&gates).await[0].id.clone();
    turn.cancel().unwrap();
    let outcome = turn.await;
    assert!(
        matches!(outcome.status, TurnStatus::Aborted { .. }),
        "{:?}",
        outcome.status
    );
    assert_eq!(notes.all(), ["E_TURN_GATE_ABORTED"]);
    assert_eq!(observed.of("turnGateClosed")[0]["how"], "aborted");
    assert!(!gates.answer(&id, json!({ "street": "Elm" })).unwrap());
    observed.assert_paired();
}

#[tokio::test]
async fn a_gate_fails_immediately_if_no_one_can_answer() {
    for consumed in [false, true] {
        let notes = Notes::default();
        let runner = runner(call_ask())
            .turn_input(asking(gate(), &notes))
            .tool(waiting(gate(), Duration::ZERO).build())
            .build()
            .unwrap();
        let outcome = if consumed {
            runner.start("go").await
        } else {
            runner.run("go").await
        };
        assert_eq!(notes.all(), ["E_LLM_EXECUTION_GATE_NOT_SUPPORTED"]);
        assert!(outcome.is_answered());
        assert!(outcome.tool_calls().next().unwrap().is_error());
    }
}

#[tokio::test]
async fn dropping_the_last_handle_fails_the_open_gates() {
    let notes = Notes::default();
    let runner = runner(ScriptedModel::new([Step::say("done")]))
        .turn_input(asking(gate(), &notes))
        .build()
        .unwrap();
    let turn = runner.start("go");
    let gates = turn.gates();
    drop(opened(&gates).await);
    let (gone, outcome) = (async { drop(gates) }, turn.outcome());
    let (outcome, ()) = tokio::join!(outcome, gone);
    assert!(outcome.is_answered());
    assert_eq!(notes.all(), ["E_LLM_EXECUTION_GATE_NOT_SUPPORTED"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gate_opened_while_the_last_handle_is_dropped_does_not_wait_forever() {
    for _ in 0..200 {
        let notes = Notes::default();
        let runner = runner(ScriptedModel::new([Step::say("done")]))
            .turn_input(asking(gate(), &notes))
            .build()
            .unwrap();
        assert!(runner.run("go").await.is_answered());
        assert_eq!(notes.all(), ["E_LLM_EXECUTION_GATE_NOT_SUPPORTED"]);
    }
}

#[tokio::test(start_paused = true)]
async fn time_at_a_gate_does_not_count_towards_the_timeout_of_the_tool() {
    let hour = Duration::from_secs(3600);
    for (works, in_time) in [(500, true), (1500, false)] {
        let ask = waiting(gate(), Duration::from_millis(works)).timeout(Duration::from_secs(1));
        let runner = runner(call_ask()).tool(ask.build()).build().unwrap();
        let turn = runner.start("go");
        let gates = turn.gates();
        let answer = async {
            let id = opened(&gates).await[0].id.clone();
            tokio::time::sleep(hour).await;
            gates.answer(&id, json!({ "street": "Elm" })).unwrap();
        };
        let (outcome, ()) = tokio::join!(turn.outcome(), answer);
        let text = texts(&outcome).await.remove(0);
        if in_time {
            assert_eq!(text, r#"{"street":"Elm"}"#);
        } else {
            assert!(text.starts_with("The call timed out after 1s."), "{text}");
        }
    }
}

#[tokio::test]
async fn gates_of_one_kind_have_different_ids() {
    let model = ScriptedModel::new([
        Step::call_tool("ask", "{}")
            .call("ask", "{}")
            .call("ask", "{}"),
        Step::say("done"),
    ]);
    let runner = runner(model)
        .tool(waiting(gate(), Duration::ZERO).build())
        .build()
        .unwrap();
    let turn = runner.start("go");
    let gates = turn.gates();
    let answer = async {
        let open = loop {
            let open = opened(&gates).await;
            if open.len() == 3 {
                break open;
            }
            tokio::task::yield_now().await;
        };
        // Answered in a different order.
        for (n, gate) in open.iter().enumerate().rev() {
            assert!(
                gates
                    .answer(&gate.id, json!({ "street": format!("s{n}") }))
                    .unwrap()
            );
        }
        open
    };
    let (outcome, open) = tokio::join!(turn.outcome(), answer);
    let texts = texts(&outcome).await;
    for (n, (gate, call)) in open.iter().zip(outcome.tool_calls()).enumerate() {
        assert_eq!(gate.tool_call.as_deref(), Some(call.id()));
        assert_eq!(texts[n], format!(r#"{{"street":"s{n}"}}"#));
    }
}

#[tokio::test]
async fn a_turn_that_waits_at_a_gate_does_not_block_others() {
    let notes = Notes::default();
    let runner = runner(ScriptedModel::new([Step::say("one"), Step::say("two")]))
        .turn_input(asking(gate(), &notes))
        .build()
        .unwrap();
    let first = runner.start("first");
    let gates = first.gates();
    let open = opened(&gates).await;
    // Another turn of the same runner completes.
    assert_eq!(runner.run("second").await.text, "one");
    gates
        .answer(&open[0].id, json!({ "street": "Elm" }))
        .unwrap();
    assert_eq!(first.await.text, "two");
}
