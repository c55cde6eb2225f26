//! Gates of turns that have the same id in different conversations.

use super::*;

/// A tool that runs a turn with the id `same` in a conversation of its own. The turn waits at a gate.
fn delegate(name: &'static str, storage: &Storage, notes: &Notes) -> Tool {
    let inner = runner(ScriptedModel::new([Step::say("done")]))
        .storage(storage.clone())
        .turn_input(asking(gate(), notes));
    let inner = inner.build().unwrap();
    let tool = tool(name).handler(move |_: Value, ctx: ToolContext| {
        let inner = inner.clone();
        async move {
            let input = TurnInput::new("go").conversation(name).turn_id("same");
            inner.run(input.under_call(&ctx)).await.text
        }
    });
    tool.build().unwrap()
}

#[tokio::test]
async fn sub_agents_with_equal_turn_ids_wait_at_their_own_gates() {
    let (storage, notes) = (Storage::memory(), Notes::default());
    let model = ScriptedModel::new([
        Step::call_tool("first", "{}").call("second", "{}"),
        Step::say("done"),
    ]);
    let outer = runner(model)
        .tool(delegate("first", &storage, &notes))
        .tool(delegate("second", &storage, &notes));
    let turn = outer.build().unwrap().start("go");
    let mut gates = turn.gates();
    let first = gates.next().await.unwrap();
    let second = gates.next().await.unwrap();
    assert_ne!(first.id, second.id);
    for (gate, street) in [(&first, "Elm"), (&second, "Oak")] {
        assert!(gates.answer(&gate.id, json!({ "street": street })).unwrap());
    }
    assert!(turn.await.is_answered());
    let mut answers = notes.all();
    answers.sort();
    assert_eq!(answers, [r#"{"street":"Elm"}"#, r#"{"street":"Oak"}"#]);
}
