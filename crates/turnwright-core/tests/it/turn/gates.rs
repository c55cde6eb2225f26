//! Gates, where a turn waits for an external answer.

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
        &**open[0].schema.as_ref().unwrap(),
        gate().schema().unwrap().document()
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
async fn an_invalid_answer_leaves_the_gate_open() {
    let notes = Notes::default();
    let runner = runner(ScriptedModel::new([Step::say("done")]))
        .turn_input(asking(gate(), &notes))
        .build()
        .unwrap();
    let turn = runner.start("go");
    let gates = turn.gates();
    let id = opened(&gates).await[0].id.clone();
    for bad in [
        json!({}),
        json!("Elm"),
        json!({ "street": "Elm", "town": "X" }),
    ] {
        let error = gates.answer(&id, bad).unwrap_err();
        assert_eq!(error.code().as_str(), "E_INVALID_TURN_GATE_RESOLUTION");
        assert!(error.is_fatal());
        assert_eq!(gates.open()[0].id, id, "it is open still");
    }
    assert!(gates.answer(&id, json!({ "street": "Elm" })).unwrap());
    turn.await;
    assert_eq!(notes.all(), [r#"{"street":"Elm"}"#]);
}

#[tokio::test]
async fn a_second_answer_is_ignored() {
    let notes = Notes::default();
    let runner = runner(ScriptedModel::new([Step::say("done")]))
        .turn_input(asking(gate(), &notes))
        .build()
        .unwrap();
    let turn = runner.start("go");
    let (gates, others) = (turn.gates(), turn.gates());
    let id = opened(&gates).await[0].id.clone();
    assert!(gates.answer(&id, json!({ "street": "first" })).unwrap());
    assert!(!others.answer(&id, json!({ "street": "second" })).unwrap());
    assert!(!others.answer(&id, GateAnswer::reject("third")).unwrap());
    assert!(!others.answer("no such gate", json!({})).unwrap());
    turn.await;
    assert_eq!(notes.all(), [r#"{"street":"first"}"#]);
    assert!(!gates.answer(&id, json!({ "street": "too late" })).unwrap());
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
    turn.cancel();
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
        let outcome = match consumed {
            true => runner.start("go").await,
            false => runner.run("go").await,
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
        match in_time {
            true => assert_eq!(text, r#"{"street":"Elm"}"#),
            false => assert!(text.starts_with("The call timed out after 1s."), "{text}"),
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
async fn a_gate_without_a_schema_accepts_any_answer() {
    let notes = Notes::default();
    let any = TurnGate::new("any").build().unwrap();
    let runner = runner(ScriptedModel::new([Step::silent()]))
        .turn_input(asking(any, &notes))
        .build()
        .unwrap();
    let turn = runner.start("go");
    let gates = turn.gates();
    let id = opened(&gates).await[0].id.clone();
    assert!(gates.answer(&id, json!("just text")).unwrap());
    turn.await;
    assert_eq!(notes.all(), [r#""just text""#]);
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
        match dropped {
            true => drop(turn.cancel_on_drop()),
            false => turn.cancel(),
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

#[tokio::test]
async fn an_answer_of_the_wrong_kind_is_rejected_and_the_gate_stays_open() {
    let model = ScriptedModel::new([Step::call_tool("ask", "{}"), Step::say("done")]);
    let ask = waiting(gate(), Duration::ZERO).approval(tool::approval::always("it asks"));
    let runner = runner(model).tool(ask.build()).build().unwrap();
    let turn = runner.start("go");
    let mut gates = turn.gates();

    let asked = gates.next().await.unwrap();
    assert_eq!(asked.kind, GateKind::Approval);
    let no_decision = gates.answer(&asked.id, json!("yes")).unwrap_err();
    assert_eq!(no_decision.code(), ErrorCode::INVALID_TURN_GATE_RESOLUTION);
    assert!(gates.answer(&asked.id, GateAnswer::approve()).unwrap());

    let asked = gates.next().await.unwrap();
    assert_eq!(asked.kind, GateKind::from("address"));
    let no_approval = gates.answer(&asked.id, GateAnswer::approve()).unwrap_err();
    assert!(
        no_approval.message().contains("GateAnswer::value"),
        "{no_approval}"
    );
    let answer = GateAnswer::value(json!({ "street": "Elm" }));
    assert!(gates.answer(&asked.id, answer).unwrap());
    assert!(turn.await.is_answered());
}

#[tokio::test]
async fn an_answer_that_is_not_accepted_is_described_once_and_as_an_answer() {
    let notes = Notes::default();
    let pay = Tool::dynamic(
        "pay",
        json!({ "type": "object", "properties": { "cents": { "type": "integer", "maximum": 9 } } }),
    );
    let pay = pay
        .description("Of a test.")
        .handler(|_: Value, _: ToolContext| async { "paid" });
    let model = ScriptedModel::new([Step::call_tool("pay", "{}"), Step::say("done")]);
    let runner = runner(model)
        .turn_input(asking(gate(), &notes))
        .tool(pay.build())
        .policy(tool::approval::always("it costs"))
        .build()
        .unwrap();
    let turn = runner.start("go");
    let mut gates = turn.gates();
    let address = gates.next().await.unwrap();
    let said = |id: &str, answer: GateAnswer| {
        let error = gates.answer(id, answer).unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_TURN_GATE_RESOLUTION);
        (error.with_causes(), error.faults().len())
    };
    let prefix = "the gate does not accept this answer:";
    let (text, faults) = said(&address.id, GateAnswer::value(5));
    assert_eq!(
        (text, faults),
        (
            format!("{prefix} the answer must be of type object (got 5)"),
            1
        )
    );
    let (text, _) = said(
        &address.id,
        GateAnswer::value(json!({ "street": 5, "number": "x" })),
    );
    assert!(text.starts_with(&format!("{prefix} /")), "{text}");
    assert!(!text.contains("arguments"), "{text}");

    let elm = GateAnswer::value(json!({ "street": "Elm" }));
    assert!(gates.answer(&address.id, elm).unwrap());
    let approval = gates.clone().next().await.unwrap();
    let (text, faults) = said(&approval.id, GateAnswer::edit(json!({ "cents": 10 })));
    let why = "the edited arguments are invalid: /cents must be at most 9 (got 10)";
    assert_eq!((text, faults), (format!("{prefix} {why}"), 1));
    assert!(gates.approve(&approval.id).unwrap());
    assert_eq!(turn.await.text, "done");
}
