#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;
use turnwright_core::schema::Schema;
use turnwright_core::trust::TrustTier;

use serde_json::{Value, json};
use turnwright_core::record::{Memory, Retrievable, StandingInstruction};
use turnwright_core::runner::AnswerFormat;
use turnwright_core::*;

use super::*;

fn echo() -> Tool {
    let document = json!({ "type": "object", "properties": { "say": { "type": "string" } } });
    Tool::dynamic("echo", document)
        .description("Echoes its input.")
        .handler(|args: Value, _: ToolContext| async move { args["say"].to_string() })
        .build()
        .unwrap()
}

fn panic_message(panic: Box<dyn std::any::Any + Send>) -> String {
    *panic.downcast::<String>().unwrap()
}

#[tokio::test]
async fn acts_are_played_in_order() {
    let model = ScriptedModel::new([
        Step::think("Hm.")
            .then_stream(["Let ", "me ", "look."])
            .call("echo", json!({ "say": "a" }))
            .call_with_id("p-2", "echo", r#"{"say": "b"}"#)
            .usage(Usage::tokens(10, 5)),
        Step::say("Done."),
    ]);
    let runner = runner(model.clone()).tool(echo()).build().unwrap();
    let mut turn = runner.start("Go.");
    let mut heard = Vec::new();
    while let Some(event) = turn.next().await {
        heard.push(event.name());
    }
    let outcome = turn.await;
    assert_eq!(outcome.text, "Done.");
    assert_eq!(outcome.usage, Usage::tokens(10, 5));
    assert_eq!(
        heard[1..7],
        [
            "thoughtDelta",
            "thought",
            "messageDelta",
            "messageDelta",
            "messageDelta",
            "message"
        ]
    );
    let first = model.request(0);
    assert_eq!((first.iteration(), first.texts()), (1, vec!["Go."]));
    assert_eq!(
        first.tool("echo").unwrap().document,
        *echo().schema().document()
    );
    let second = model.request(1);
    assert_eq!(second.iteration(), 2);
    assert_eq!(second.texts(), ["Go.", "Let me look."]);
    assert_eq!(second.thoughts(), ["Hm."]);
    let calls = second.tool_calls();
    assert_eq!(
        (calls[0].provider_id(), calls[1].provider_id()),
        (None, Some("p-2"))
    );
    assert!(calls[1].rendered().starts_with("<tw-untrusted-"));
    assert!(calls[1].rendered().contains("\"b\""));
    model.assert_finished();
}

#[tokio::test]
async fn snapshot_has_instructions_memories_retrievables_and_answer_schema() {
    let model = ScriptedModel::new([Step::say(r#"{"n": 1}"#)]);
    let runner = runner(model.clone())
        .turn_input(|ctx: TurnContext, next: Next<TurnContext>| async move {
            ctx.records()
                .add(StandingInstruction::new("Be brief.").build()?);
            ctx.records().add(Memory::new("Likes tea.").build()?);
            ctx.records()
                .add(Retrievable::text("Found.", TrustTier::FirstParty).build()?);
            next.run().await
        })
        .build()
        .unwrap();
    let schema = Schema::from_document(json!({ "type": "object" })).unwrap();
    let format = AnswerFormat::new("n", schema.clone());
    let typed = runner.run(TurnInput::new("n?").answer_format(format)).await;
    assert_eq!(typed.answer::<Value>().unwrap(), json!({ "n": 1 }));
    let shown = model.request(0);
    assert_eq!(shown.standing_instructions(), ["Be brief."]);
    assert_eq!(shown.memories(), ["Likes tea."]);
    assert!(shown.retrievables()[0].rendered().contains("Found."));
    assert_eq!(shown.retrievables()[0].tier(), TrustTier::FirstParty);
    assert_eq!(shown.answer_schema(), Some(schema.document()));
}

#[tokio::test]
async fn missing_step_fails_the_turn() {
    let model = ScriptedModel::new([Step::silent().keep_open()]);
    let runner = runner(model.clone()).build().unwrap();
    let TurnStatus::Failed(error) = runner.run("x").await.status else {
        panic!()
    };
    assert_eq!(error.code(), ErrorCode::LLM_EXECUTION_EXECUTOR_ERROR);
    let expected = "the script has no step 1: all earlier steps were played";
    assert!(error.message().contains(expected), "{error}");
    assert_eq!(model.request_count(), 2);
}

#[tokio::test]
async fn fail_nack_and_run_are_played() {
    let model = ScriptedModel::new([
        Step::fail("no network"),
        Step::nack("not this"),
        Step::run(|ctx| async move {
            ctx.stash().set("ran", true)?;
            ctx.answer("by hand").await?;
            Ok(())
        }),
    ]);
    let runner = runner(model.clone()).build().unwrap();
    let failed = runner.run("x").await;
    assert!(
        matches!(&failed.status, TurnStatus::Failed(error) if error.message().contains("no network"))
    );
    let refused = runner.run("x").await;
    assert!(matches!(&refused.status, TurnStatus::Nacked(error) if error.message() == "not this"));
    assert_eq!(runner.run("x").await.text, "by hand");
    model.assert_finished();
}

#[tokio::test(start_paused = true)]
async fn wait_uses_the_paused_clock() {
    let model = ScriptedModel::new([Step::wait(Duration::from_secs(7200)).then_say("Late.")]);
    let runner = runner(model).build().unwrap();
    let start = tokio::time::Instant::now();
    assert_eq!(runner.run("x").await.text, "Late.");
    assert_eq!(start.elapsed().as_secs(), 7200);
}

#[test]
fn unplayed_and_unreached_steps_are_reported() {
    let model = ScriptedModel::new([Step::say("a"), Step::call_tool("echo", "{}")]);
    assert_eq!(model.unplayed(), [0, 1]);
    let panic = catch_unwind(AssertUnwindSafe(|| model.assert_finished())).unwrap_err();
    let content = panic_message(panic);
    assert!(
        content.contains(r#"step 0 (say "a"), step 1 (call echo)"#),
        "{content}"
    );
    let panic = catch_unwind(AssertUnwindSafe(|| model.request(1))).unwrap_err();
    assert_eq!(
        panic_message(panic),
        "step 1 was not reached: the model was called 0 times"
    );
}

/// Changes the standing records of a turn, like a tool or a layer would.
fn put_note(ctx: &TurnContext, id: &str, text: String) {
    let note = StandingInstruction::new(text).id(id).build().unwrap();
    ctx.records().add(note);
}

/// Returns the prompt of a step, without the text of tool results.
fn lines(model: &ScriptedModel, step: usize) -> Vec<String> {
    let shown = model.request(step);
    let line = |part: &PromptPart| match part.role {
        PromptRole::Tool => "tool".to_owned(),
        PromptRole::System => format!("system: {}", part.text.replace('\n', " ")),
        _ => part.to_string(),
    };
    shown.prompt().iter().map(line).collect()
}

#[tokio::test]
async fn changed_instruction_follows_the_tool_result() {
    let model = ScriptedModel::new([
        Step::call_tool("echo", json!({ "say": "a" })),
        Step::call_tool("echo", json!({ "say": "b" })),
        Step::say("Done."),
    ]);
    let runner = runner(model.clone())
        .tool(echo())
        .dispatch_input(
            |ctx: DispatchContext, next: Next<DispatchContext>| async move {
                put_note(ctx.turn(), "r", format!("step {}", ctx.iteration()));
                // An unchanged record is not repeated.
                put_note(ctx.turn(), "same", "Be brief.".to_owned());
                next.run().await
            },
        )
        .build()
        .unwrap();
    assert!(runner.run("Go.").await.is_answered());
    let system = "system: Standing instructions: - step 1 - Be brief.";
    assert_eq!(
        lines(&model, 2),
        [
            system,
            "user: Go.",
            "assistant: ",
            "tool",
            "note: step 2",
            "assistant: ",
            "tool",
            "note: step 3",
        ]
    );
    assert_eq!(lines(&model, 0), lines(&model, 2)[..2]);
    assert_eq!(lines(&model, 1), lines(&model, 2)[..5]);
    assert_eq!(
        model.request(2).standing_instructions(),
        ["step 3", "Be brief."]
    );
}
