//! Who a turn acts for.

use turnwright_core::store::TurnFilter;

use super::*;

/// A runner that fails in its first run, and answers with the principal in the second.
fn fails_once(storage: &Storage) -> TurnRunner {
    let failed = Notes::default();
    runner(move |ctx: DispatchContext| {
        let failed = failed.clone();
        async move {
            if !failed.has("failed") {
                failed.note("failed");
                return Err(BoxError::from("the model cannot be reached"));
            }
            ctx.answer(principal_of(ctx.turn())).await?;
            Ok(())
        }
    })
    .storage(storage.clone())
    .build()
    .unwrap()
}

fn principal_of(turn: &TurnContext) -> String {
    turn.principal()
        .map_or("nobody".to_owned(), ToString::to_string)
}

#[tokio::test]
async fn a_resumed_turn_acts_for_the_same_principal() {
    let storage = Storage::memory();
    let runner = fails_once(&storage);
    let input = TurnInput::new("hi").conversation("c").turn_id("t");
    assert!(!runner.run(input.principal("ada")).await.is_answered());
    let found = storage.store().find_turns(&TurnFilter::all()).await;
    let stored = found.unwrap().remove(0).turn.unwrap().principal.clone();
    assert_eq!(stored, Some(Principal::new("ada")));

    let other = runner.resume(TurnInput::resume("t").principal("bob")).await;
    let outcome = other.unwrap().await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::TURN_NOT_RESUMABLE);
    assert_eq!(
        error.message(),
        "the turn `t` acts for `ada` and cannot be resumed for `bob`: resume it without naming a principal"
    );
    assert_eq!(runner.resume("t").await.unwrap().await.text, "ada");
}

#[tokio::test]
async fn turns_under_a_call_inherit_the_principal_at_any_depth() {
    let seen = Notes::default();
    let delegate = |name: &str, inner: Option<TurnRunner>| {
        let seen = seen.clone();
        let tool = tool(name).handler(move |_: Value, ctx: ToolContext| {
            seen.note(format!(
                "{} {}",
                ctx.tool().name(),
                ctx.principal().unwrap()
            ));
            let turn = inner
                .as_ref()
                .map(|inner| inner.start(TurnInput::new("go").under_call(&ctx)));
            async move {
                match turn {
                    Some(turn) => Ok::<_, ToolError>(turn.await.into_answer()?),
                    None => Ok("done".to_owned()),
                }
            }
        });
        tool.build().unwrap()
    };
    let agent = |tool: Tool| {
        let name = tool.name().to_owned();
        let executor = move |ctx: DispatchContext| {
            let name = name.clone();
            async move {
                ctx.call(&name, json!({})).await;
                ctx.answer(principal_of(ctx.turn())).await?;
                Ok(())
            }
        };
        runner(executor).tool(tool).build().unwrap()
    };
    let middle = agent(delegate("inner", None));
    let outer = agent(delegate("outer", Some(middle)));
    let outcome = outer.run(TurnInput::new("go").principal("ada")).await;
    assert_eq!(outcome.into_answer().unwrap(), "ada");
    assert_eq!(seen.all(), ["outer ada", "inner ada"]);
}

#[tokio::test]
async fn a_principal_must_be_a_short_visible_text() {
    let runner = fails_once(&Storage::memory());
    for wrong in ["", "a\nb", &"x".repeat(257)] {
        let outcome = runner.run(TurnInput::new("hi").principal(wrong)).await;
        let error = outcome.error().unwrap().clone();
        assert_eq!(error.code(), ErrorCode::INVALID_TURN_CONTEXT, "{wrong:?}");
        assert!(error.message().contains("principal: must "), "{error}");
    }
}
