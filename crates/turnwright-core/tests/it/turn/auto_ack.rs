//! Answers that are proposed, and decided on by layers.

use turnwright_core::record::Author;
use turnwright_core::runner::TurnRunnerBuilder;

use super::*;

type Layer = Next<DispatchContext>;

/// A layer that rejects every answer that does not contain a word.
fn wants(word: &'static str) -> impl Middleware<DispatchContext> {
    move |ctx: DispatchContext, next: Layer| async move {
        match ctx.proposed_answer() {
            Some(answer) if !answer.text().contains(word) => {
                answer.reject(format!("Say \"{word}\"."))?;
                Ok(())
            }
            _ => next.run().await,
        }
    }
}

fn deciding(model: &ScriptedModel) -> TurnRunnerBuilder {
    runner(model.clone()).auto_ack(false)
}

#[tokio::test]
async fn an_answer_that_no_layer_decides_on_is_accepted() {
    let model = ScriptedModel::new([Step::call_tool("look", "{}"), Step::say("fine")]);
    let notes = Notes::default();
    let look = tool("look").handler(|_: Value, _: ToolContext| async { "seen" });
    let runner = deciding(&model)
        .tool(look.build())
        .dispatch_output(notes.layer("output"))
        .build()
        .unwrap();
    let outcome = runner.run("x").await;
    assert!(outcome.is_answered());
    assert_eq!((outcome.text.as_str(), outcome.iterations), ("fine", 2));
    let entered = notes.all();
    assert_eq!(
        entered.len(),
        4,
        "after the calls, and after the answer: {entered:?}"
    );
}

#[tokio::test]
async fn with_auto_ack_no_layer_sees_an_answer() {
    let model = ScriptedModel::new([Step::say("fine")]);
    let runner = runner(model)
        .dispatch_output(wants("never"))
        .build()
        .unwrap();
    assert_eq!(runner.run("x").await.text, "fine");
}

#[tokio::test]
async fn a_rejected_answer_goes_back_to_the_model_with_the_reason() {
    let model = ScriptedModel::new([Step::say("perhaps"), Step::say("yes")]);
    let observed = Observed::default();
    let runner = deciding(&model)
        .dispatch_output(wants("yes"))
        .observer(observed.observer())
        .build()
        .unwrap();
    let mut turn = runner.start("x");
    let mut rejected = Vec::new();
    let mut ids = Vec::new();
    while let Some(event) = turn.next().await {
        match event.kind {
            EventKind::Message(message) => ids.push(message.id().to_owned()),
            EventKind::AnswerRejected { id, reason, .. } => {
                assert!(reason.contains("Say \"yes\"."), "{reason}");
                rejected.push(id.unwrap().to_string());
            }
            _ => {}
        }
    }
    let outcome = turn.await;
    assert_eq!((outcome.text.as_str(), outcome.iterations), ("yes", 2));
    assert_eq!(rejected, ids[..1]);
    assert_eq!(observed.of("answerRejected").len(), 1);
    assert_eq!(observed.of("dispatchStart").len(), 1);
    let shown = model.request(1);
    assert_eq!(shown.texts()[1], "perhaps", "it sees its own answer");
    let last = shown.messages().last().unwrap();
    assert_eq!(last.author, Author::Framework);
    assert!(last.text.contains("Say \"yes\"."), "{}", last.text);
    // Both are records of the turn.
    let texts: Vec<&str> = outcome.messages().map(|message| message.text()).collect();
    assert_eq!(texts.len(), 4);
    assert_eq!((texts[1], texts[3]), ("perhaps", "yes"));
}

#[tokio::test]
async fn answer_retries_limits_how_often_the_model_is_asked_again() {
    for (retries, asked) in [(None, 4), (Some(0), 1), (Some(1), 2)] {
        let model = ScriptedModel::new((0..5).map(|_| Step::say("perhaps")));
        let mut builder = deciding(&model).dispatch_output(wants("yes"));
        if let Some(times) = retries {
            builder = builder.answer_retries(times);
        }
        let outcome = builder.build().unwrap().run("x").await;
        assert_eq!(code_of(&outcome), "E_ANSWER_REJECTED");
        let error = error_of(&outcome);
        assert!(error.message().contains("Say \"yes\""), "{error}");
        assert_eq!(model.request_count(), asked);
        assert_eq!(outcome.text, "", "a rejected answer is not the answer");
    }
}

#[tokio::test]
async fn the_first_decision_counts_and_inner_layers_do_not_run() {
    let model = ScriptedModel::new([Step::say("perhaps")]);
    let notes = Notes::default();
    let outer = {
        let notes = notes.clone();
        move |ctx: DispatchContext, next: Layer| {
            let notes = notes.clone();
            async move {
                let (first, second) = (ctx.proposed_answer(), ctx.proposed_answer());
                first.ok_or("none")?.accept()?;
                let error = second.ok_or("none")?.reject("no").unwrap_err();
                notes.note(error.code().as_str());
                assert!(ctx.proposed_answer().is_none());
                next.run().await
            }
        }
    };
    let runner = deciding(&model)
        .dispatch_output(outer)
        .dispatch_output(wants("yes"))
        .build()
        .unwrap();
    assert_eq!(runner.run("x").await.text, "perhaps");
    assert_eq!(notes.all(), ["E_LLM_EXECUTION_ALREADY_SIGNALLED"]);
}

#[tokio::test]
async fn on_ack_work_runs_when_the_answer_is_accepted() {
    let notes = Notes::default();
    let model = {
        let notes = notes.clone();
        move |ctx: DispatchContext| {
            let notes = notes.clone();
            async move {
                let ran = notes.clone();
                ctx.on_ack(move || ran.note("acked"));
                ctx.answer(["perhaps", "yes"][ctx.iteration() as usize - 1])
                    .await?;
                // The executor sees its signal, as without `auto_ack(false)`.
                assert!(ctx.signal().is_some() && ctx.ack().is_err());
                notes.note("answered");
                Ok(())
            }
        }
    };
    let runner = runner(model)
        .auto_ack(false)
        .dispatch_output(wants("yes"))
        .build()
        .unwrap();
    assert_eq!(runner.run("x").await.text, "yes");
    assert_eq!(notes.all(), ["answered", "answered", "acked", "acked"]);
}

#[tokio::test]
async fn a_layer_may_ack_nack_abort_or_fail_instead() {
    let acks = |ctx: DispatchContext, _: Layer| async move { Ok(ctx.ack()?) };
    let nacks = |ctx: DispatchContext, _: Layer| async move { Ok(ctx.nack("not this")?) };
    let aborts = |ctx: DispatchContext, _: Layer| async move {
        ctx.turn().abort("enough");
        Ok(())
    };
    let fails = |_: DispatchContext, _: Layer| async move { Err("no idea".into()) };
    let skips = |_: DispatchContext, _: Layer| async move { Ok(()) };
    let ended = async |builder: TurnRunnerBuilder| {
        let outcome = builder.build().unwrap().run("x").await;
        (
            outcome.status.as_str(),
            outcome.error().map(|error| error.code().as_str()),
        )
    };
    let model = || deciding(&ScriptedModel::new([Step::say("perhaps")]));
    assert_eq!(
        ended(model().dispatch_output(acks)).await,
        ("answered", None)
    );
    assert_eq!(
        ended(model().dispatch_output(nacks)).await,
        ("nacked", Some("E_LLM_EXECUTION_NACKED"))
    );
    assert_eq!(
        ended(model().dispatch_output(aborts)).await,
        ("aborted", Some("E_TURN_ABORTED"))
    );
    assert_eq!(
        ended(model().dispatch_output(fails)).await,
        ("failed", Some("E_DISPATCH_PIPELINE_ERROR"))
    );
    assert_eq!(
        ended(model().dispatch_output(skips)).await,
        ("failed", Some("E_PIPELINE_SHORT_CIRCUITED"))
    );
}

#[tokio::test]
async fn an_ack_without_a_message_does_not_propose_the_rejected_answer_again() {
    let model = ScriptedModel::new([Step::say("perhaps"), Step::silent()]);
    let seen = Notes::default();
    let layer = {
        let seen = seen.clone();
        move |ctx: DispatchContext, next: Layer| {
            let seen = seen.clone();
            async move {
                let Some(answer) = ctx.proposed_answer() else {
                    return next.run().await;
                };
                let (attempt, text) = (answer.attempt(), answer.text());
                seen.note(format!("{attempt} {text}"));
                if answer.message().is_some() {
                    Ok(answer.reject("no")?)
                } else {
                    next.run().await
                }
            }
        }
    };
    let outcome = deciding(&model).dispatch_output(layer).build().unwrap();
    let outcome = outcome.run("x").await;
    assert!(outcome.is_answered());
    assert_eq!(outcome.text, "");
    assert_eq!(seen.all(), ["1 perhaps", "2 "]);
}

#[tokio::test]
async fn layers_see_only_typed_answers_that_match() {
    let model = ScriptedModel::new([
        Step::say("five"),
        Step::say(r#"{"value": 5}"#),
        Step::say(r#"{"value": 7}"#),
    ]);
    let seen = Notes::default();
    let layer = {
        let seen = seen.clone();
        move |ctx: DispatchContext, next: Layer| {
            let seen = seen.clone();
            async move {
                let answer = ctx.proposed_answer().ok_or("it is proposed")?;
                seen.note(answer.text());
                if answer.text().contains('7') {
                    next.run().await
                } else {
                    Ok(answer.reject("Higher.")?)
                }
            }
        }
    };
    let runner = deciding(&model).dispatch_output(layer).build().unwrap();
    let number: u8 = runner.ask("x").await.unwrap();
    assert_eq!(number, 7);
    assert_eq!(seen.all(), [r#"{"value": 5}"#, r#"{"value": 7}"#]);
}

#[tokio::test]
async fn rejected_answers_count_as_iterations() {
    let model = ScriptedModel::new((0..5).map(|_| Step::say("perhaps")));
    let runner = deciding(&model)
        .dispatch_output(wants("yes"))
        .answer_retries(100)
        .iteration_limit(3)
        .build()
        .unwrap();
    assert_eq!(code_of(&runner.run("x").await), "E_TURN_LIMIT");
    assert_eq!(model.request_count(), 3);
}
