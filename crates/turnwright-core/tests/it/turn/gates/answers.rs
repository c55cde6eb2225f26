//! Answers that a gate accepts or rejects.

use super::*;

#[tokio::test]
async fn an_invalid_answer_leaves_the_gate_open() {
    let notes = Notes::default();
    let runner = runner(ScriptedModel::new([Step::say("done")]))
        .turn_input(asking(gate(), &notes))
        .build()
        .unwrap();
    let turn = runner.start("go");
    let gates = turn.gates();
    let id = opened(&gates).await[0].id.clone();
    for bad in [
        json!({}),
        json!("Elm"),
        json!({ "street": "Elm", "town": "X" }),
    ] {
        let error = gates.answer(&id, bad).unwrap_err();
        assert_eq!(error.code().as_str(), "E_INVALID_TURN_GATE_RESOLUTION");
        assert!(error.is_fatal());
        assert_eq!(gates.open()[0].id, id, "it is open still");
    }
    assert!(gates.answer(&id, json!({ "street": "Elm" })).unwrap());
    turn.await;
    assert_eq!(notes.all(), [r#"{"street":"Elm"}"#]);
}

#[tokio::test]
async fn a_second_answer_is_ignored() {
    let notes = Notes::default();
    let runner = runner(ScriptedModel::new([Step::say("done")]))
        .turn_input(asking(gate(), &notes))
        .build()
        .unwrap();
    let turn = runner.start("go");
    let (gates, others) = (turn.gates(), turn.gates());
    let id = opened(&gates).await[0].id.clone();
    assert!(gates.answer(&id, json!({ "street": "first" })).unwrap());
    assert!(!others.answer(&id, json!({ "street": "second" })).unwrap());
    assert!(!others.answer(&id, GateAnswer::reject("third")).unwrap());
    assert!(!others.answer("no such gate", json!({})).unwrap());
    turn.await;
    assert_eq!(notes.all(), [r#"{"street":"first"}"#]);
    assert!(!gates.answer(&id, json!({ "street": "too late" })).unwrap());
}

#[tokio::test]
async fn a_gate_without_a_schema_accepts_any_answer() {
    let notes = Notes::default();
    let any = TurnGate::new("any").build().unwrap();
    let runner = runner(ScriptedModel::new([Step::silent()]))
        .turn_input(asking(any, &notes))
        .build()
        .unwrap();
    let turn = runner.start("go");
    let gates = turn.gates();
    let id = opened(&gates).await[0].id.clone();
    assert!(gates.answer(&id, json!("just text")).unwrap());
    turn.await;
    assert_eq!(notes.all(), [r#""just text""#]);
}

#[tokio::test]
async fn an_answer_of_the_wrong_kind_is_rejected_and_the_gate_stays_open() {
    let model = ScriptedModel::new([Step::call_tool("ask", "{}"), Step::say("done")]);
    let ask = waiting(gate(), Duration::ZERO).approval(tool::approval::always("it asks"));
    let runner = runner(model).tool(ask.build()).build().unwrap();
    let turn = runner.start("go");
    let mut gates = turn.gates();

    let asked = gates.next().await.unwrap();
    assert_eq!(asked.kind, GateKind::Approval);
    let no_decision = gates.answer(&asked.id, json!("yes")).unwrap_err();
    assert_eq!(no_decision.code(), ErrorCode::INVALID_TURN_GATE_RESOLUTION);
    assert!(gates.answer(&asked.id, GateAnswer::approve()).unwrap());

    let asked = gates.next().await.unwrap();
    assert_eq!(asked.kind, GateKind::from("address"));
    let no_approval = gates.answer(&asked.id, GateAnswer::approve()).unwrap_err();
    assert!(
        no_approval.message().contains("GateAnswer::value"),
        "{no_approval}"
    );
    let answer = GateAnswer::value(json!({ "street": "Elm" }));
    assert!(gates.answer(&asked.id, answer).unwrap());
    assert!(turn.await.is_answered());
}

#[tokio::test]
async fn an_answer_that_is_not_accepted_is_described_once_and_as_an_answer() {
    let notes = Notes::default();
    let pay = Tool::dynamic(
        "pay",
        json!({ "type": "object", "properties": { "cents": { "type": "integer", "maximum": 9 } } }),
    );
    let pay = pay
        .description("Of a test.")
        .handler(|_: Value, _: ToolContext| async { "paid" });
    let model = ScriptedModel::new([Step::call_tool("pay", "{}"), Step::say("done")]);
    let runner = runner(model)
        .turn_input(asking(gate(), &notes))
        .tool(pay.build())
        .policy(tool::approval::always("it costs"))
        .build()
        .unwrap();
    let turn = runner.start("go");
    let mut gates = turn.gates();
    let address = gates.next().await.unwrap();
    let said = |id: &str, answer: GateAnswer| {
        let error = gates.answer(id, answer).unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_TURN_GATE_RESOLUTION);
        (error.with_causes(), error.faults().len())
    };
    let prefix = "the gate does not accept this answer:";
    let (text, faults) = said(&address.id, GateAnswer::value(5));
    assert_eq!(
        (text, faults),
        (
            format!("{prefix} the answer must be of type object (got 5)"),
            1
        )
    );
    let (text, _) = said(
        &address.id,
        GateAnswer::value(json!({ "street": 5, "number": "x" })),
    );
    assert!(text.starts_with(&format!("{prefix} /")), "{text}");
    assert!(!text.contains("arguments"), "{text}");

    let elm = GateAnswer::value(json!({ "street": "Elm" }));
    assert!(gates.answer(&address.id, elm).unwrap());
    let approval = gates.clone().next().await.unwrap();
    let (text, faults) = said(&approval.id, GateAnswer::edit(json!({ "cents": 10 })));
    let why = "the edited arguments are invalid: /cents must be at most 9 (got 10)";
    assert_eq!((text, faults), (format!("{prefix} {why}"), 1));
    assert!(gates.approve(&approval.id).unwrap());
    assert_eq!(turn.await.text, "done");
}
