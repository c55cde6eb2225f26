//! Where a turn waits: in layers, handlers and sub-agents.

use super::*;
use turnwright_core::gate::GateAnswer;
use turnwright_core::gate::TurnGate;

/// Opens two gates of one kind.
async fn ask_twice(ctx: &TurnContext, notes: &Notes) -> Result<(), BoxError> {
    for question in ["first", "second"] {
        let gate = TurnGate::new("go_on").question(question).build()?;
        let answer = ctx.wait_for(gate).await?;
        notes.note(format!("{question}: {answer}"));
    }
    Ok(())
}

fn of_turn(notes: &Notes) -> impl Middleware<TurnContext> + use<> {
    let notes = notes.clone();
    move |ctx: TurnContext, next: Next<TurnContext>| {
        let notes = notes.clone();
        async move {
            ask_twice(&ctx, &notes).await?;
            next.run().await
        }
    }
}

fn of_dispatch(notes: &Notes) -> impl Middleware<DispatchContext> + use<> {
    let notes = notes.clone();
    move |ctx: DispatchContext, next: Next<DispatchContext>| {
        let notes = notes.clone();
        async move {
            ask_twice(ctx.turn(), &notes).await?;
            next.run().await
        }
    }
}

type Place = fn(TurnRunnerBuilder, &Notes) -> TurnRunnerBuilder;

#[test]
fn gates_of_every_layer_suspend_and_are_asked_once() {
    let places: [(&str, Place, usize); 4] = [
        (
            "turn input",
            |runner, notes| runner.turn_input(of_turn(notes)),
            2,
        ),
        // Two iterations.
        (
            "dispatch input",
            |runner, notes| runner.dispatch_input(of_dispatch(notes)),
            4,
        ),
        // The iteration that ends with an answer has no output layers.
        (
            "dispatch output",
            |runner, notes| runner.dispatch_output(of_dispatch(notes)),
            2,
        ),
        (
            "turn output",
            |runner, notes| runner.turn_output(of_turn(notes)),
            2,
        ),
    ];
    for (name, place, questions) in places {
        let (world, notes) = (World::default(), Notes::default());
        // One script for all processes: a model that is asked again would run out of steps.
        let model = ScriptedModel::new([Step::call_tool("look", "{}"), Step::say("All is well.")]);
        let runner = || {
            let look = world.acting("look").effects(Effects::ReadOnly).build();
            let runner = world.runner(&model).tool(look).suspend_at_gates();
            place(runner, &notes).build().unwrap()
        };
        let mut outcome = process().block_on(runner().run(go_input()));
        let mut asked = Vec::new();
        while outcome.is_suspended() {
            assert!(asked.len() < questions, "{name}: asked too often");
            let gate = gates_of(&outcome).remove(0);
            assert!(!asked.contains(&gate.id), "{name}: asked again");
            asked.push(gate.id.clone());
            outcome = process().block_on(async {
                let runner = runner();
                let turn = runner.answer_gate(TALK, &gate.id, json!(true)).await;
                turn.unwrap().await
            });
        }
        assert!(outcome.is_answered(), "{name}: {}", outcome.status);
        assert_eq!(asked.len(), questions, "{name}");
        assert_eq!(world.runs.all().len(), 1, "{name}");
        assert_eq!(model.request_count(), 2, "{name}");
    }
}

fn asking(runs: &Notes) -> ToolBuilder<Value> {
    let runs = runs.clone();
    tool("ask").handler(move |_: Value, ctx: ToolContext| {
        let runs = runs.clone();
        async move {
            runs.note("reached");
            let gate = TurnGate::new("where").question("Where?").build()?;
            let answer = ctx.wait_for(gate).await?;
            Ok::<_, ToolError>(answer.to_string())
        }
    })
}

#[test]
fn a_gate_in_a_handler_suspends_if_the_tool_is_read_only() {
    let world = World::default();
    let ask = || asking(&world.runs).effects(Effects::ReadOnly).build();
    let first = world
        .runner(&calls("ask"))
        .tool(ask())
        .suspend_at_gates()
        .build();
    let id = suspend(&first.unwrap());
    process().block_on(async {
        let second = world.runner(&answers()).tool(ask()).build().unwrap();
        let turn = second.answer_gate(TALK, &id, json!("here")).await.unwrap();
        let outcome = turn.await;
        assert!(outcome.is_answered(), "{}", outcome.status);
        assert_eq!(texts(&outcome).await, ["\"here\""]);
        assert_eq!(world.runs.all().len(), 2, "its handler runs again");
    });
}

#[test]
fn a_gate_in_a_writing_handler_keeps_the_turn_in_memory() {
    let world = World::default();
    let model = ScriptedModel::new([Step::call_tool("ask", "{}"), Step::say("All is well.")]);
    process().block_on(async {
        let ask = asking(&world.runs).build();
        let runner = world
            .runner(&model)
            .tool(ask)
            .suspend_at_gates()
            .build()
            .unwrap();
        let turn = runner.start(go_input());
        let mut gates = turn.gates();
        let gate = gates.next().await.unwrap();
        turn.suspend().unwrap();
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        let call = world.calls().await[0].id().to_owned();
        let held = TurnActivity::NotSuspendable {
            gates: vec![gate.id.clone()],
            tool_calls: vec![call.into()],
        };
        assert_eq!(turn.activity(), held);
        assert_eq!(world.state().await.0, "running");
        // Any process may answer.
        let answered = runner.answer_gate(TALK, &gate.id, json!("here")).await;
        assert!(answered.unwrap().await.is_suspended());
        let outcome = turn.await;
        // Once that call has ended, the request takes effect.
        assert!(gates_of(&outcome).is_empty());
        assert_eq!(world.runs.all().len(), 1);
        let outcome = runner.resume(TURN).await.unwrap().await;
        assert!(outcome.is_answered(), "{}", outcome.status);
        assert_eq!(world.runs.all().len(), 1);
    });
}

#[test]
fn a_waiting_sub_agent_keeps_the_outer_turn_in_memory() {
    let world = World::default();
    process().block_on(async {
        let model = ScriptedModel::new([
            Step::call_tool("pay", r#"{"amount": 7}"#),
            Step::say("It is paid."),
        ]);
        let inner = world.paying(&model).suspend_at_gates().build().unwrap();
        let delegate = tool("delegate").handler(move |_: Value, ctx: ToolContext| {
            let inner = inner.clone();
            async move {
                let input = TurnInput::new("pay").conversation("inner").under_call(&ctx);
                Ok::<_, ToolError>(inner.run(input).await.into_answer()?)
            }
        });
        let model = ScriptedModel::new([Step::call_tool("delegate", "{}"), Step::say("Done.")]);
        let outer = world
            .runner(&model)
            .tool(delegate.build())
            .suspend_at_gates();
        let outer = outer.build().unwrap();
        let turn = outer.start(go_input());
        let mut gates = turn.gates();
        let gate = gates.next().await.unwrap();
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
        let TurnActivity::NotSuspendable { tool_calls, .. } = turn.activity() else {
            panic!("{:?}", turn.activity())
        };
        assert_eq!(*tool_calls[0], *world.calls().await[0].id());
        // The inner turn is stored, so its gate is answered like any other.
        let answered = outer
            .answer_gate("inner", &gate.id, GateAnswer::approve())
            .await;
        assert_eq!(answered.unwrap().await.text, "It is paid.");
        let outcome = turn.await;
        assert!(outcome.is_answered(), "{}", outcome.status);
        assert_eq!(texts(&outcome).await, ["It is paid."]);
        assert_eq!(world.runs.all().len(), 1);
    });
}
