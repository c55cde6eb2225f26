//! `turnwright turns answer`: a suspended turn of another program is answered from a shell.

use std::sync::Arc;

use serde_json::{Value, json};
use turnwright::approval::always;
use turnwright::gate::TurnGate;
use turnwright::{
    BoxError, DispatchContext, SqliteStore, Tool, ToolContext, TurnInput, TurnOutcome, TurnRunner,
};

use super::{database, listed, newest, turns};
use crate::folder::Folder;
use crate::stored;

/// Calls the tools that the input names, and then says what came of the last.
async fn model(ctx: DispatchContext) -> Result<(), BoxError> {
    if let Some(call) = ctx.records().own_tool_calls().last() {
        ctx.answer(call.text().await.unwrap_or_default()).await?;
        return Ok(());
    }
    let input = ctx.input().map(|message| message.text().to_owned());
    let calls = input.iter().flat_map(|input| input.split_whitespace());
    let calls = calls.map(|tool| ctx.propose(tool, r#"{"cents": 7}"#));
    ctx.call_tools(calls.collect::<Vec<_>>()).await;
    Ok(())
}

async fn runner(store: &SqliteStore) -> TurnRunner {
    let object = || json!({ "type": "object" });
    let pay = Tool::dynamic("pay", object())
        .description("Pays.")
        .approval(always("it costs"))
        .handler(|args: Value, _: ToolContext| async move { format!("paid {}", args["cents"]) });
    let ask = Tool::dynamic("ask", object())
        .description("Asks where.")
        .effects(turnwright::Effects::ReadOnly)
        .handler(|_: Value, ctx: ToolContext| async move {
            let gate = TurnGate::new("address").question("Where?").build()?;
            let place = ctx.wait_for(gate).await?;
            Ok::<_, turnwright::ToolError>(format!("to {place}"))
        });
    turnwright::runner(model)
        .storage(store.storage().await.unwrap())
        .tool(pay.build())
        .tool(ask.build())
        .suspend_at_gates()
        .build()
        .unwrap()
}

/// Runs a turn until it is suspended. Returns the ids of its gates.
fn suspended(home: &Folder, input: &str) -> Vec<Arc<str>> {
    stored::look(&database(home), async |store| {
        let input = TurnInput::new(input).conversation("shop");
        let outcome = runner(store).await.run(input).await;
        let gates = outcome.open_gates().iter();
        gates.map(|gate| gate.id.clone()).collect()
    })
}

/// Resumes the turn in the program that has its tools.
fn resumed(home: &Folder, turn: &str) -> TurnOutcome {
    stored::look(&database(home), async |store| {
        runner(store).await.resume(turn).await.unwrap().await
    })
}

#[test]
fn an_approval_is_recorded_and_counts_when_the_turn_is_resumed() {
    for (options, text) in [
        (&["--approve"][..], "paid 7"),
        (&["--edit", r#"{"cents": 3}"#], "paid 3"),
        (&["--deny", "too dear"], "too dear"),
    ] {
        let home = Folder::new();
        let gates = suspended(&home, "pay");
        let turn = newest(&home);
        assert_eq!(listed(&home, &[])[0]["state"], "suspended");
        // The beginning of the id is enough, and the only open gate need not be named.
        let ran = turns(&home, &[&["answer", &turn[..30]], options].concat());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{ran:?}");
        let expected = format!("Recorded at {}: resume the turn to continue\n", gates[0]);
        assert_eq!(ran.out, expected);
        assert_eq!(listed(&home, &[])[0]["state"], "answered-not-resumed");
        let outcome = resumed(&home, &turn);
        let answer = outcome.into_answer().unwrap();
        assert!(answer.contains(text), "{options:?}: {answer}");
    }
}

#[test]
fn who_answered_is_recorded_and_shown() {
    for (options, shown) in [
        (
            &["--approve", "--by", "ada", "--note", "as agreed"][..],
            "  approved by ada: as agreed\n",
        ),
        (
            &["--deny", "too dear", "--by", "ada", "--note", "see 7"],
            "  denied by ada: too dear; see 7\n",
        ),
        (
            &["--edit", r#"{"cents": 3}"#, "--by", "ada"],
            "  approved with other arguments by ada {\"cents\":3}\n",
        ),
    ] {
        let home = Folder::new();
        suspended(&home, "pay");
        let turn = newest(&home);
        let ran = turns(&home, &[&["answer", &turn], options].concat());
        assert_eq!(ran.code, 0, "{ran:?}");
        let ran = turns(&home, &["show", &turn]);
        assert!(ran.out.contains(shown), "{}", ran.out);
    }
}

#[test]
fn the_first_answer_counts_and_others_are_refused() {
    let home = Folder::new();
    let gates = suspended(&home, "pay");
    let turn = newest(&home);
    let ran = turns(&home, &["answer", &turn, "--approve", "--json"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let said = &ran.json()[0];
    assert_eq!(said["gateId"], json!(gates[0]));
    assert_eq!(
        (&said["turnId"], &said["decision"]),
        (&json!(turn), &json!("approve"))
    );
    let ran = turns(&home, &["answer", &turn, "--deny", "no"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("the turn waits at no gate"), "{}", ran.err);
    assert_eq!(resumed(&home, &turn).text, "paid 7");
}

#[test]
fn one_of_several_gates_is_named_and_an_answer_is_checked() {
    let home = Folder::new();
    let gates = suspended(&home, "pay ask");
    assert_eq!(gates.len(), 2);
    let turn = newest(&home);
    let ran = turns(&home, &["answer", &turn, "--approve"]);
    assert_eq!(ran.code, 2);
    for gate in &gates {
        assert!(ran.err.contains(&**gate), "{}", ran.err);
    }
    // An address is not approved or denied.
    let ran = turns(&home, &["answer", &turn, "--gate", "address-", "--approve"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""));
    assert!(
        ran.err.contains("E_INVALID_TURN_GATE_RESOLUTION"),
        "{}",
        ran.err
    );
    let ran = turns(
        &home,
        &["answer", &turn, "--gate", "address-", "--value", "\"Elm\""],
    );
    assert_eq!(ran.code, 0, "{ran:?}");
    let ran = turns(&home, &["answer", &turn, "--approve"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let outcome = resumed(&home, &turn);
    assert_eq!(outcome.into_answer().unwrap(), "to \"Elm\"");
}
