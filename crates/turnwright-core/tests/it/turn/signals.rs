//! How a dispatch ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use turnwright_core::store::MemoryStore;

use turnwright_core::tool::context::Signal;

use super::*;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Give {
    Ack,
    Nack,
    Abort,
}

fn give(what: Give, ctx: &DispatchContext) {
    match what {
        Give::Ack => ctx.ack().unwrap(),
        Give::Nack => ctx.nack("no more").unwrap(),
        Give::Abort => ctx.turn().abort("enough"),
    }
}

/// A layer that gives a signal, and then continues or not.
fn giving(
    what: Option<Give>,
    continues: bool,
    notes: &Notes,
    name: &'static str,
) -> impl Middleware<DispatchContext> + use<> {
    let notes = notes.clone();
    move |ctx: DispatchContext, next: Next<DispatchContext>| {
        let notes = notes.clone();
        async move {
            notes.note(format!("{name} in"));
            if let Some(what) = what {
                give(what, &ctx);
                if !continues {
                    notes.note(format!("{name} out"));
                    return Ok(());
                }
            }
            next.run().await?;
            notes.note(format!("{name} out"));
            Ok(())
        }
    }
}

async fn play(at: &'static str, what: Give, continues: bool) -> (TurnOutcome, Vec<String>) {
    let notes = Notes::default();
    let observed = Observed::default();
    let here = |place: &str| (place == at).then_some(what);
    let (inside, given) = (notes.clone(), here("executor"));
    let model = ScriptedModel::new([Step::run(move |ctx| async move {
        inside.note("executor");
        given.into_iter().for_each(|what| give(what, &ctx));
        Ok(())
    })
    .keep_open()]);
    let runner = runner(model)
        .dispatch_input(notes.layer("i1"))
        .dispatch_input(giving(here("input"), continues, &notes, "i2"))
        .dispatch_input(notes.layer("i3"))
        .dispatch_output(notes.layer("o1"))
        .dispatch_output(giving(here("output"), continues, &notes, "o2"))
        .dispatch_output(notes.layer("o3"))
        .turn_output(notes.layer("t"))
        .observer(observed.observer())
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    observed.assert_paired();
    (outcome, notes.all())
}

#[tokio::test]
async fn a_signal_skips_the_rest_of_the_iteration() {
    for what in [Give::Ack, Give::Nack, Give::Abort] {
        for continues in [false, true] {
            for (at, expected) in [
                ("input", vec!["i1 in", "i2 in", "i2 out", "i1 out"]),
                (
                    "executor",
                    vec![
                        "i1 in", "i2 in", "i3 in", "i3 out", "i2 out", "i1 out", "executor",
                    ],
                ),
                (
                    "output",
                    vec![
                        "i1 in", "i2 in", "i3 in", "i3 out", "i2 out", "i1 out", "executor",
                        "o1 in", "o2 in", "o2 out", "o1 out",
                    ],
                ),
            ] {
                let (outcome, notes) = play(at, what, continues).await;
                let mut expected = expected;
                if what != Give::Abort {
                    expected.extend(["t in", "t out"]);
                }
                assert_eq!(notes, expected, "{what:?} at {at}, next: {continues}");
                match (what, &outcome.status) {
                    (Give::Ack, TurnStatus::Answered) => {}
                    (Give::Nack, TurnStatus::Nacked(error)) => {
                        assert_eq!(error.message(), "no more");
                    }
                    (Give::Abort, TurnStatus::Aborted { reason, .. }) => {
                        assert_eq!(reason, "enough");
                    }
                    (_, ended) => panic!("{what:?} at {at}, next {continues}: {ended:?}"),
                }
                assert_eq!(outcome.iterations, 1);
            }
        }
    }
}

#[tokio::test]
async fn an_abort_in_the_turn_input_skips_dispatch_and_output() {
    for continues in [false, true] {
        let (notes, observed) = (Notes::default(), Observed::default());
        let abort = move |ctx: TurnContext, next: Next<TurnContext>| async move {
            ctx.abort("not today");
            if continues {
                return next.run().await;
            }
            Ok(())
        };
        let model = ScriptedModel::new([]);
        let runner = runner(model.clone())
            .turn_input(notes.layer("outer"))
            .turn_input(abort)
            .turn_input(notes.layer("inner"))
            .dispatch_input(notes.layer("dispatch"))
            .turn_output(notes.layer("output"))
            .observer(observed.observer())
            .build()
            .unwrap();
        let outcome = runner.run("go").await;
        assert!(
            matches!(&outcome.status, TurnStatus::Aborted { reason, .. } if reason == "not today")
        );
        assert_eq!(notes.all(), ["outer in", "outer out"]);
        assert_eq!(observed.names(), ["turnStart", "turnEnd"]);
        assert_eq!((model.request_count(), outcome.iterations), (0, 0));
    }
}

#[tokio::test]
async fn an_abort_in_the_turn_output_aborts_the_turn() {
    let abort = |ctx: TurnContext, _: Next<TurnContext>| async move {
        ctx.abort("the answer is not fit to be sent");
        Ok(())
    };
    let runner = runner(ScriptedModel::new([Step::say("rude words")]))
        .turn_output(abort)
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert!(
        matches!(&outcome.status, TurnStatus::Aborted { reason, .. } if reason.contains("not fit"))
    );
    assert_eq!(code_of(&outcome), "E_TURN_ABORTED");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_of_racing_signals_counts_and_the_others_fail() {
    const MANY: usize = 8;
    let (start, late) = (
        Arc::new(tokio::sync::Barrier::new(MANY)),
        Arc::new(AtomicUsize::new(0)),
    );
    let (meet, count) = (Arc::clone(&start), Arc::clone(&late));
    let finish = tool("finish")
        .handler(move |args: Value, ctx: ToolContext| {
            let (meet, count) = (Arc::clone(&meet), Arc::clone(&count));
            async move {
                meet.wait().await;
                let given = if args["ack"] == true {
                    ctx.dispatch().ack()
                } else {
                    ctx.dispatch().nack("other")
                };
                if let Err(error) = given {
                    assert_eq!(error.code().as_str(), "E_LLM_EXECUTION_ALREADY_SIGNALLED");
                    assert!(error.is_fatal());
                    count.fetch_add(1, Ordering::Relaxed);
                    return "too late";
                }
                if args["ack"] == true {
                    "acked"
                } else {
                    "nacked"
                }
            }
        })
        .build();
    let step = (1..MANY).fold(
        Step::call_tool("finish", json!({ "ack": true })),
        |step, n| step.call("finish", json!({ "ack": n % 2 == 0 })),
    );
    let runner = runner(ScriptedModel::new([step]))
        .tool(finish)
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert_eq!(late.load(Ordering::Relaxed), MANY - 1);
    let texts = texts(&outcome).await;
    let expected = match &outcome.status {
        TurnStatus::Answered => "acked",
        TurnStatus::Nacked(_) => "nacked",
        other => panic!("{other:?}"),
    };
    assert_eq!(
        texts.iter().filter(|text| *text == expected).count(),
        1,
        "{texts:?}"
    );
    assert_eq!(
        texts.iter().filter(|text| *text == "too late").count(),
        MANY - 1
    );
}

#[tokio::test]
async fn a_second_signal_is_an_error_and_changes_nothing() {
    let model = ScriptedModel::new([Step::run(|ctx| async move {
        ctx.ack()?;
        let error = ctx.nack("changed my mind").unwrap_err();
        assert_eq!(error.code(), ErrorCode::LLM_EXECUTION_ALREADY_SIGNALLED);
        assert!(error.is_fatal());
        assert_eq!(ctx.signal(), Some(Signal::Ack));
        Ok(())
    })]);
    let runner = runner(model).build().unwrap();
    assert!(runner.run("go").await.is_answered());
}

#[tokio::test]
async fn on_ack_work_runs_within_the_ack_unless_removed_and_never_on_a_nack() {
    for nack in [false, true] {
        let notes = Notes::default();
        let (runs, removed, seen) = (notes.clone(), notes.clone(), notes.clone());
        let model = ScriptedModel::new([Step::run(move |ctx| async move {
            ctx.on_ack(move || runs.note("runs"));
            ctx.on_ack(move || removed.note("removed")).remove();
            if nack {
                ctx.nack("no")?;
            } else {
                ctx.ack()?;
            }
            seen.note("after");
            Ok(())
        })]);
        let runner = runner(model).build().unwrap();
        runner.run("go").await;
        let expected: &[&str] = if nack { &["after"] } else { &["runs", "after"] };
        assert_eq!(notes.all(), expected);
    }
}

#[tokio::test]
async fn ephemeral_tools_are_removed_on_ack_and_stay_on_nack() {
    for nack in [false, true] {
        let notes = Notes::default();
        let seen = notes.clone();
        let look = move |ctx: TurnContext, next: Next<TurnContext>| {
            let names: Vec<String> = ctx
                .tools()
                .all()
                .iter()
                .map(|tool| tool.name().into())
                .collect();
            seen.note(names.join(" "));
            next.run()
        };
        let look = move |ctx: TurnContext, next: Next<TurnContext>| look(ctx, next);
        let step = Step::run(|ctx| async move {
            ctx.tools().register(
                tool("brief")
                    .ephemeral(true)
                    .handler(|_: Value, _: ToolContext| async { "" })
                    .build()?,
            )?;
            Ok(())
        });
        let step = if nack { step.then_nack("no") } else { step };
        let runner = runner(ScriptedModel::new([step]))
            .tool(returning("lasting", ""))
            .turn_output(look)
            .build()
            .unwrap();
        runner.run("go").await;
        assert_eq!(
            notes.all(),
            [if nack { "lasting brief" } else { "lasting" }]
        );
    }
}

#[tokio::test]
async fn records_stay_stored_after_a_nack() {
    let store = Arc::new(MemoryStore::default());
    let model = ScriptedModel::new([
        Step::think("hm").then_say("Let me try.").call("act", "{}"),
        Step::nack("I give up"),
    ]);
    let runner = runner(model)
        .storage(storage_of(Arc::clone(&store)))
        .tool(returning("act", "acted"))
        .build()
        .unwrap();
    let outcome = runner.run(stored("go")).await;
    assert!(matches!(outcome.status, TurnStatus::Nacked(_)));
    let held = held(&*store, &outcome).await;
    let kinds: Vec<&str> = held.iter().map(|record| record.kind().as_str()).collect();
    assert_eq!(
        kinds,
        [
            "turn",
            "lease",
            "message",
            "thought",
            "message",
            "tool_call",
            "ledger"
        ]
    );
    assert_eq!(outcome.records.len(), 4);
    assert_eq!(
        ledger(&*store, &outcome.conversation).await,
        [("act".to_owned(), "done")]
    );
}
