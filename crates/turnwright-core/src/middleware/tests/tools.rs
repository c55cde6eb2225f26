use crate::effects::OnCollision;
use std::time::Duration;

use super::*;
use crate::artifact::Inline;
use crate::middleware::{fetch_tools, tool_filter, tool_filter_in};

type Names = Vec<String>;

/// Answers with all tools, then with the visible ones.
fn listing() -> TurnRunnerBuilder {
    runner(|ctx: DispatchContext| async move {
        let names = |tools: Vec<Tool>| tools.iter().map(|tool| tool.name().to_owned()).collect();
        let (all, shown): (Names, Names) = (names(ctx.tools().all()), names(ctx.tools().visible()));
        ctx.answer(format!("{} | {}", all.join(" "), shown.join(" ")))
            .await?;
        Ok(())
    })
}

#[tokio::test]
async fn a_filter_removes_tools_in_this_turn_only() {
    let filter = tool_filter_in(|ctx, tool| {
        ctx.stash().get_as::<bool>("admin") == Some(true) || tool.name() != "drop_tables"
    });
    let runner = listing()
        .tools([plain("look"), plain("drop_tables")])
        .turn_input(filter)
        .build()
        .unwrap();
    assert_eq!(runner.run("?").await.text, "look | look");
    let admin = runner.run(TurnInput::new("?").stash("admin", true)).await;
    assert_eq!(admin.text, "look drop_tables | look drop_tables");
    assert_eq!(runner.run("?").await.text, "look | look");
}

#[tokio::test]
async fn a_removed_tool_cannot_be_called_and_a_hidden_one_can() {
    for (hides, fine) in [(false, false), (true, true)] {
        let filter = tool_filter(|tool| tool.name() != "look");
        let filter = if hides { filter.hide_only() } else { filter };
        let runner = calling("look", 2)
            .tool(plain("look"))
            .dispatch_input(filter)
            .build()
            .unwrap();
        let outcome = runner.run("go").await;
        let call = outcome.tool_calls().next().unwrap();
        assert_eq!(!call.is_error(), fine);
    }
}

#[tokio::test]
async fn a_filter_that_passes_everything_has_no_effect() {
    let runner = listing()
        .tools([plain("a"), plain("b")])
        .turn_input(tool_filter(|_| true))
        .dispatch_input(tool_filter(|_| true).hide_only())
        .dispatch_input(
            |ctx: DispatchContext, next: Next<DispatchContext>| async move {
                assert!(ctx.stash().snapshot().is_empty());
                next.run().await
            },
        )
        .build()
        .unwrap();
    assert_eq!(runner.run("?").await.text, "a b | a b");
}

#[tokio::test]
async fn a_filter_shows_again_only_what_it_hid_itself() {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let into = Arc::clone(&seen);
    let runner = runner(move |ctx: DispatchContext| {
        let into = Arc::clone(&into);
        async move {
            let shown = ctx.tools().visible();
            let names: Vec<&str> = shown.iter().map(Tool::name).collect();
            into.lock().push(names.join(" "));
            ctx.stash().set("cart", 1)?;
            if ctx.iteration() == 2 {
                ctx.ack()?;
            }
            Ok(())
        }
    })
    .tools([plain("browse"), plain("checkout"), plain("secret")])
    .turn_input(|ctx: TurnContext, next: Next<TurnContext>| async move {
        ctx.tools().hide("secret");
        next.run().await
    })
    .dispatch_input(
        tool_filter_in(|ctx, tool| tool.name() == "browse" || ctx.stash().has("cart")).hide_only(),
    )
    .dispatch_input(tool_filter(|tool| tool.name() != "browse").hide_only())
    .build()
    .unwrap();
    assert!(runner.run("go").await.is_answered());
    assert_eq!(*seen.lock(), ["", "checkout"]);
}

#[tokio::test]
async fn artifact_tools_pass_by_default() {
    let log = || done(tool("log").inline(Inline::Never));
    let runner = listing()
        .tool(log())
        .dispatch_input(tool_filter(|tool| tool.name() == "log"))
        .build()
        .unwrap();
    let text = runner.run("?").await.text;
    assert!(text.contains("log artifact_head"), "{text}");
}

#[tokio::test]
async fn a_panicking_filter_fails_the_turn_and_changes_nothing() {
    let left: Arc<Mutex<usize>> = Arc::default();
    let into = Arc::clone(&left);
    let runner = listing()
        .tools([plain("a"), plain("b")])
        .turn_input(move |ctx: TurnContext, next: Next<TurnContext>| {
            let into = Arc::clone(&into);
            async move {
                let went = next.run().await;
                *into.lock() = ctx.tools().all().len();
                went
            }
        })
        .turn_input(tool_filter(|tool| match tool.name() {
            "a" => false,
            _ => panic!("on purpose"),
        }))
        .build()
        .unwrap();
    let outcome = runner.run("?").await;
    let error = outcome.error().unwrap();
    assert_eq!(error.code(), ErrorCode::INPUT_PIPELINE_ERROR);
    assert_eq!((*left.lock(), outcome.iterations), (2, 0));
}

#[tokio::test]
async fn fetched_tools_belong_to_the_turn_that_fetched_them() {
    let runner = listing()
        .tool(plain("base"))
        .turn_input(fetch_tools(|ctx: TurnContext| async move {
            let names: Vec<String> = ctx.stash().get_as("names").unwrap_or_default();
            Ok(names.iter().map(|name| plain(name)).collect())
        }))
        .build()
        .unwrap();
    let with = |names: Value| TurnInput::new("?").stash("names", names);
    let (one, two) = tokio::join!(
        runner.run(with(json!(["x"]))),
        runner.run(with(json!(["y", "z"])))
    );
    assert_eq!(one.text, "base x | base x");
    assert_eq!(two.text, "base y z | base y z");
    assert_eq!(runner.run("?").await.text, "base | base");
}

fn answers(name: &str, text: &'static str, on: OnCollision) -> Tool {
    tool(name)
        .on_collision(on)
        .handler(move |_: Value, _: ToolContext| async move { text })
        .build()
        .unwrap()
}

#[tokio::test]
async fn on_collision_of_the_fetched_tool_decides() {
    for (on, wanted) in [(OnCollision::Replace, "new"), (OnCollision::Keep, "old")] {
        let runner = runner(|ctx: DispatchContext| async move {
            let call = ctx.call("look", "{}").await;
            ctx.answer(call.text().await.unwrap()).await?;
            Ok(())
        })
        .tool(answers("look", "old", OnCollision::Error))
        .turn_input(fetch_tools(move |_| async move {
            Ok(vec![answers("look", "new", on)])
        }))
        .build()
        .unwrap();
        assert_eq!(runner.run("?").await.text, wanted);
    }
}

#[tokio::test]
async fn an_undecided_collision_reports_both_tools_and_adds_none() {
    let fetch = || {
        fetch_tools(|_| async {
            let there = Tool::dynamic("look", json!({ "type": "object" }));
            let there = there.description("Looks into the web.");
            Ok(vec![plain("first"), done(there)])
        })
    };
    let runner = listing()
        .tool(plain("look"))
        .turn_input(fetch())
        .build()
        .unwrap();
    let error = runner.run("?").await.into_answer().unwrap_err();
    assert_eq!(error.code(), ErrorCode::INPUT_PIPELINE_ERROR);
    for part in [
        "E_TOOL_ALREADY_REGISTERED",
        "Looks into the web.",
        "Does look.",
    ] {
        assert!(error.message().contains(part), "{error}");
    }
    let runner = listing()
        .tool(plain("look"))
        .turn_input(fetch().optional())
        .build()
        .unwrap();
    assert_eq!(runner.run("?").await.text, "look | look");
}

#[tokio::test]
async fn two_fetched_tools_of_one_name_always_collide() {
    let runner = listing()
        .turn_input(fetch_tools(|_| async {
            let replaces = || answers("look", "x", OnCollision::Replace);
            Ok(vec![replaces(), replaces()])
        }))
        .build()
        .unwrap();
    let error = runner.run("?").await.into_answer().unwrap_err();
    assert!(error.message().contains("`look`"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_fetch_fails_the_turn_or_causes_a_warning() {
    async fn broken(ctx: TurnContext) -> Result<Vec<Tool>, BoxError> {
        match ctx.stash().get_as::<String>("how").as_deref() {
            Some("fails") => Err("the server is down".into()),
            Some("hangs") => std::future::pending().await,
            _ => Ok(vec![plain("late")]),
        }
    }
    let strict = fetch_tools(broken).timeout(Duration::from_secs(5));
    let strict = listing().turn_input(strict).build().unwrap();
    let lenient = fetch_tools(broken)
        .timeout(Duration::from_secs(5))
        .optional();
    let lenient = listing()
        .tool(plain("base"))
        .turn_input(lenient)
        .build()
        .unwrap();
    for (how, shown_text) in [("fails", "the server is down"), ("hangs", "within 5s")] {
        let input = || TurnInput::new("?").stash("how", how);
        let error = strict.run(input()).await.into_answer().unwrap_err();
        assert!(error.message().contains(shown_text), "{error}");
        let events = heard(&lenient);
        assert_eq!(lenient.run(input()).await.text, "base | base");
        let warnings = of_event(&events, "warning");
        assert_eq!(warnings.len(), 1);
        let text = warnings[0]["message"].as_str().unwrap();
        assert!(text.contains(shown_text), "{text}");
    }
    let events = heard(&lenient);
    assert_eq!(lenient.run("?").await.text, "base late | base late");
    assert!(of_event(&events, "warning").is_empty());
}
