//! Budgets of a turn and the turns under its calls.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use turnwright_core::runner::Limit;
use turnwright_core::tool::approval::ApprovalRequest;
use turnwright_core::tool::approval::GateAnswer;

use tokio::sync::Notify;
use turnwright_core::runner::TurnRunnerBuilder;
use turnwright_core::tool::approval::always;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

/// A tool that records each run.
fn noting(name: &str, runs: &Notes) -> ToolBuilder<Value> {
    let runs = runs.clone();
    tool(name).handler(move |args: Value, _: ToolContext| {
        runs.note(args.to_string());
        async { "done" }
    })
}

/// A response with calls of one tool, with consecutive numbers.
fn calls(tool: &str, numbers: std::ops::Range<u32>) -> Step {
    costly_calls(0, tool, numbers)
}

/// The same, with this many tokens.
fn costly_calls(tokens: u64, tool: &str, numbers: std::ops::Range<u32>) -> Step {
    let call = |step: Step, n: u32| step.call(tool, json!({ "n": n }));
    let response = Step::silent().keep_open().usage(used(tokens));
    numbers.fold(response, call)
}

fn used(input: u64) -> Usage {
    Usage::tokens(input, 0)
}

#[tokio::test]
async fn the_response_that_uses_up_the_tokens_is_stored_and_its_calls_are_not_run() {
    let runs = Notes::default();
    let model = ScriptedModel::new([
        costly_calls(60, "act", 0..1),
        costly_calls(40, "act", 1..3),
        Step::say("Never."),
    ]);
    let runner = runner(model.clone()).tool(noting("act", &runs).build());
    let runner = runner.budget(Budget::new().tokens(100)).build().unwrap();
    let outcome = runner.run(stored("go")).await;
    assert!(matches!(
        outcome.status,
        TurnStatus::Limit(Limit::Tokens(100))
    ));
    assert_eq!(code_of(&outcome), "E_TURN_LIMIT");
    let message = error_of(&outcome).message().to_owned();
    assert!(message.contains("its budget of 100 tokens"), "{message}");
    assert_eq!((model.request_count(), runs.all().len()), (2, 1));
    let not_run = "The tool was not run because this turn has used up its budget of 100 tokens.";
    assert_eq!(texts(&outcome).await, ["done", not_run, not_run]);
}

#[tokio::test]
async fn an_answer_that_uses_up_the_tokens_is_an_answer() {
    let model = ScriptedModel::new([Step::say("Yes.").usage(used(500))]);
    let runner = runner(model)
        .budget(Budget::new().tokens(100))
        .build()
        .unwrap();
    assert_eq!(runner.run("go").await.into_answer().unwrap(), "Yes.");
}

#[tokio::test]
async fn calls_within_the_budget_complete_and_the_others_are_recorded_as_not_run() {
    let runs = Notes::default();
    let observed = Observed::default();
    let model = ScriptedModel::new([calls("act", 0..2), calls("act", 2..7), Step::say("Never.")]);
    let slow = {
        let runs = runs.clone();
        tool("act").handler(move |args: Value, _: ToolContext| {
            let runs = runs.clone();
            async move {
                // Others are refused meanwhile, which interrupts nothing.
                tokio::task::yield_now().await;
                runs.note(args["n"].to_string());
                "done"
            }
        })
    };
    let runner = runner(model.clone())
        .tool(slow.build())
        .budget(Budget::new().tool_calls(5))
        .observer(observed.observer())
        .build()
        .unwrap();
    let outcome = runner.run(stored("go")).await;
    assert!(matches!(
        outcome.status,
        TurnStatus::Limit(Limit::ToolCalls(5))
    ));
    let mut ran = runs.all();
    ran.sort();
    assert_eq!(ran, ["0", "1", "2", "3", "4"], "in the proposed order");
    let not_run = "The tool was not run because this turn has used up its budget of 5 tool calls.";
    let expected = ["done", "done", "done", "done", "done", not_run, not_run];
    assert_eq!(texts(&outcome).await, expected);
    assert_eq!(model.request_count(), 2);
    observed.assert_paired();
    let refused = observed.of("toolCallRefused");
    assert_eq!(refused.len(), 2);
    assert_eq!(refused[0]["code"], "E_TURN_LIMIT");
}

#[tokio::test]
async fn a_turn_may_answer_after_its_last_call_and_refused_calls_do_not_count() {
    let runs = Notes::default();
    let model = ScriptedModel::new([
        calls("nothing", 0..3),
        calls("act", 0..1),
        Step::say("Done."),
    ]);
    let runner = runner(model).tool(noting("act", &runs).build());
    let runner = runner.budget(Budget::new().tool_calls(1)).build().unwrap();
    assert_eq!(runner.run("go").await.into_answer().unwrap(), "Done.");
    assert_eq!(runs.all().len(), 1);
}

#[tokio::test]
async fn no_approval_is_requested_for_a_call_that_cannot_run() {
    let (runs, asked) = (Notes::default(), Notes::default());
    let noted = asked.clone();
    let model = ScriptedModel::new([calls("act", 0..1), calls("act", 1..2)]);
    let runner = runner(model)
        .tool(noting("act", &runs).approval(always("careful")).build())
        .approver(move |request: ApprovalRequest| {
            noted.note(request.args.to_string());
            async { GateAnswer::approve() }
        })
        .budget(Budget::new().tool_calls(1))
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    assert!(matches!(
        outcome.status,
        TurnStatus::Limit(Limit::ToolCalls(1))
    ));
    assert_eq!((asked.all().len(), runs.all().len()), (1, 1));
}

#[tokio::test]
async fn the_budget_of_a_turn_takes_precedence_over_that_of_the_runner() {
    let runs = Notes::default();
    let model = || ScriptedModel::new([calls("act", 0..5), Step::say("Done.")]);
    let run = async |of_turn: Budget| {
        let runner = runner(model()).tool(noting("act", &runs).build());
        let runner = runner.budget(Budget::new().tool_calls(2)).build().unwrap();
        runner
            .run(TurnInput::new("go").budget(of_turn))
            .await
            .status
            .as_str()
    };
    assert_eq!(run(Budget::new().tool_calls(5)).await, "answered");
    assert_eq!(run(Budget::new().tokens(5)).await, "limit");
    assert_eq!(runs.all().len(), 5 + 2);
}

#[tokio::test]
async fn invalid_budgets_are_errors() {
    let zero = || Budget::new().tokens(0).time(Duration::ZERO);
    let error = runner(ScriptedModel::new([]))
        .budget(zero())
        .build()
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_TURN_RUNNER_CONFIG);
    assert!(error.message().contains("budget.tokens") && error.message().contains("budget.time"));
    let runner = runner(ScriptedModel::new([])).build().unwrap();
    let outcome = runner.run(TurnInput::new("go").budget(zero())).await;
    assert_eq!(code_of(&outcome), "E_INVALID_TURN_CONTEXT");
}

/// A tool that runs a turn of an agent under its call, and records how it ended.
fn delegate(name: &'static str, agent: TurnRunner, ended: &Notes) -> Tool {
    let ended = ended.clone();
    let delegating = tool(name).handler(move |_: Value, ctx: ToolContext| {
        let turn = agent.start(TurnInput::new("go").under_call(&ctx));
        let ended = ended.clone();
        async move {
            let outcome = turn.await;
            ended.note(format!("{name}: {}", outcome.status.as_str()));
            Ok::<_, ToolError>(outcome.into_answer()?)
        }
    });
    delegating.build().unwrap()
}

/// Three nested agents. The innermost calls `act` twice in each of four iterations.
fn nested(runs: &Notes, ended: &Notes, budgets: [Budget; 3]) -> TurnRunner {
    let [outer, middle, inner] = budgets;
    let acting = runner(|ctx: DispatchContext| async move {
        if ctx.iteration() == 5 {
            ctx.answer("acted").await?;
            return Ok(());
        }
        ctx.reporter().usage(used(10));
        let proposed = (0..2).map(|n| ctx.propose("act", json!({ "n": n })));
        ctx.call_tools(proposed).await;
        Ok(())
    });
    let acting = acting.tool(noting("act", runs).build());
    let calling = |tool: &'static str, agent: TurnRunner| -> TurnRunnerBuilder {
        let model = move |ctx: DispatchContext| async move {
            ctx.reporter().usage(used(1));
            match ctx.iteration() {
                1 => drop(ctx.call(tool, "{}").await),
                _ => drop(ctx.answer("done").await?),
            }
            Ok(())
        };
        runner(model).tool(delegate(tool, agent, ended))
    };
    let inner_agent = acting.budget(inner).build().unwrap();
    let middle_agent = calling("inner", inner_agent)
        .budget(middle)
        .build()
        .unwrap();
    calling("middle", middle_agent)
        .budget(outer)
        .build()
        .unwrap()
}

#[tokio::test]
async fn usage_and_calls_of_nested_turns_count_for_all_outer_turns() {
    let none = Budget::new;
    // 8 calls of `act`, and one of each of the two agents below: 10 in total.
    for (budgets, status, ran, inner_ended) in [
        (
            [none(), none(), none()],
            "answered",
            8,
            ["inner: answered", "middle: answered"],
        ),
        (
            [none().tool_calls(10), none(), none()],
            "answered",
            8,
            ["inner: answered", "middle: answered"],
        ),
        (
            [none().tool_calls(9), none(), none()],
            "limit",
            7,
            ["inner: limit", "middle: limit"],
        ),
        (
            [none().tool_calls(4), none(), none()],
            "limit",
            2,
            ["inner: limit", "middle: limit"],
        ),
        (
            [none(), none().tool_calls(4), none()],
            "answered",
            3,
            ["inner: limit", "middle: limit"],
        ),
        (
            [none(), none(), none().tool_calls(5)],
            "answered",
            5,
            ["inner: limit", "middle: answered"],
        ),
        // The outer and the middle turn use 1 each before the inner one uses 10 in each iteration.
        (
            [none().tokens(22), none(), none()],
            "limit",
            2,
            ["inner: limit", "middle: limit"],
        ),
        (
            [none(), none().tokens(32), none()],
            "answered",
            6,
            ["inner: limit", "middle: limit"],
        ),
        (
            [none(), none(), none().tokens(31)],
            "answered",
            6,
            ["inner: limit", "middle: answered"],
        ),
    ] {
        let (runs, ended) = (Notes::default(), Notes::default());
        let outcome = nested(&runs, &ended, budgets).run(stored("go")).await;
        assert_eq!(
            outcome.status.as_str(),
            status,
            "{budgets:?}: {}",
            outcome.status
        );
        assert_eq!(runs.all().len(), ran, "{budgets:?}");
        assert_eq!(ended.all(), inner_ended, "{budgets:?}");
    }
}

#[tokio::test]
async fn usage_of_inner_turns_is_in_the_outcome_and_emitted_once() {
    let (runs, ended) = (Notes::default(), Notes::default());
    let observed = Observed::default();
    let none = Budget::new();
    let runner = nested(&runs, &ended, [none; 3]);
    let input = stored("go").observer(observed.observer());
    let outcome = runner.run(input).await;
    assert_eq!(outcome.usage.total_tokens(), 2 + 2 + 40);
    assert_eq!(outcome.usage.requests, 2 + 2 + 4);
    assert_eq!(observed.of("usage").len(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_calls_never_exceed_the_budget() {
    for most in [0, 1, 7, 30] {
        let started = Arc::new(AtomicUsize::new(0));
        let act = |name: &str| {
            let started = Arc::clone(&started);
            tool(name).handler(move |_: Value, _: ToolContext| {
                let started = Arc::clone(&started);
                async move {
                    started.fetch_add(1, Ordering::SeqCst);
                    tokio::task::yield_now().await;
                    "done"
                }
            })
        };
        // Eight concurrent agents, each with concurrent calls and calls that wait for approval.
        let inner = runner(|ctx: DispatchContext| async move {
            let of = |n: u32| if n.is_multiple_of(2) { "act" } else { "ask" };
            ctx.call_tools((0..10).map(|n| ctx.propose(of(n), json!({ "n": n }))))
                .await;
            ctx.answer("done").await?;
            Ok(())
        })
        .tool(act("act").build())
        .tool(act("ask").approval(always("careful")).build())
        .approver(|_: ApprovalRequest| async {
            tokio::task::yield_now().await;
            GateAnswer::approve()
        })
        .build()
        .unwrap();
        let agent = tool("agent").handler(move |_: Value, ctx: ToolContext| {
            let turn = inner.start(TurnInput::new("go").under_call(&ctx));
            async move { Ok::<_, ToolError>(turn.await.into_answer()?) }
        });
        let model = ScriptedModel::new([calls("agent", 0..8), Step::say("Done.")]);
        let runner = runner(model).tool(agent.build());
        let runner = runner
            .budget(Budget::new().tool_calls(8 + most))
            .build()
            .unwrap();
        let outcome = runner.run("go").await;
        assert!(
            matches!(outcome.status, TurnStatus::Limit(Limit::ToolCalls(_))),
            "{}",
            outcome.status
        );
        let started = started.load(Ordering::SeqCst) as u64;
        assert!(started <= most, "{started} of {most}");
        // The rest of the budget was used: no call was counted that did not run.
        assert_eq!(started, most);
    }
}

#[tokio::test]
async fn a_resumed_turn_has_the_rest_of_its_budget_unless_it_gets_a_larger_one() {
    let runs = Notes::default();
    let model = ScriptedModel::new([
        costly_calls(10, "act", 0..2),
        Step::fail("out of reach"),
        costly_calls(10, "act", 2..5),
        costly_calls(10, "act", 5..6),
        Step::say("Done.").usage(used(70)),
    ]);
    let runner = runner(model.clone()).tool(noting("act", &runs).build());
    let runner = runner.build().unwrap();
    let input = stored("go")
        .turn_id("t")
        .budget(Budget::new().tool_calls(4).tokens(1_000));
    assert_eq!(runner.run(input).await.status.as_str(), "failed");
    assert_eq!(runs.all().len(), 2);
    // The budget of the turn is stored with it, and so is its usage.
    let outcome = runner.resume("t").await.unwrap().await;
    assert!(
        matches!(outcome.status, TurnStatus::Limit(Limit::ToolCalls(4))),
        "{}",
        outcome.status
    );
    assert_eq!(runs.all().len(), 4);
    // Without a larger budget it uses no more.
    let tokens = TurnInput::resume("t").budget(Budget::new().tokens(20));
    let outcome = runner.resume(tokens).await.unwrap().await;
    assert!(
        matches!(outcome.status, TurnStatus::Limit(Limit::Tokens(20))),
        "{}",
        outcome.status
    );
    assert_eq!((model.request_count(), runs.all().len()), (3, 4));
    let more = TurnInput::resume("t").budget(Budget::new().tool_calls(5).tokens(500));
    let outcome = runner.resume(more).await.unwrap().await;
    assert_eq!(outcome.into_answer().unwrap(), "Done.");
    assert_eq!(runs.all().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_all_runs_counts_and_the_time_between_them_does_not() {
    let wait = |seconds: u32| {
        Step::run(move |_: DispatchContext| async move {
            tokio::time::sleep(seconds * SECOND).await;
            Ok(())
        })
    };
    let model = ScriptedModel::new([
        wait(6).keep_open(),
        Step::fail("out of reach"),
        wait(3).keep_open(),
        wait(3).keep_open(),
        Step::say("Done."),
    ]);
    let runner = runner(model).build().unwrap();
    let input = stored("go")
        .turn_id("t")
        .budget(Budget::new().time(10 * SECOND));
    assert_eq!(runner.run(input).await.status.as_str(), "failed");
    tokio::time::sleep(100 * SECOND).await;
    let outcome = runner.resume("t").await.unwrap().await;
    let TurnStatus::Limit(Limit::Time(time)) = outcome.status else {
        panic!("{}", outcome.status);
    };
    assert_eq!(time, 10 * SECOND);
    let more = TurnInput::resume("t").budget(Budget::new().time(15 * SECOND));
    let outcome = runner.resume(more).await.unwrap().await;
    assert_eq!(outcome.into_answer().unwrap(), "Done.");
}

fn process() -> tokio::runtime::Runtime {
    let builder = &mut tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

#[test]
fn the_usage_of_a_dead_process_counts() {
    let (runs, reached) = (Notes::default(), Arc::new(Notify::new()));
    let noted = (runs.clone(), Arc::clone(&reached));
    // Waits forever the first time it runs with `n = 2`.
    let act = tool("act")
        .effects(Effects::ReadOnly)
        .handler(move |args: Value, _: ToolContext| {
            let (runs, reached) = noted.clone();
            async move {
                runs.note(args["n"].to_string());
                let times = runs.all().iter().filter(|n| *n == "2").count();
                if args["n"] == 2 && times == 1 {
                    reached.notify_one();
                    std::future::pending::<()>().await;
                }
                "done"
            }
        });
    let model = ScriptedModel::new([
        costly_calls(30, "act", 0..2),
        costly_calls(30, "act", 2..3),
        costly_calls(30, "act", 3..5),
        Step::say("Never."),
    ]);
    let runner = runner(model)
        .tool(act.build())
        .budget(Budget::new().tool_calls(4).tokens(90))
        .lease(Duration::from_millis(200))
        .build()
        .unwrap();
    let dying = process();
    let turn = dying.block_on(async {
        let turn = runner.start(stored("go").turn_id("t"));
        reached.notified().await;
        turn
    });
    drop((dying, turn));
    let outcome = process().block_on(async { runner.resume("t").await.unwrap().await });
    // The interrupted call runs again and is counted once. The tokens of both runs count.
    assert!(
        matches!(outcome.status, TurnStatus::Limit(Limit::Tokens(90))),
        "{}",
        outcome.status
    );
    assert_eq!(runs.all(), ["0", "1", "2", "2"]);
    assert_eq!(outcome.usage.total_tokens(), 90);
    assert_eq!(outcome.tool_calls().count(), 5);
}
