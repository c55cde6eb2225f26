//! Calls that are proposed together.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use turnwright_core::record::Record;
use turnwright_core::schema::Schema;
use turnwright_core::store::MemoryStore;
use turnwright_core::tool::Concurrency;

use tokio::sync::{Barrier, Notify};
use turnwright_core::tool::approval::always;

use super::*;

/// Counts how many run concurrently.
#[derive(Clone, Default)]
struct Busy(Arc<(AtomicUsize, AtomicUsize)>);

impl Busy {
    async fn work(&self, time: Duration) {
        let now = self.0.0.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.1.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(time).await;
        self.0.0.fetch_sub(1, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }

    fn tool(&self, name: &str) -> ToolBuilder<Value> {
        let busy = self.clone();
        tool(name).handler(move |_: Value, _: ToolContext| {
            let busy = busy.clone();
            async move {
                busy.work(Duration::from_secs(1)).await;
                "worked"
            }
        })
    }
}

fn together(name: &str, many: usize) -> Step {
    (1..many).fold(Step::call_tool(name, "{}"), |step, _| step.call(name, "{}"))
}

#[tokio::test]
async fn calls_proposed_together_run_concurrently() {
    // Each handler waits for all others, so sequential execution would never end.
    let all = Arc::new(Barrier::new(5));
    let meet = tool("meet").handler(move |_: Value, _: ToolContext| {
        let all = Arc::clone(&all);
        async move {
            all.wait().await;
            "met"
        }
    });
    let model = ScriptedModel::new([together("meet", 5), Step::say("done")]);
    let runner = runner(model).tool(meet.build()).build().unwrap();
    let outcome = runner.run("go").await;
    assert_eq!(texts(&outcome).await, ["met"; 5]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_call_runs_in_its_own_task() {
    // Handlers that block their thread meet only if two threads run them.
    let all = Arc::new(std::sync::Barrier::new(2));
    let meet = tool("meet").handler(move |_: Value, _: ToolContext| {
        let all = Arc::clone(&all);
        async move {
            tokio::task::block_in_place(|| all.wait());
            format!("{:?}", tokio::task::id())
        }
    });
    let model = ScriptedModel::new([together("meet", 2), Step::say("done")]);
    let runner = runner(model).tool(meet.build()).build().unwrap();
    let texts = texts(&runner.run("go").await).await;
    assert_ne!(texts[0], texts[1]);
}

#[tokio::test(start_paused = true)]
async fn concurrent_calls_do_not_exceed_the_limit() {
    for (limit, most) in [(Some(3), 3), (None, 16)] {
        let busy = Busy::default();
        let model = ScriptedModel::new([together("work", 20), Step::say("done")]);
        let builder = runner(model).tool(busy.tool("work").build());
        let builder = match limit {
            Some(limit) => builder.parallel_calls(limit),
            None => builder,
        };
        let outcome = builder.build().unwrap().run("go").await;
        assert_eq!(texts(&outcome).await, ["worked"; 20]);
        assert_eq!(busy.most(), most);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_approval_does_not_count_towards_the_limit() {
    let busy = Busy::default();
    let model = ScriptedModel::new([
        Step::call_tool("asked", "{}")
            .call("asked", "{}")
            .call("work", "{}")
            .call("work", "{}"),
        Step::say("done"),
    ]);
    let observed = Observed::default();
    let runner = runner(model)
        .tool(busy.tool("work").build())
        .tool(
            tool("asked")
                .approval(always("careful"))
                .handler(|_: Value, _: ToolContext| async { "asked" })
                .build(),
        )
        .parallel_calls(1)
        .observer(observed.observer())
        .build()
        .unwrap();
    let turn = runner.start("go");
    let gates = turn.gates();
    let answer = async {
        // Both wait for approval, and the others run meanwhile, although only one may run at a time.
        while observed.of("toolExecutionEnd").len() < 2 {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let open = gates.open();
        assert_eq!(open.len(), 2);
        for gate in open {
            assert!(gates.approve(&gate.id).unwrap());
        }
    };
    let (outcome, ()) = tokio::join!(turn.outcome(), answer);
    assert_eq!(
        texts(&outcome).await,
        ["asked", "asked", "worked", "worked"]
    );
    assert_eq!(busy.most(), 1);
}

#[tokio::test(start_paused = true)]
async fn an_exclusive_tool_is_a_barrier_in_the_proposed_order() {
    let notes = Notes::default();
    let noting = |name: &'static str, seconds: u64| {
        let notes = notes.clone();
        tool(name).handler(move |_: Value, _: ToolContext| {
            let notes = notes.clone();
            async move {
                notes.note(format!("{name} begins"));
                tokio::time::sleep(Duration::from_secs(seconds)).await;
                notes.note(format!("{name} ends"));
                name
            }
        })
    };
    let model = ScriptedModel::new([
        Step::call_tool("a", "{}")
            .call("b", "{}")
            .call("alone", "{}")
            .call("c", "{}")
            .call("d", "{}"),
        Step::say("done"),
    ]);
    let runner = runner(model)
        .tools(
            [
                noting("a", 2),
                noting("b", 1),
                noting("c", 1),
                noting("d", 2),
            ]
            .map(ToolBuilder::build),
        )
        .tool(
            noting("alone", 1)
                .concurrency(Concurrency::Exclusive)
                .build(),
        )
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    #[rustfmt::skip]
    assert_eq!(notes.all(), [
        "a begins", "b begins", "b ends", "a ends",
        "alone begins", "alone ends",
        "c begins", "d begins", "c ends", "d ends",
    ]);
    assert_eq!(texts(&outcome).await, ["a", "b", "alone", "c", "d"]);
}

#[tokio::test(start_paused = true)]
async fn records_keep_the_proposed_order_in_the_turn_the_store_and_the_outcome() {
    let store = Arc::new(MemoryStore::default());
    let after = tool("after").handler(|args: Value, _: ToolContext| async move {
        tokio::time::sleep(Duration::from_secs(args["s"].as_u64().unwrap())).await;
        args["s"].to_string()
    });
    let model = ScriptedModel::new([
        Step::call_tool("after", json!({ "s": 3 }))
            .call("after", json!({ "s": 1 }))
            .call("missing", "{}")
            .call("after", json!({ "s": 2 })),
        Step::say("done"),
    ]);
    let runner = runner(model.clone())
        .storage(storage_of(Arc::clone(&store)))
        .tool(after.build())
        .build()
        .unwrap();
    let outcome = runner.run(stored("go")).await;
    let words = texts(&outcome).await;
    assert_eq!((&*words[0], &*words[1], &*words[3]), ("3", "1", "2"));
    let ids = |calls: Vec<&ToolCall>| {
        calls
            .iter()
            .map(|call| call.id().to_owned())
            .collect::<Vec<_>>()
    };
    let of_outcome = ids(outcome.tool_calls().map(|call| &**call).collect());
    let shown = model.request(1);
    assert_eq!(
        of_outcome,
        ids(shown.tool_calls().iter().map(|call| &**call).collect())
    );
    let held = held(&*store, &outcome).await;
    let of_store = held.iter().filter_map(|record| match record {
        Record::ToolCall(call) => Some(&**call),
        _ => None,
    });
    assert_eq!(of_outcome, ids(of_store.collect()));
}

#[tokio::test(start_paused = true)]
async fn the_executor_gets_the_records_in_the_proposed_order_however_they_end() {
    let after = tool("after").handler(|args: Value, _: ToolContext| async move {
        tokio::time::sleep(Duration::from_secs(args["s"].as_u64().unwrap())).await;
        args["s"].to_string()
    });
    let model = ScriptedModel::new([Step::run(|ctx| async move {
        let proposed = [3, 1, 2].map(|s| ctx.propose("after", json!({ "s": s })));
        let ids = proposed.each_ref().map(|call| call.id().to_owned());
        let records = ctx.call_tools(proposed).await;
        assert_eq!(
            records.iter().map(|record| record.id()).collect::<Vec<_>>(),
            ids
        );
        assert_eq!(records[0].text().await.as_deref(), Some("3"));
        Ok(())
    })]);
    let runner = runner(model).tool(after.build()).build().unwrap();
    let outcome = runner.run("go").await;
    assert!(outcome.is_answered(), "{:?}", outcome.status);
}

#[tokio::test]
async fn a_failed_call_does_not_stop_others() {
    let model = ScriptedModel::new([
        Step::call_tool("fails", "{}")
            .call("panics", "{}")
            .call("strict", json!({ "n": "many" }))
            .call("missing", "{}")
            .call("works", "{}"),
        Step::say("done"),
    ]);
    let strict = Tool::dynamic(
        "strict",
        json!({ "type": "object", "properties": { "n": { "type": "integer", "minimum": 1 } }, "required": ["n"] }),
    );
    let runner = runner(model)
        .tool(
            tool("fails")
                .handler(|_: Value, _: ToolContext| async {
                    Err::<&str, _>(
                        ToolError::unavailable("db at 10.0.0.7 is down")
                            .for_model("The database is down."),
                    )
                })
                .build(),
        )
        .tool(
            tool("panics")
                .handler(|_: Value, _: ToolContext| async {
                    if true {
                        panic!("secret state")
                    }
                    ""
                })
                .build(),
        )
        .tool(
            strict
                .description("Strict.")
                .handler(|_: Value, _: ToolContext| async { "" })
                .build(),
        )
        .tool(returning("works", "worked"))
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert!(outcome.is_answered());
    let errors: Vec<bool> = outcome.tool_calls().map(|call| call.is_error()).collect();
    assert_eq!(errors, [true, true, true, true, false]);
    let texts = texts(&outcome).await;
    assert_eq!(texts[0], "The database is down.");
    assert!(!texts[1].contains("secret state"), "{}", texts[1]);
    assert!(
        texts[2].contains("/n") && texts[2].contains("many"),
        "{}",
        texts[2]
    );
    assert_eq!(texts[4], "worked");
}

#[tokio::test]
async fn the_result_for_an_unknown_tool_lists_the_available_ones_similar_names_first() {
    let model = ScriptedModel::new([
        Step::call_tool("read_lgo", "{}")
            .call("zzz", "{}")
            .call("weather_report", "{}"),
        Step::say("done"),
    ]);
    let observed = Observed::default();
    let runner = runner(model)
        .tools([
            returning("send_mail", ""),
            returning("weather", ""),
            returning("read_log", ""),
        ])
        .observer(observed.observer())
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert!(outcome.is_answered(), "never the end of the turn");
    let texts = texts(&outcome).await;
    assert!(
        texts[0]
            .contains("Did you mean `read_log`? Available tools: read_log, send_mail, weather."),
        "{}",
        texts[0]
    );
    assert!(
        texts[1].contains("Available tools: send_mail, weather, read_log."),
        "{}",
        texts[1]
    );
    assert!(!texts[1].contains("Did you mean"));
    assert!(texts[2].contains("Did you mean `weather`?"), "{}", texts[2]);
    let refused = observed.of("toolCallRefused");
    assert!(
        refused.len() == 3
            && refused
                .iter()
                .all(|entry| entry["code"] == "E_UNKNOWN_TOOL")
    );
    assert_eq!(observed.of("toolExecutionStart").len(), 0);
}

#[tokio::test]
async fn a_hidden_tool_is_callable_and_not_listed() {
    let hide = |ctx: TurnContext, next: Next<TurnContext>| async move {
        ctx.tools().hide("quiet");
        next.run().await
    };
    let model = ScriptedModel::new([
        Step::call_tool("quiet", "{}").call("quite", "{}"),
        Step::say("done"),
    ]);
    let runner = runner(model.clone())
        .tools([returning("quiet", "psst"), returning("loud", "")])
        .turn_input(hide)
        .build()
        .unwrap();
    let texts = texts(&runner.run("go").await).await;
    assert_eq!(texts[0], "psst");
    assert!(!texts[1].contains("quiet"), "{}", texts[1]);
    assert_eq!(model.request(0).tool_names(), ["loud"]);
}

#[tokio::test]
async fn invalid_arguments_are_explained_to_the_model() {
    let model = ScriptedModel::new([
        Step::call_tool("read", "day: monday")
            .call("read", r#"{"dya": "monday"}"#)
            .call("read", "[]"),
        Step::call_tool("read", r#"{"day": "monday"}"#),
        Step::say("done"),
    ]);
    let schema = Schema::object().field("day", schema::string().required());
    let read = Tool::dynamic("read", schema)
        .description("Reads.")
        .handler(|_: Value, _: ToolContext| async { "the log" })
        .build();
    let observed = Observed::default();
    let runner = runner(model)
        .tool(read)
        .observer(observed.observer())
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert!(outcome.is_answered());
    let texts = texts(&outcome).await;
    assert!(texts[0].contains("JSON"), "{}", texts[0]);
    assert!(
        texts[1].contains("/day") && texts[1].contains("/dya"),
        "{}",
        texts[1]
    );
    assert_eq!(texts[3], "the log");
    let refused = observed.of("toolCallRefused");
    assert!(
        refused
            .iter()
            .all(|entry| entry["code"] == "E_INVALID_TOOL_ARGS")
    );
    assert!(refused.len() == 3 && !refused[1]["faults"].as_array().unwrap().is_empty());
    assert_eq!(observed.of("toolExecutionStart").len(), 1);
}

#[tokio::test]
async fn call_ids_are_ours_and_provider_ids_are_separate() {
    let model = ScriptedModel::new([
        Step::silent()
            .call_with_id("call_1", "act", "{}")
            .call_with_id("call_1", "act", "{}")
            .call("act", "{}"),
        Step::say("done"),
    ]);
    let runner = runner(model).tool(returning("act", "")).build().unwrap();
    let outcome = runner.run("go").await;
    let calls: Vec<_> = outcome.tool_calls().collect();
    let providers: Vec<_> = calls.iter().map(|call| call.provider_id()).collect();
    assert_eq!(providers, [Some("call_1"), Some("call_1"), None]);
    assert!(calls[0].id() != calls[1].id() && calls[1].id() != calls[2].id());
    assert_eq!(
        calls[0].checksum(),
        calls[2].checksum(),
        "equal calls have equal ids"
    );
}

#[tokio::test]
async fn calls_that_start_together_are_recorded_in_one_batch_before_any_runs() {
    let (reached, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    // The second write is the batch of started calls.
    let store = Odd::store(1, How::Waits(Arc::clone(&reached), Arc::clone(&go)));
    let (inner, notes) = (Arc::clone(&store.store), Notes::default());
    let ran = notes.clone();
    let act = tool("act").handler(move |_: Value, _: ToolContext| {
        ran.note("ran");
        async { "" }
    });
    let look = tool("look")
        .effects(Effects::ReadOnly)
        .handler(|_: Value, _: ToolContext| async { "" });
    let model = ScriptedModel::new([
        Step::call_tool("act", "{}")
            .call("look", "{}")
            .call("act", "{}"),
        Step::say("done"),
    ]);
    let runner = runner(model)
        .storage(storage_of(store.clone()))
        .tools([act.build(), look.build()])
        .build()
        .unwrap();
    let turn = runner.start(TurnInput::new("go").conversation("c"));
    reached.notified().await;
    assert_eq!(notes.all(), [""; 0], "nothing runs before it is on record");
    assert_eq!(store.writes.load(Ordering::Relaxed), 2);
    go.notify_one();
    turn.await;
    assert_eq!(
        ledger(&*inner, "c").await,
        [("act".to_owned(), "done"), ("act".to_owned(), "done")]
    );
}

#[tokio::test]
async fn invalid_arguments_that_are_too_large_are_stored_as_a_prefix() {
    let store = Arc::new(MemoryStore::default());
    let huge =
        |name: &str| Step::call_tool(name, format!(r#"{{"text": "é{}"}}"#, "x".repeat(5_000_000)));
    let model = ScriptedModel::new([huge("act"), huge("none"), Step::say("done")]);
    let runner = runner(model.clone())
        .tool(returning("act", "acted"))
        .storage(storage_of(Arc::clone(&store)));
    let runner = runner.build().unwrap();
    let outcome = runner.run(TurnInput::new("go").conversation("c")).await;
    assert_eq!(outcome.text, "done");

    let stored = store.tool_calls(&ConversationId::new("c")).await.unwrap();
    assert_eq!(stored.len(), 2);
    for call in &stored {
        let args = call.args().text().unwrap();
        assert!(args.starts_with(r#"{"text": "é"#) && args.len() < 5_000);
        assert!(
            args.ends_with("of 5000014 bytes; the rest was not stored)"),
            "{args}"
        );
        assert_eq!(call.args_bytes(), Some(5_000_014));
        let record = Record::from(Arc::clone(call)).to_value().unwrap();
        assert_eq!(record["argsBytes"], 5_000_014);
    }
    // The checksum is that of all arguments: a call with the same prefix is another one.
    assert_ne!(stored[0].checksum(), stored[1].checksum());
    let text = stored[0].text().await.unwrap();
    assert!(
        text.contains("must be at most 1048576 bytes (got 5000014): send less data"),
        "{text}"
    );
}
