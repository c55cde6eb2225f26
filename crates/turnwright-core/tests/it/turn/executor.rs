//! Executors.

use std::sync::Arc;
use turnwright_core::ToolCall;
use turnwright_core::record::Record;
use turnwright_core::store::MemoryStore;

use super::*;

#[tokio::test]
async fn an_executor_need_not_be_a_model() {
    // A state machine that books a room. Its memory is the stash.
    let executor = |ctx: DispatchContext| async move {
        let state: String = ctx.stash().get_as("state").unwrap_or_default();
        match state.as_str() {
            "" => {
                ctx.call_tools([ctx.propose("free_rooms", "{}")]).await;
                ctx.stash().set("state", "asked")?;
            }
            _ => {
                let rooms = ctx.records().all::<ToolCall>()[0]
                    .text()
                    .await
                    .unwrap_or_default();
                ctx.answer(format!("Booked {rooms}.")).await?;
            }
        }
        Ok(())
    };
    let runner = runner(executor)
        .tool(returning("free_rooms", "room 7"))
        .build()
        .unwrap();
    assert_eq!(
        runner.run("a room please").await.into_answer().unwrap(),
        "Booked room 7."
    );
}

#[tokio::test]
async fn tools_run_within_their_iteration_and_are_stored_before_it_ends() {
    let store = Arc::new(MemoryStore::default());
    let (inside, looked) = (Arc::clone(&store), Notes::default());
    let notes = looked.clone();
    let executor = move |ctx: DispatchContext| {
        let (store, notes) = (Arc::clone(&inside), notes.clone());
        async move {
            if ctx.iteration() == 2 {
                ctx.answer("done").await?;
                return Ok(());
            }
            let records = ctx
                .call_tools([ctx.propose("act", "{}"), ctx.propose("gone", "{}")])
                .await;
            for record in &records {
                assert!(record.is_complete());
            }
            for record in store.records(ctx.conversation_id()).await? {
                if let Record::ToolCall(call) = record {
                    notes.note(format!("{} {}", call.tool(), call.is_complete()));
                }
            }
            Ok(())
        }
    };
    let observed = Observed::default();
    let runner = runner(executor)
        .storage(storage_of(Arc::clone(&store)))
        .tool(returning("act", "acted"))
        .observer(observed.observer())
        .build()
        .unwrap();
    let outcome = runner.run(stored("go")).await;
    assert_eq!(outcome.text, "done");
    assert_eq!(looked.all(), ["act true", "gone true"]);
    let names = observed.names();
    let at = |name: &str| names.iter().position(|known| known == name).unwrap();
    assert!(
        at("iterationStart") < at("toolExecutionStart")
            && at("toolExecutionEnd") < at("iterationEnd")
    );
}

#[tokio::test]
async fn the_next_iteration_sees_the_results_of_the_calls() {
    let model = ScriptedModel::new([
        Step::call_tool("act", json!({ "n": 1 })).call("act", json!({ "n": 2 })),
        Step::say("done"),
    ]);
    let act = tool("act")
        .handler(|args: Value, _: ToolContext| async move { format!("did {}", args["n"]) })
        .build();
    let runner = runner(model.clone()).tool(act).build().unwrap();
    runner.run("go").await;
    assert!(model.request(0).tool_calls().is_empty());
    let shown = model.request(1);
    let rendered: Vec<&str> = shown
        .tool_calls()
        .iter()
        .map(|call| call.rendered())
        .collect();
    assert!(
        rendered[0].contains("did 1") && rendered[1].contains("did 2"),
        "{rendered:?}"
    );
}

#[tokio::test]
async fn middleware_can_call_tools_like_an_executor() {
    let look_first = |ctx: DispatchContext, next: Next<DispatchContext>| async move {
        if ctx.iteration() == 1 {
            ctx.call("look", "{}").await;
        }
        next.run().await
    };
    let model = ScriptedModel::new([Step::say("seen")]);
    let runner = runner(model.clone())
        .tool(returning("look", "a cat"))
        .dispatch_input(look_first)
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert!(
        model.request(0).tool_calls()[0]
            .rendered()
            .contains("a cat")
    );
    assert_eq!(outcome.tool_calls().count(), 1);
}

#[tokio::test]
async fn a_shared_executor_is_an_executor() {
    let shared: Arc<dyn Executor> = Arc::new(ScriptedModel::new([Step::say("shared")]));
    let runner = runner(Arc::clone(&shared)).build().unwrap();
    assert_eq!(runner.run("go").await.text, "shared");
}
