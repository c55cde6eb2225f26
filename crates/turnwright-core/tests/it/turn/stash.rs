//! The stash of a turn.

use super::*;

#[tokio::test]
async fn middleware_dispatches_and_handlers_share_the_stash() {
    let notes = Notes::default();
    let seen = notes.clone();
    let before = |ctx: TurnContext, next: Next<TurnContext>| async move {
        ctx.stash().set("trace.input", 1)?;
        next.run().await
    };
    let after = move |ctx: TurnContext, next: Next<TurnContext>| {
        seen.note(ctx.stash().get("trace").unwrap().to_string());
        async move { next.run().await }
    };
    let note = tool("note").handler(|_: Value, ctx: ToolContext| async move {
        ctx.stash().set("trace.handler", 2)?;
        Ok::<_, ToolError>("")
    });
    let model = ScriptedModel::new([
        Step::call_tool("note", "{}"),
        Step::run(|ctx| async move {
            assert_eq!(ctx.stash().get("trace.handler"), Some(json!(2)));
            ctx.stash().set("trace.executor", 3)?;
            Ok(())
        }),
    ]);
    let runner = runner(model.clone())
        .tool(note.build())
        .turn_input(before)
        .turn_output(after)
        .build()
        .unwrap();
    let outcome = runner
        .run(TurnInput::new("go").stash("trace.given", 0))
        .await;
    assert!(outcome.is_answered(), "{:?}", outcome.status);
    assert_eq!(
        notes.all(),
        [r#"{"given":0,"input":1,"handler":2,"executor":3}"#]
    );

    model.push(Step::run(|ctx| async move {
        assert!(
            !ctx.stash().has("trace.executor"),
            "another turn has its own"
        );
        Ok(())
    }));
    assert!(runner.run("again").await.is_answered());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn updates_by_concurrent_handlers_are_atomic() {
    const MANY: u64 = 12;
    let count = tool("count").handler(|_: Value, ctx: ToolContext| async move {
        for _ in 0..100 {
            ctx.stash()
                .update("n", |n| json!(n.and_then(|n| n.as_u64()).unwrap_or(0) + 1))?;
            tokio::task::yield_now().await;
        }
        Ok::<_, ToolError>("")
    });
    let step = (1..MANY).fold(Step::call_tool("count", "{}"), |step, _| {
        step.call("count", "{}")
    });
    let model = ScriptedModel::new([
        step,
        Step::run(|ctx| async move {
            ctx.answer(ctx.stash().get("n").unwrap().to_string())
                .await?;
            Ok(())
        }),
    ]);
    let runner = runner(model).tool(count.build()).build().unwrap();
    assert_eq!(runner.run("go").await.text, (MANY * 100).to_string());
}

#[tokio::test]
async fn stash_values_are_copies() {
    let model = ScriptedModel::new([Step::run(|ctx| async move {
        ctx.stash().set("list", json!([1, 2]))?;
        let mut taken = ctx.stash().get("list").unwrap();
        taken[0] = json!("changed");
        assert_eq!(ctx.stash().get("list.0"), Some(json!(1)));
        assert_eq!(ctx.stash().get_as::<Vec<u8>>("list"), Some(vec![1, 2]));
        Ok(())
    })]);
    let runner = runner(model).build().unwrap();
    assert!(runner.run("go").await.is_answered());
}
