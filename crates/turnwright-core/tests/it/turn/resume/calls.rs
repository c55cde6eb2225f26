//! Calls in progress.

use super::*;
use turnwright_core::tool::Concurrency;

#[test]
fn a_read_only_call_runs_again_with_the_same_ids() {
    let (world, reached) = (World::default(), Arc::new(Notify::new()));
    let look = world.endless("look", &reached).effects(Effects::ReadOnly);
    let first = world.runner(&calls("look")).tool(look.build()).build();
    world.die(&first.unwrap(), &reached);
    process().block_on(async {
        let before = world.calls().await;
        assert!(!before[0].is_complete());
        let model = answers();
        let look = world.acting("look").effects(Effects::ReadOnly);
        let second = world.runner(&model).tool(look.build()).build().unwrap();
        let outcome = second.resume(TURN).await.unwrap().await;
        assert_eq!(outcome.text, "All is well.");
        assert_eq!((&*outcome.turn_id, &*outcome.conversation), (TURN, TALK));
        let after = world.calls().await;
        assert_eq!(after.len(), 1);
        assert_eq!(after[0].id(), before[0].id());
        assert_eq!(after[0].text().await.unwrap(), "look is done");
        // The downstream service sees the same key twice.
        let runs = world.runs.all();
        assert_eq!(runs.len(), 2);
        assert_eq!(runs[0], runs[1]);
        assert!(runs[0].len() == 64 && !runs[0].contains("talk"), "{runs:?}");
        // The model was asked once, after the result.
        assert!(
            model.request(0).tool_calls()[0]
                .rendered()
                .contains("look is done")
        );
        assert_eq!(world.state().await, ("answered", 2));
        assert_eq!(world.ledger().await, []);
    });
}

#[test]
fn a_writing_call_is_unknown_and_not_run_again() {
    let (world, reached) = (World::default(), Arc::new(Notify::new()));
    let pay = world.endless("pay", &reached).build();
    let first = world.runner(&calls("pay")).tool(pay).build().unwrap();
    world.die(&first, &reached);
    process().block_on(async {
        assert_eq!(world.ledger().await, [("pay".to_owned(), "started")]);
        let model = answers();
        let pay = world.acting("pay").build();
        let second = world.runner(&model).tool(pay).build().unwrap();
        let outcome = second.resume(TURN).await.unwrap().await;
        assert!(outcome.is_answered(), "{:?}", outcome.status);
        assert_eq!(world.runs.all().len(), 1, "it ran twice");
        assert_eq!(world.ledger().await, [("pay".to_owned(), "unknown")]);
        let shown = model.request(0);
        let text = shown.tool_calls()[0].rendered();
        assert!(text.contains("may or may not have taken effect"), "{text}");
    });
}

#[test]
fn each_of_several_calls_is_settled_and_their_order_stays() {
    let (world, reached) = (World::default(), Arc::new(Notify::new()));
    let model = ScriptedModel::new([Step::call_tool("quick", "{}")
        .call("look", "{}")
        .call("pay", "{}")
        .call("alone", "{}")
        .call("nonsense", "{}")]);
    let both = Arc::new(Notify::new());
    let first = world
        .runner(&model)
        .tool(world.acting("quick").build())
        .tool(
            world
                .endless("look", &both)
                .effects(Effects::ReadOnly)
                .build(),
        )
        .tool(world.endless("pay", &reached).build())
        .tool(
            world
                .acting("alone")
                .concurrency(Concurrency::Exclusive)
                .build(),
        )
        .build()
        .unwrap();
    world.die(&first, &reached);
    process().block_on(async {
        let names = |calls: Vec<Arc<ToolCall>>| -> Vec<String> {
            calls.iter().map(|call| call.tool().to_owned()).collect()
        };
        let before = names(world.calls().await);
        let second = world
            .runner(&answers())
            .tool(world.acting("quick").build())
            .tool(world.acting("look").effects(Effects::ReadOnly).build())
            .tool(world.acting("pay").build())
            .tool(
                world
                    .acting("alone")
                    .concurrency(Concurrency::Exclusive)
                    .build(),
            )
            .build()
            .unwrap();
        let outcome = second.resume(TURN).await.unwrap().await;
        let texts_read = texts(&outcome).await;
        assert_eq!(texts_read[0], "quick is done");
        assert_eq!(texts_read[1], "look is done");
        assert!(
            texts_read[2].contains("may not have taken effect"),
            "{texts_read:?}"
        );
        assert_eq!(texts_read[3], "alone is done");
        assert!(texts_read[4].contains("Unknown tool"), "{texts_read:?}");
        assert_eq!(names(world.calls().await), before);
        // `quick` ran once, `look` twice, `pay` once, `alone` once, each with its own key.
        let mut runs = world.runs.all();
        assert_eq!(runs.len(), 5, "{runs:?}");
        runs.sort();
        runs.dedup();
        assert_eq!(runs.len(), 4);
        let ledger = world.ledger().await;
        let states: Vec<&str> = ledger.iter().map(|(_, state)| *state).collect();
        assert_eq!(states, ["done", "unknown", "done"]);
    });
}

#[test]
fn arguments_are_checked_again_by_the_current_tool() {
    let (world, reached) = (World::default(), Arc::new(Notify::new()));
    let look = world.endless("look", &reached).effects(Effects::ReadOnly);
    let first = world.runner(&calls("look")).tool(look.build()).build();
    world.die(&first.unwrap(), &reached);
    process().block_on(async {
        let strict = json!({ "type": "object", "required": ["path"], "properties": { "path": { "type": "string" } } });
        let runs = world.runs.clone();
        let look = Tool::dynamic("look", strict)
            .description("Of a test.")
            .effects(Effects::ReadOnly)
            .handler(move |_: Value, _: ToolContext| {
                runs.note("reached");
                async { "never" }
            });
        let second = world.runner(&answers()).tool(look.build()).build();
        let outcome = second.unwrap().resume(TURN).await.unwrap().await;
        assert!(outcome.is_answered());
        assert!(!world.runs.has("reached"));
        let texts_read = texts(&outcome).await;
        assert!(texts_read[0].contains("path"), "{texts_read:?}");
    });
}

#[test]
fn a_missing_tool_is_reported_to_the_model() {
    let (world, reached) = (World::default(), Arc::new(Notify::new()));
    let look = world.endless("look", &reached).effects(Effects::ReadOnly);
    let first = world.runner(&calls("look")).tool(look.build()).build();
    world.die(&first.unwrap(), &reached);
    process().block_on(async {
        let second = world.runner(&answers()).build().unwrap();
        let outcome = second.resume(TURN).await.unwrap().await;
        assert!(outcome.is_answered());
        let texts_read = texts(&outcome).await;
        assert!(
            texts_read[0].contains("Unknown tool \"look\""),
            "{texts_read:?}"
        );
    });
}

#[tokio::test]
async fn a_call_of_a_truncated_response_is_not_run_after_a_resume() {
    let world = World::default();
    let cut = Step::run(|ctx: DispatchContext| async move {
        let call = ctx.propose("pay", "{}");
        call.record_incomplete().await?;
        Err("the connection broke".into())
    });
    let model = ScriptedModel::new([cut, Step::say("All is well.")]);
    let pay = world.acting("pay").build();
    let runner = world.runner(&model).tool(pay).build().unwrap();
    let mut turn = runner.start(go_input());
    let mut heard = Vec::new();
    while let Some(event) = turn.next().await {
        if let EventKind::ToolCallIncomplete(call) = &event.kind {
            assert!(call.is_cut_off() && call.is_error() && !call.is_complete());
        }
        heard.push(event.name());
    }
    assert_eq!(heard, ["turnStart", "toolCallIncomplete", "turnEnd"]);
    assert!(!turn.await.is_answered());
    let outcome = runner.resume(TURN).await.unwrap().await;
    assert_eq!(outcome.text, "All is well.");
    assert_eq!(world.runs.all(), Vec::<String>::new());
    let call = &world.calls().await[0];
    assert!(call.is_cut_off() && call.is_error() && !call.is_complete());
}

#[tokio::test]
async fn ordinals_continue_in_a_resumed_turn() {
    let world = World::default();
    let model = ScriptedModel::new([
        Step::call_tool("pay", "{}").call("pay", "{}"),
        Step::fail("out of reach"),
        Step::call_tool("pay", "{}"),
        Step::say("All is well."),
    ]);
    let pay = world.acting("pay").build();
    let runner = world.runner(&model).tool(pay).build().unwrap();
    assert!(!runner.run(go_input()).await.is_answered());
    assert!(runner.resume(TURN).await.unwrap().await.is_answered());
    let lines = world
        .store
        .ledger(&ConversationId::new(TALK))
        .await
        .unwrap();
    let ordinals: Vec<_> = lines.iter().filter_map(|line| line.ordinal).collect();
    assert_eq!(ordinals, [0, 1, 2]);
    let mut keys = world.runs.all();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), 3);
    let calls = world.calls().await;
    assert_eq!(calls[2].ordinal(), Some(2));
    let mut ids: Vec<&str> = calls.iter().map(|call| call.id()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}
