//! Turns that run under a call of another turn: the rules of the outer turns apply to them.

use tokio::sync::Notify;
use turnwright_core::record::Retrievable;
use turnwright_core::render::Taint;
use turnwright_core::runner::TurnRunnerBuilder;
use turnwright_core::store::MemoryStore;
use turnwright_core::tool::approval::ApprovalPolicy;
use turnwright_core::tool::approval::ApprovalRequest;
use turnwright_core::tool::approval::GateAnswer;
use turnwright_core::tool::approval::PendingCall;
use turnwright_core::tool::approval::Review;
use turnwright_core::tool::approval::{always, before_writes, policy, when, when_tainted};
use turnwright_core::trust::TrustTier;

use super::*;

/// A runner whose model makes one call and then reports its result.
fn agent(tool: &'static str, args: Value) -> TurnRunnerBuilder {
    runner(move |ctx: DispatchContext| {
        let args = args.clone();
        async move {
            let Some(call) = ctx.records().own_tool_calls().pop() else {
                ctx.call(tool, args).await;
                return Ok(());
            };
            ctx.answer(call.text().await.unwrap_or_default()).await?;
            Ok(())
        }
    })
}

/// A tool that may write, and records the arguments it ran with.
fn act(runs: &Notes) -> ToolBuilder<Value> {
    let runs = runs.clone();
    tool("act").handler(move |args: Value, _: ToolContext| {
        runs.note(args.to_string());
        async { "acted" }
    })
}

/// A tool that runs a turn of an agent under its call. It is read-only itself; approvals are for the agent's calls.
fn delegate(
    name: &str,
    agent: TurnRunner,
    input: impl Fn(TurnInput) -> TurnInput + Send + Sync + 'static,
) -> Tool {
    let delegating = tool(name).effects(Effects::ReadOnly);
    let delegating = delegating.handler(move |_: Value, ctx: ToolContext| {
        let turn = agent.start(input(TurnInput::new("go")).under_call(&ctx));
        async move { Ok::<_, ToolError>(turn.await.into_answer()?) }
    });
    delegating.build().unwrap()
}

fn same(input: TurnInput) -> TurnInput {
    input
}

/// A policy that records the turn of each review and allows the call.
fn noting(notes: &Notes, name: &'static str) -> impl ApprovalPolicy + use<> {
    let notes = notes.clone();
    policy(move |call| {
        let path = call.context().turn().outer_tools().join("/");
        notes.note(format!("{name}: {} in [{path}]", call.tool().name()));
        Review::Allow
    })
}

const NOT_APPROVED: &str = "The call was not approved. The tool was not run. Reason: ";

#[tokio::test]
async fn policies_of_outer_turns_review_first_outermost_before_others() {
    let (notes, runs) = (Notes::default(), Notes::default());
    let inner = agent("act", json!({}))
        .tool(act(&runs).approval(noting(&notes, "tool")).build())
        .policy(noting(&notes, "inner"))
        .build()
        .unwrap();
    let middle = agent("inner", json!({}))
        .tool(delegate("inner", inner, same))
        .policy(noting(&notes, "middle"))
        .build()
        .unwrap();
    let outer = agent("middle", json!({}))
        .tool(delegate("middle", middle, same))
        .policy(noting(&notes, "outer 1"))
        .policy(noting(&notes, "outer 2"))
        .build()
        .unwrap();
    assert_eq!(outer.run("go").await.into_answer().unwrap(), "acted");
    #[rustfmt::skip]
    assert_eq!(notes.all(), [
        "outer 1: middle in []", "outer 2: middle in []",
        "outer 1: inner in [middle]", "outer 2: inner in [middle]", "middle: inner in [middle]",
        "outer 1: act in [middle/inner]", "outer 2: act in [middle/inner]", "middle: act in [middle/inner]",
        "inner: act in [middle/inner]", "tool: act in [middle/inner]",
    ]);
    assert_eq!(runs.all().len(), 1);
}

#[tokio::test]
async fn an_outer_policy_can_deny_a_call_of_a_sub_agent() {
    for (rule, text) in [("ask", "no one can answer"), ("deny", "")] {
        let runs = Notes::default();
        let inner = agent("act", json!({})).tool(act(&runs).build());
        let outer = agent("inner", json!({})).tool(delegate("inner", inner.build().unwrap(), same));
        let outer = match rule {
            "ask" => outer.policy(before_writes("it may change something")),
            _ => outer.policy(policy(|call| match call.tool().effects() {
                Effects::ReadOnly => Review::Allow,
                _ => Review::deny("no writes"),
            })),
        };
        let outcome = outer.build().unwrap().run("go").await;
        let answer = outcome.into_answer().unwrap();
        assert!(
            answer.contains("not approved") && answer.contains(text),
            "{answer}"
        );
        assert_eq!(runs.all(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn the_request_to_an_outer_approver_names_the_sub_agent() {
    let (runs, asked) = (Notes::default(), Notes::default());
    let noted = asked.clone();
    let inner = agent("act", json!({ "n": 1 })).tool(act(&runs).build());
    let outer = agent("research", json!({}))
        .tool(delegate("research", inner.build().unwrap(), |input| {
            input.turn_id("inner-turn")
        }))
        .policy(before_writes("it may change something"))
        .approver(move |request: ApprovalRequest| {
            let path = request.outer_tools.join("/");
            let (turn, tool) = (&request.turn_id, request.tool.name());
            noted.note(format!(
                "{turn} {path} {tool} {} {}",
                request.args, request.reason
            ));
            async { GateAnswer::approve() }
        })
        .build()
        .unwrap();
    assert_eq!(outer.run("go").await.into_answer().unwrap(), "acted");
    let expected = r#"inner-turn research act {"n":1} it may change something"#;
    assert_eq!(asked.all(), [expected]);
    assert_eq!(runs.all(), [r#"{"n":1}"#]);
}

#[tokio::test]
async fn an_outer_approver_answers_for_an_inner_policy_without_approver() {
    for own in [false, true] {
        let (runs, asked) = (Notes::default(), Notes::default());
        let saying_yes = |who: &'static str| {
            let asked = asked.clone();
            move |_: ApprovalRequest| {
                asked.note(who);
                async { GateAnswer::approve() }
            }
        };
        let mut inner = agent("act", json!({}))
            .tool(act(&runs).build())
            .policy(always("careful"));
        if own {
            inner = inner.approver(saying_yes("inner"));
        }
        let outer = agent("inner", json!({}))
            .tool(delegate("inner", inner.build().unwrap(), same))
            .approver(saying_yes("outer"))
            .build()
            .unwrap();
        assert_eq!(outer.run("go").await.into_answer().unwrap(), "acted");
        assert_eq!(asked.all(), [if own { "inner" } else { "outer" }]);
    }
}

#[tokio::test]
async fn an_inner_approver_cannot_answer_for_an_outer_policy() {
    let (runs, asked) = (Notes::default(), Notes::default());
    let noted = asked.clone();
    let inner = agent("act", json!({}))
        .tool(act(&runs).build())
        .approver(move |_: ApprovalRequest| {
            noted.note("inner");
            async { GateAnswer::approve() }
        })
        .build()
        .unwrap();
    let outer = agent("inner", json!({}))
        .tool(delegate("inner", inner, same))
        .policy(before_writes("it may change something"))
        .build()
        .unwrap();
    let answer = outer.run("go").await.into_answer().unwrap();
    assert_eq!(answer, format!("{NOT_APPROVED}no one can answer"));
    assert_eq!((asked.all(), runs.all()), (vec![], vec![]));
}

#[tokio::test]
async fn arguments_edited_by_an_inner_approver_need_outer_approval() {
    let large = |call: &PendingCall<'_>| call.args()["n"].as_u64() > Some(9);
    for (answer, ran) in [
        (GateAnswer::approve(), 1),
        (GateAnswer::deny("too much"), 0),
    ] {
        let (runs, asked) = (Notes::default(), Notes::default());
        let noted = asked.clone();
        let inner = agent("act", json!({ "n": 1 }))
            .tool(act(&runs).build())
            .policy(always("careful"))
            .approver(|_: ApprovalRequest| async { GateAnswer::edit(json!({ "n": 99 })) })
            .build()
            .unwrap();
        let outer = agent("inner", json!({}))
            .tool(delegate("inner", inner, same))
            .policy(when(large, "it is much"))
            .approver(move |request: ApprovalRequest| {
                noted.note(request.args.to_string());
                let answer = answer.clone();
                async { answer }
            })
            .build()
            .unwrap();
        outer.run("go").await.into_answer().unwrap();
        assert_eq!(asked.all(), [r#"{"n":99}"#]);
        assert_eq!(runs.all().len(), ran);
    }
}

/// Optionally reads a page before it delegates.
fn reading(tier: Option<TrustTier>) -> impl Middleware<TurnContext> {
    move |ctx: TurnContext, next: Next<TurnContext>| async move {
        if let Some(tier) = tier {
            ctx.records()
                .add(Retrievable::text("A web page.", tier).build()?);
        }
        next.run().await
    }
}

/// Records the tiers of the prompt, least trusted first.
fn noting_taint(notes: &Notes) -> impl Middleware<TurnContext> + use<> {
    let notes = notes.clone();
    move |ctx: TurnContext, next: Next<TurnContext>| {
        notes.note(tiers(&ctx.taint()));
        next.run()
    }
}

fn tiers(taint: &Taint) -> String {
    let tiers: Vec<&str> = taint.tiers().map(TrustTier::as_str).collect();
    tiers.join(" ")
}

#[tokio::test]
async fn a_sub_agents_prompt_is_as_tainted_as_the_outer_one_at_any_depth() {
    let cases = [
        (None, "first-party", false),
        (Some(TrustTier::FirstParty), "first-party", false),
        (
            Some(TrustTier::ThirdPartyPrivate),
            "third-party-private first-party",
            true,
        ),
        (
            Some(TrustTier::ThirdPartyPublic),
            "third-party-public first-party",
            true,
        ),
    ];
    for (read, expected, asks) in cases {
        let (runs, seen) = (Notes::default(), Notes::default());
        let inner = agent("act", json!({}))
            .tool(act(&runs).build())
            .policy(when_tainted("others wrote here"))
            .turn_input(noting_taint(&seen))
            .build()
            .unwrap();
        let middle = agent("inner", json!({}))
            .tool(delegate("inner", inner, same))
            .turn_input(noting_taint(&seen))
            .build()
            .unwrap();
        let outer = agent("middle", json!({}))
            .tool(delegate("middle", middle, same))
            .turn_input(reading(read))
            .build()
            .unwrap();
        let answer = outer.run("go").await.into_answer().unwrap();
        assert_eq!(seen.all(), [expected, expected]);
        assert_eq!(answer != "acted", asks, "{answer}");
        assert_eq!(runs.all().len(), usize::from(!asks));
    }
}

#[tokio::test]
async fn a_sub_agents_answer_taints_the_outer_prompt_unless_the_tool_is_trusted() {
    for trusted in [false, true] {
        let inner = runner(ScriptedModel::new([Step::say("done")]));
        let inner = inner.build().unwrap();
        let delegating = tool("inner").trusted(trusted);
        let delegating = delegating.handler(move |_: Value, ctx: ToolContext| {
            let turn = inner.start(TurnInput::new("go").under_call(&ctx));
            async move { Ok::<_, ToolError>(turn.await.into_answer()?) }
        });
        let ctx = DispatchContext::builder()
            .tools(ToolRegistry::new([delegating.build().unwrap()]).unwrap())
            .storage(storage_with(
                MemoryStore::default(),
                spool::MemorySpool::default(),
            ))
            .build();
        let call = ctx.call("inner", "{}").await;
        assert_eq!(call.text().await.as_deref(), Some("done"));
        assert_eq!(ctx.taint().is_tainted(), !trusted);
    }
}

#[tokio::test]
async fn without_outer_rules_disables_outer_policies_for_inner_turns_too() {
    let (runs, seen, notes) = (Notes::default(), Notes::default(), Notes::default());
    let inner = agent("act", json!({}))
        .tool(act(&runs).build())
        .policy(when_tainted("others wrote here"))
        .turn_input(noting_taint(&seen))
        .build()
        .unwrap();
    let middle = agent("inner", json!({}))
        .tool(delegate("inner", inner, same))
        .policy(noting(&notes, "middle"))
        .build()
        .unwrap();
    let outer = agent("middle", json!({}))
        .tool(delegate("middle", middle, TurnInput::without_outer_rules))
        .policy(before_writes("it may change something"))
        .turn_input(reading(Some(TrustTier::ThirdPartyPublic)))
        .build()
        .unwrap();
    assert_eq!(outer.run("go").await.into_answer().unwrap(), "acted");
    assert_eq!(seen.all(), ["first-party"]);
    assert_eq!(
        notes.all(),
        ["middle: inner in [middle]", "middle: act in [middle/inner]"]
    );
}

#[tokio::test]
async fn a_gate_of_a_sub_agent_is_on_the_stream_of_the_outer_turn() {
    let runs = Notes::default();
    let inner = agent("act", json!({})).tool(act(&runs).build());
    let outer = agent("research", json!({}))
        .tool(delegate("research", inner.build().unwrap(), same))
        .policy(before_writes("it may change something"))
        .build()
        .unwrap();
    let mut turn = outer.start("go");
    let mut names = Vec::new();
    while let Some(event) = turn.next().await {
        names.push(event.name());
        if let EventKind::GateOpened(gate) = event.kind {
            assert_eq!(gate.question["tool"], "act");
            assert_eq!(gate.question["outerTools"], json!(["research"]));
            assert!(turn.gates().approve(&gate.id).unwrap());
        }
    }
    assert_eq!(turn.await.into_answer().unwrap(), "acted");
    #[rustfmt::skip]
    assert_eq!(names, [
        "turnStart", "toolExecutionStart", "turnGateOpen", "turnGateClosed", "toolCall", "messageDelta", "message", "turnEnd",
    ]);
}

#[tokio::test]
async fn the_gates_of_a_turn_under_a_call_end_with_it() {
    let inner = runner(ScriptedModel::new([Step::say("done")]));
    let inner = inner.build().unwrap();
    let delegating = tool("inner").handler(move |_: Value, ctx: ToolContext| {
        let turn = inner.start(TurnInput::new("go").under_call(&ctx));
        async move {
            let mut gates = turn.gates();
            let answer = turn.await.into_answer()?;
            assert!(gates.next().await.is_none(), "the inner turn has ended");
            Ok::<_, ToolError>(answer)
        }
    });
    let outer = agent("inner", json!({})).tool(delegating.build());
    let turn = outer.build().unwrap().start("go");
    let mut gates = turn.gates();
    assert_eq!(turn.await.into_answer().unwrap(), "done");
    assert!(gates.next().await.is_none());
}

/// Runs an inner turn in a process that dies while the inner tool runs. Returns what persists.
fn die_below(inner: &TurnRunnerParts, reached: &Notify) {
    let process = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let agent_below = inner.build();
    let outer = agent("inner", json!({}))
        .tool(delegate("inner", agent_below, |input| {
            input.conversation("inner-talk").turn_id("inner-turn")
        }))
        .turn_input(reading(Some(TrustTier::ThirdPartyPrivate)))
        .policy(noting(&inner.asked, "outer"))
        .build()
        .unwrap();
    let turn = process.block_on(async {
        let turn = outer.start("go");
        reached.notified().await;
        turn
    });
    drop((process, turn));
}

/// An agent with a persistent store, whose tool ends only in the second process.
struct TurnRunnerParts {
    store: Arc<MemoryStore>,
    look: Tool,
    seen: Notes,
    asked: Notes,
}

impl TurnRunnerParts {
    fn build(&self) -> TurnRunner {
        agent("look", json!({}))
            .storage(storage_of(Arc::clone(&self.store)))
            .tool(self.look.clone())
            .turn_input(noting_taint(&self.seen))
            .lease(std::time::Duration::from_millis(100))
            .build()
            .unwrap()
    }
}

#[test]
fn a_resumed_turn_has_the_rules_of_the_turns_that_it_ran_under() {
    let reached = Arc::new(Notify::new());
    let mut parts = TurnRunnerParts {
        store: Arc::default(),
        look: endless("look", &reached)
            .effects(Effects::ReadOnly)
            .build()
            .unwrap(),
        seen: Notes::default(),
        asked: Notes::default(),
    };
    die_below(&parts, &reached);
    assert_eq!(parts.seen.all(), ["third-party-private first-party"]);
    parts.look = returning("look", "seen");
    let process = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    process.block_on(async {
        // Alone it would run without the policies that applied to it.
        let inner = parts.build();
        let alone = inner.resume("inner-turn").await.unwrap().await;
        assert_eq!(code_of(&alone), "E_TURN_NOT_RESUMABLE");
        for advice in ["under_call(&ctx)", "without_outer_rules()"] {
            let advice = format!("`TurnInput::resume(id).{advice}`");
            assert!(error_of(&alone).message().contains(&advice));
        }
        // Under a call of a turn whose own prompt is clean.
        let delegating = tool("inner").effects(Effects::ReadOnly);
        let delegating = delegating.handler(move |_: Value, ctx: ToolContext| {
            let inner = inner.clone();
            async move {
                let input = TurnInput::resume("inner-turn")
                    .conversation("inner-talk")
                    .under_call(&ctx);
                let turn = inner.resume(input).await?;
                Ok::<_, ToolError>(turn.await.into_answer()?)
            }
        });
        let outer = agent("inner", json!({}))
            .tool(delegating.build())
            .policy(noting(&parts.asked, "second outer"))
            .build()
            .unwrap();
        assert_eq!(outer.run("go").await.into_answer().unwrap(), "seen");
        assert_eq!(parts.seen.all()[1], "third-party-private first-party");
        assert_eq!(
            parts.asked.all().last().unwrap(),
            "second outer: look in [inner]"
        );
    });
}

#[test]
fn a_turn_that_ran_under_a_call_can_be_resumed_alone_explicitly() {
    let reached = Arc::new(Notify::new());
    let mut parts = TurnRunnerParts {
        store: Arc::default(),
        look: endless("look", &reached)
            .effects(Effects::ReadOnly)
            .build()
            .unwrap(),
        seen: Notes::default(),
        asked: Notes::default(),
    };
    die_below(&parts, &reached);
    parts.look = returning("look", "seen");
    let process = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    process.block_on(async {
        let input = TurnInput::resume("inner-turn").without_outer_rules();
        let turn = parts.build().resume(input).await.unwrap();
        assert_eq!(turn.await.into_answer().unwrap(), "seen");
        // The taint of the outer turn is not inherited, but the model had proposed its call under it.
        assert_eq!(parts.seen.all()[1], "third-party-private first-party");
    });
}
