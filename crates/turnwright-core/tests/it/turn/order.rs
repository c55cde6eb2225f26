//! The order of events and layers.

use std::sync::Arc;

use super::*;

#[tokio::test]
async fn layers_and_executor_run_in_the_documented_order() {
    let notes = Notes::default();
    let (seen, played) = (notes.clone(), notes.clone());
    let look = move |ctx: DispatchContext, next: Next<DispatchContext>| {
        let artifact_tools = ctx.tools().has("artifact_head");
        seen.note(format!(
            "look: {}",
            if artifact_tools {
                "artifact tools"
            } else {
                "nothing"
            }
        ));
        async move { next.run().await }
    };
    let again = played.clone();
    let model = ScriptedModel::new([
        Step::run(|_| async move {
            played.note("executor 1");
            Ok(())
        })
        .call("log", "{}"),
        Step::run(|_| async move {
            again.note("executor 2");
            Ok(())
        })
        .keep_open(),
        Step::say("done"),
    ]);
    let log = tool("log")
        .handler(|_: Value, _: ToolContext| async { "line\n".repeat(2_000) })
        .build();
    let runner = runner(model.clone())
        .tool(log)
        .turn_input(notes.layer("turn-input"))
        .turn_output(notes.layer("turn-output"))
        .dispatch_input(notes.layer("input"))
        .dispatch_input(look)
        .dispatch_output(notes.layer("output"))
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert!(outcome.is_answered(), "{:?}", outcome.status);
    assert_eq!(outcome.iterations, 3);
    #[rustfmt::skip]
    assert_eq!(notes.all(), [
        "turn-input in", "turn-input out",
        "input in", "look: nothing", "input out", "executor 1", "output in", "output out",
        "input in", "look: artifact tools", "input out", "executor 2", "output in", "output out",
        // The third ends with a signal, so its output layers do not run.
        "input in", "look: artifact tools", "input out",
        "turn-output in", "turn-output out",
    ]);
}

#[tokio::test]
async fn the_first_layer_of_a_pipeline_is_the_outermost() {
    let notes = Notes::default();
    let model = ScriptedModel::new([Step::silent().keep_open(), Step::silent()]);
    let runner = runner(model)
        .turn_input(notes.layer("ti-a"))
        .turn_input(notes.layer("ti-b"))
        .dispatch_input(notes.layer("di-a"))
        .dispatch_input(notes.layer("di-b"))
        .dispatch_output(notes.layer("do-a"))
        .dispatch_output(notes.layer("do-b"))
        .turn_output(notes.layer("to-a"))
        .turn_output(notes.layer("to-b"))
        .build()
        .unwrap();
    assert!(runner.run("go").await.is_answered());
    #[rustfmt::skip]
    assert_eq!(notes.all(), [
        "ti-a in", "ti-b in", "ti-b out", "ti-a out",
        "di-a in", "di-b in", "di-b out", "di-a out",
        "do-a in", "do-b in", "do-b out", "do-a out",
        "di-a in", "di-b in", "di-b out", "di-a out",
        "to-a in", "to-b in", "to-b out", "to-a out",
    ]);
}

#[tokio::test]
async fn an_executor_that_returns_without_a_signal_is_asked_again() {
    let model = ScriptedModel::new([
        Step::silent().keep_open(),
        Step::say("half").keep_open(),
        Step::say("whole"),
    ]);
    let runner = runner(model.clone()).build().unwrap();
    let outcome = runner.run("go").await;
    assert_eq!((outcome.text.as_str(), outcome.iterations), ("whole", 3));
    let iterations: Vec<u32> = model.requests().iter().map(|ctx| ctx.iteration()).collect();
    assert_eq!(iterations, [1, 2, 3]);
    model.assert_finished();
}

#[tokio::test]
async fn the_events_of_a_turn_are_nested_and_its_end_is_the_last() {
    let observed = Observed::default();
    let model = ScriptedModel::new([Step::call_tool("log", "{}"), Step::say("done")]);
    let runner = runner(model)
        .tool(returning("log", "ok"))
        .observer(observed.observer())
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::new("go").conversation("c-1")).await;
    assert!(outcome.is_answered());
    #[rustfmt::skip]
    assert_eq!(observed.names(), [
        "turnStart", "dispatchStart",
        "iterationStart", "toolExecutionStart", "toolExecutionEnd", "toolCall", "iterationEnd",
        "iterationStart", "message", "iterationEnd",
        "dispatchEnd", "turnEnd",
    ]);
    observed.assert_paired();
    assert_eq!(observed.of("turnStart")[0]["conversationId"], "c-1");
    assert_eq!(observed.of("dispatchEnd")[0]["signal"], "ack");
    assert_eq!(observed.of("dispatchEnd")[0]["iterations"], 2);
    assert_eq!(observed.of("turnEnd")[0]["status"], "answered");
    assert!(
        observed
            .0
            .lock()
            .iter()
            .all(|event| event["turnId"] == *outcome.turn_id)
    );
}

#[tokio::test]
async fn changes_to_tools_are_not_visible_to_other_turns() {
    let both = Arc::new(tokio::sync::Barrier::new(2));
    let meet = Arc::clone(&both);
    let change = move |ctx: TurnContext, next: Next<TurnContext>| {
        let meet = Arc::clone(&meet);
        async move {
            let own: String = ctx.stash().get_as("own").unwrap();
            ctx.tools().register(returning(&own, "mine"))?;
            // The same name, but a different tool in each turn.
            let text: &'static str = if own == "a" { "of a" } else { "of b" };
            ctx.tools().register_overwriting(returning("shared", text));
            ctx.tools().hide("base");
            meet.wait().await;
            next.run().await
        }
    };
    let executor = |ctx: DispatchContext| async move {
        let names: Vec<String> = ctx
            .tools()
            .visible()
            .iter()
            .map(|tool| tool.name().into())
            .collect();
        let shared = ctx.call("shared", "{}").await.text().await.unwrap();
        ctx.answer(format!("{} {shared}", names.join(" "))).await?;
        Ok(())
    };
    let runner = runner(executor)
        .tool(returning("base", "x"))
        .tool(returning("shared", "baseline"))
        .turn_input(change)
        .build()
        .unwrap();
    let turn = |own: &str| {
        let input = TurnInput::new("go").stash("own", own);
        let runner = runner.clone();
        async move { runner.run(input).await.text }
    };
    let (a, b) = tokio::join!(turn("a"), turn("b"));
    assert_eq!((a.as_str(), b.as_str()), ("shared a of a", "shared b of b"));

    // The baseline is unchanged: a third turn without the middleware sees all of it.
    let model = ScriptedModel::new([Step::silent()]);
    let fresh = turnwright_core::runner(model.clone())
        .tool(returning("base", "x"))
        .build()
        .unwrap();
    fresh
        .run(TurnInput::new("go").tool(returning("extra", "x")))
        .await;
    assert_eq!(model.request(0).tool_names(), ["base", "extra"]);
    model.push(Step::silent());
    fresh.run("go").await;
    assert_eq!(model.request(1).tool_names(), ["base"]);
}
