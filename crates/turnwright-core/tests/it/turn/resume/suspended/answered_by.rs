//! Who answered at a gate.

use super::*;
use turnwright_core::Principal;
use turnwright_core::record::GateRecord;
use turnwright_core::tool::approval::{
    ApprovalPolicy, ApprovalRequest, GateAnswer, Review, policy,
};

fn by_ada() -> GateAnswer {
    GateAnswer::approve().by("ada").note("as agreed")
}

/// The only gate in the store.
async fn stored(world: &World) -> Arc<GateRecord> {
    let gates = world.store.gates(&ConversationId::new(TALK)).await;
    gates.unwrap().remove(0)
}

#[test]
fn who_answered_is_stored_and_in_the_events_of_the_resumed_turn() {
    let world = World::default();
    let id = suspend(&world.paying(&pays()).suspend_at_gates().build().unwrap());
    process().block_on(async {
        let observed = Observed::default();
        let second = world.paying(&answers()).observer(observed.observer());
        let second = second.build().unwrap();
        let mut turn = second.answer_gate(TALK, &id, by_ada()).await.unwrap();
        let mut streamed = Vec::new();
        while let Some(event) = turn.next().await {
            streamed.push(serde_json::to_value(&event).unwrap());
        }
        assert_eq!(stored(&world).await.answer(), Some(&by_ada()));
        streamed.retain(|event| event["event"] == "turnGateClosed");
        for closed in [&streamed[..], &observed.of("turnGateClosed")[..]] {
            let [closed] = closed else {
                panic!("{closed:?}")
            };
            assert_eq!(closed["id"], json!(id));
            assert_eq!(
                (&closed["how"], &closed["by"], &closed["note"]),
                (&json!("resolved"), &json!("ada"), &json!("as agreed"))
            );
        }
    });
}

#[test]
fn who_answered_a_turn_in_memory_is_stored_and_in_its_events() {
    let world = World::default();
    process().block_on(async {
        let model = ScriptedModel::new([
            Step::call_tool("pay", r#"{"amount": 7}"#),
            Step::say("done"),
        ]);
        let observed = Observed::default();
        let runner = world.paying(&model).observer(observed.observer());
        let turn = runner.build().unwrap().start(go_input());
        let mut gates = turn.gates();
        let gate = gates.next().await.unwrap();
        assert!(gates.answer(&gate.id, by_ada()).unwrap());
        assert!(turn.await.is_answered());
        assert_eq!(stored(&world).await.answer(), Some(&by_ada()));
        assert_eq!(observed.of("turnGateClosed")[0]["by"], "ada");
    });
}

#[test]
fn an_answer_by_an_invalid_principal_is_not_accepted() {
    let world = World::default();
    let runner = world.paying(&pays()).suspend_at_gates().build().unwrap();
    let id = suspend(&runner);
    process().block_on(async {
        let answered = runner.answer_gate(TALK, &id, GateAnswer::approve().by(""));
        let error = answered.await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_TURN_GATE_RESOLUTION);
        assert_eq!(world.gate_states().await, [GateState::Open]);
    });
}

fn four_eyes(builder: TurnRunnerBuilder) -> TurnRunnerBuilder {
    builder.policy(policy(|_| Review::ask("it moves money").by_another()))
}

#[test]
fn a_policy_can_demand_that_another_principal_approves() {
    let world = World::default();
    let first = four_eyes(world.paying(&pays())).suspend_at_gates();
    let first = first.build().unwrap();
    process().block_on(async {
        let outcome = first.run(go_input().principal("ada")).await;
        let gate = gates_of(&outcome).remove(0);
        assert_eq!(gate.question["notBy"], json!(["ada"]));
        let second = four_eyes(world.paying(&answers())).build().unwrap();
        for (answer, why) in [
            (
                GateAnswer::approve(),
                "it must name who approves (`by`), and that must not be `ada`, who asked for this call",
            ),
            (
                by_ada(),
                "`ada` asked for this call, so another principal must approve it",
            ),
            (
                GateAnswer::edit(json!({ "amount": 1 })).by("ada"),
                "`ada` asked for this call, so another principal must approve it",
            ),
        ] {
            // Also where only the store is known.
            let storage = world.storage();
            let recorded = storage.answer_gate(TALK, &gate.id, answer.clone());
            let continued = second.answer_gate(TALK, &gate.id, answer);
            for error in [
                recorded.await.unwrap_err(),
                continued.await.unwrap_err(),
            ] {
                assert_eq!(error.code(), ErrorCode::INVALID_TURN_GATE_RESOLUTION);
                let expected = format!("the gate does not accept this answer: {why}");
                assert_eq!(error.message(), expected);
            }
        }
        let answer = GateAnswer::approve().by("bob");
        let turn = second.answer_gate(TALK, &gate.id, answer).await.unwrap();
        assert!(turn.await.is_answered());
        assert_eq!(world.runs.all().len(), 1);
    });
}

#[test]
fn arguments_that_the_one_who_asked_edits_to_need_another_principal() {
    let world = World::default();
    let large = |builder: TurnRunnerBuilder| {
        let policy = policy(|call| match call.args()["amount"].as_u64() {
            Some(..=50) => Review::ask("it moves money"),
            _ => Review::ask("it moves much money").by_another(),
        });
        builder.policy(policy).suspend_at_gates().build().unwrap()
    };
    process().block_on(async {
        let outcome = large(world.paying(&pays()))
            .run(go_input().principal("ada"))
            .await;
        let gate = gates_of(&outcome).remove(0);
        assert_eq!(gate.question.get("notBy"), None);
        let second = large(world.paying(&answers()));
        let edit = GateAnswer::edit(json!({ "amount": 90 })).by("ada");
        let edited = second.answer_gate(TALK, &gate.id, edit).await.unwrap();
        let gate = gates_of(&edited.await).remove(0);
        assert_eq!(gate.question["args"], json!({ "amount": 90 }));
        assert_eq!(gate.question["notBy"], json!(["ada"]));
        assert!(world.runs.all().is_empty());
        let own = second.answer_gate(TALK, &gate.id, by_ada()).await;
        let code = own.unwrap_err().code();
        assert_eq!(code, ErrorCode::INVALID_TURN_GATE_RESOLUTION);
        let answer = GateAnswer::approve().by("bob");
        let turn = second.answer_gate(TALK, &gate.id, answer).await.unwrap();
        assert!(turn.await.is_answered());
        assert_eq!(world.runs.all().len(), 1);
    });
}

#[test]
fn the_one_who_asked_can_deny_and_a_turn_without_a_principal_is_denied() {
    let world = World::default();
    process().block_on(async {
        let runner = || {
            let model = ScriptedModel::new([
                Step::call_tool("pay", r#"{"amount": 7}"#),
                Step::say("done"),
            ]);
            four_eyes(world.paying(&model)).build().unwrap()
        };
        let turn = runner().start(TurnInput::new("go").principal("ada"));
        let mut gates = turn.gates();
        let gate = gates.next().await.unwrap();
        let error = gates.answer(&gate.id, by_ada()).unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_TURN_GATE_RESOLUTION);
        let denied = GateAnswer::deny("a mistake").by("ada");
        assert!(gates.answer(&gate.id, denied).unwrap());
        assert!(texts(&turn.await).await[0].contains("a mistake"));

        let observed = Observed::default();
        let input = TurnInput::new("go").observer(observed.observer());
        let nobody = runner().run(input).await;
        // The model reads plain words, and operators what to do.
        let text = &texts(&nobody).await[0];
        assert!(text.contains("it is not known who asked"), "{text}");
        assert!(!text.contains("TurnInput"), "{text}");
        let warning = observed.of("warning")[0]["message"].to_string();
        assert!(warning.contains("set `TurnInput::principal`"), "{warning}");
        assert!(world.runs.all().is_empty());
    });
}

#[test]
fn an_approver_can_name_who_approved() {
    process().block_on(async {
        for (approval, ran) in [
            (GateAnswer::approve(), 0),
            (by_ada(), 0),
            (GateAnswer::approve().by("bob"), 1),
        ] {
            let world = World::default();
            let model = ScriptedModel::new([
                Step::call_tool("pay", r#"{"amount": 7}"#),
                Step::say("done"),
            ]);
            let runner = four_eyes(world.paying(&model));
            let runner = runner.approver(move |request: ApprovalRequest| {
                assert_eq!(request.not_by, ["ada".into()]);
                let approval: GateAnswer = approval.clone();
                async move { approval }
            });
            let runner = runner.build().unwrap();
            let outcome = runner.run(go_input().principal("ada")).await;
            assert!(outcome.is_answered());
            assert_eq!(world.runs.all().len(), ran);
            // The model does not learn who may approve.
            let text = &texts(&outcome).await[0];
            assert!(!text.contains("ada") && !text.contains("`by`"), "{text}");
        }
    });
}

/// Runs `pay` in a sub-agent for `agent-7`, in a turn for Ada with this policy, and has it approved by someone. Returns who must
/// not approve, and whether it ran.
async fn pay_in_a_sub_agent(
    policy: impl ApprovalPolicy + 'static,
    inner_policy: impl ApprovalPolicy + 'static,
    by: &'static str,
) -> (Vec<Principal>, bool) {
    let world = World::default();
    let model = ScriptedModel::new([
        Step::call_tool("pay", r#"{"amount": 7}"#),
        Step::say("done"),
    ]);
    let inner = world.paying(&model).policy(inner_policy).build().unwrap();
    let delegate = tool("delegate").handler(move |_: Value, ctx: ToolContext| {
        let inner = inner.clone();
        async move {
            let input = TurnInput::new("pay").under_call(&ctx).principal("agent-7");
            Ok::<_, ToolError>(inner.run(input).await.into_answer()?)
        }
    });
    let model = ScriptedModel::new([Step::call_tool("delegate", "{}"), Step::say("Done.")]);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&asked);
    let outer = world.runner(&model).tool(delegate.build()).policy(policy);
    let outer = outer.approver(move |request: ApprovalRequest| {
        *seen.lock() = request.not_by;
        async move { GateAnswer::approve().by(by) }
    });
    assert!(
        outer
            .build()
            .unwrap()
            .run(go_input().principal("ada"))
            .await
            .is_answered()
    );
    let asked = asked.lock().clone();
    (asked, !world.runs.all().is_empty())
}

#[test]
fn neither_the_principal_of_the_outer_turn_nor_that_of_its_sub_agent_approves() {
    let asks = |by_another: bool| {
        policy(move |call| match call.tool().name() {
            "pay" if by_another => Review::ask("it moves money").by_another(),
            "pay" => Review::ask("it moves money"),
            _ => Review::Allow,
        })
    };
    process().block_on(async {
        for (by, ran) in [("ada", false), ("agent-7", false), ("bob", true)] {
            // Also if only one of the policies demands it.
            for (outer, inner) in [(true, false), (false, true)] {
                let (not_by, has_run) = pay_in_a_sub_agent(asks(outer), asks(inner), by).await;
                assert_eq!(not_by, ["agent-7".into(), "ada".into()]);
                assert_eq!(has_run, ran, "{by}");
            }
        }
    });
}
