//! Tool results that become handles.

use turnwright_core::artifact::Inline;
use turnwright_core::middleware::{compact, repeated_call_guard};
use turnwright_core::runner::Limit;

use super::*;

fn lines() -> String {
    let line = |n| format!("{n} {}\n", if n == 321 { "ERROR" } else { "ok" });
    (0..1_500).map(line).collect()
}

fn log() -> Tool {
    let tool = tool("log", lines()).inline(Inline::Always);
    tool.build().unwrap()
}

#[tokio::test]
async fn long_results_become_handles_before_anything_is_summarised() {
    let store = Arc::new(MemoryStore::default());
    let model = ScriptedModel::new([
        Step::call_tool("log", "{}"),
        Step::say("Seen."),
        Step::say(long("More.", 500)),
        Step::run(|ctx: DispatchContext| async move {
            let calls = ctx.records().all::<ToolCall>();
            let args = json!({ "callId": calls[0].id(), "pattern": "ERROR" });
            ctx.call("artifact_grep", args.to_string()).await;
            Ok(())
        })
        .keep_open(),
        Step::say("Found."),
    ]);
    let runner = on(&store, &model)
        .tool(log())
        .dispatch_input(compact(4_000).summarise_with(summarising("never")))
        .build()
        .unwrap();
    let observed = Observed::of(&runner);
    runner.run(say("look")).await;
    assert!(
        model.request(1).tool_calls()[0]
            .rendered()
            .contains("321 ERROR"),
        "read in full"
    );
    runner.run(say("more")).await;
    let outcome = runner.run(say("find the error")).await;
    assert_eq!(outcome.text, "Found.");

    let shown = model.request(3);
    let handle = shown.tool_calls()[0].rendered();
    assert!(
        handle.starts_with("The result is stored as an artifact"),
        "{handle}"
    );
    assert!(
        shown.tool_names().contains(&"artifact_grep"),
        "in the same iteration"
    );
    let found = model.request(4);
    let found = found.tool_calls()[1].rendered();
    assert!(found.contains("321:321 ERROR"), "{found}");

    let events = observed.named("compacted");
    assert_eq!(events.len(), 1);
    assert_eq!(
        (&events[0]["handles"], &events[0]["summary"]),
        (&json!(1), &json!(null))
    );
    assert!(summaries(&store).await.is_empty(), "nothing was summarised");
    assert_eq!(outcome.tool_calls().count(), 1, "only its own call");
    let kept = records(&store).await.into_iter();
    let kept = kept
        .filter_map(Record::downcast::<ToolCall>)
        .next()
        .unwrap();
    assert_eq!(kept.text().await, Some(lines()), "the content stays");
}

#[tokio::test]
async fn results_that_the_model_has_not_read_stay_inline_if_they_fit() {
    let store = Arc::new(MemoryStore::default());
    let model = ScriptedModel::new([
        Step::call_tool("log", "{}"),
        Step::call_tool("log", "{}"),
        Step::call_tool("log", "{}"),
        Step::say("Done."),
    ]);
    let runner = on(&store, &model)
        .tool(log())
        .dispatch_input(compact(8_000));
    runner.build().unwrap().run(say("look")).await;
    let shown = model.request(3);
    let last = shown.tool_calls().last().unwrap();
    assert!(last.rendered().contains("321 ERROR"));
    assert!(!shown.tool_calls()[0].rendered().contains("321 ERROR"));
}

#[tokio::test]
async fn unread_results_become_handles_if_the_prompt_would_not_fit() {
    let store = Arc::new(MemoryStore::default());
    let model = ScriptedModel::new([
        Step::call_tool("log", "{}")
            .call("log", "{}")
            .call("log", "{}"),
        Step::say("Done."),
    ]);
    let runner = on(&store, &model)
        .tool(log())
        .dispatch_input(compact(6_000));
    runner.build().unwrap().run(say("look")).await;
    let shown = model.request(1);
    assert!(tokens(&shown) <= 6_000);
    assert_eq!(shown.tool_calls().len(), 3);
}

/// Calls that a summary covers still count for other middleware.
#[tokio::test]
async fn covered_calls_count_as_calls_of_the_turn() {
    let store = Arc::new(MemoryStore::default());
    let model =
        ScriptedModel::new((0..20).map(|_| Step::say(long("again", 300)).call("look", "{}")));
    let runner = on(&store, &model)
        .tool(tool("look", "seen").build())
        .dispatch_input(compact(2_000))
        .dispatch_input(repeated_call_guard(12))
        .build()
        .unwrap();
    let outcome = runner.run(say("look")).await;
    assert!(!summaries(&store).await.is_empty());
    let limit = Limit::RepeatedCall {
        tool: "look".to_owned(),
        times: 13,
    };
    assert!(
        matches!(&outcome.status, TurnStatus::Limit(reached) if *reached == limit),
        "{:?}",
        outcome.status
    );
}
