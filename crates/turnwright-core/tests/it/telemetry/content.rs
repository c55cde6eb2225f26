//! Messages, arguments and results are traced only on request.

use serde_json::Value;
use turnwright_core::event::Level;
use turnwright_core::{DispatchContext, ToolError, TurnOutcome, TurnStatus};

use super::collect::{Collector, Seen};
use super::{args, echo, tool};

const CANARY: &str = "hunter2-canary";

/// A turn with the canary in all messages, arguments, results and errors.
async fn turn_of_secrets(content: bool) -> (TurnOutcome, Seen) {
    let traced = Collector::start();
    let secret = || format!("it is {CANARY}");
    let fails = tool("fails", move |_, _| async move {
        let source = std::io::Error::other(secret());
        Err(ToolError::internal(secret())
            .for_model(secret())
            .with_source(source))
    });
    let panics = tool("panics", |text, _| async move { panic!("{text}") });
    let executor = move |ctx: DispatchContext| async move {
        let mut thought = ctx.reporter().thought();
        thought.push(secret()).await;
        thought.finish().await?;
        let mut message = ctx.reporter().message();
        message.push(secret()).await;
        message.finish().await?;
        ctx.call_tools([
            ctx.propose("echo", args(&secret())),
            ctx.propose("fails", args(&secret())),
            ctx.propose("panics", args(&secret())),
            ctx.propose(CANARY, args(&secret())),
            ctx.propose("echo", format!(r#"{{"text": 1, "{CANARY}": "{CANARY}"}}"#)),
            ctx.propose("echo", secret()),
        ])
        .await;
        ctx.stash().set("password", secret())?;
        Err(secret().into())
    };
    let runner = turnwright_core::runner(executor)
        .tool(echo())
        .tool(fails)
        .tool(panics)
        .trace_content(content)
        .build()
        .unwrap();
    let outcome = runner.run(secret()).await;
    (outcome, traced.seen())
}

#[tokio::test]
async fn content_is_not_traced_by_default() {
    let (outcome, seen) = turn_of_secrets(false).await;
    assert!(
        matches!(&outcome.status, TurnStatus::Failed(error) if error.message().contains(CANARY))
    );
    assert_eq!(outcome.tool_calls().count(), 6);
    assert_eq!(seen.named("execute_tool").len(), 3);
    assert!(!seen.events.is_empty());
    assert!(!seen.holds(CANARY), "{seen:#?}");
    for name in [
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "gen_ai.input.messages",
        "gen_ai.output.messages",
    ] {
        assert!(seen.spans.iter().all(|span| span.text(name).is_none()));
    }
}

#[tokio::test]
async fn reasons_of_nacked_and_aborted_turns_are_not_traced_by_default() {
    for aborts in [false, true] {
        let traced = Collector::start();
        let executor = move |ctx: DispatchContext| async move {
            if aborts {
                ctx.turn().abort(CANARY);
            } else {
                ctx.nack(CANARY)?;
            }
            Ok(())
        };
        let runner = turnwright_core::runner(executor).build().unwrap();
        let outcome = runner.run("hi").await;
        assert!(outcome.into_answer().is_err());
        assert!(!traced.seen().holds(CANARY));
    }
}

#[tokio::test]
async fn content_is_traced_on_request() {
    let (outcome, seen) = turn_of_secrets(true).await;
    let secret = format!("it is {CANARY}");
    let content = |span: &super::collect::SeenSpan, name: &str| {
        let messages: Value = serde_json::from_str(span.text(name).unwrap()).unwrap();
        (
            messages[0]["role"].as_str().unwrap().to_owned(),
            messages[0]["parts"][0]["content"]
                .as_str()
                .unwrap()
                .to_owned(),
        )
    };
    for name in ["invoke_agent", "chat"] {
        let span = seen.the(name);
        let input = content(span, "gen_ai.input.messages");
        assert_eq!(input, ("user".to_owned(), secret.clone()), "{name}");
        let output = content(span, "gen_ai.output.messages");
        assert_eq!(output, ("assistant".to_owned(), secret.clone()), "{name}");
    }
    for call in outcome.tool_calls().take(3) {
        let of_call =
            |span: &&super::collect::SeenSpan| span.text("gen_ai.tool.call.id") == Some(call.id());
        let span = seen.spans.iter().find(of_call).unwrap();
        let given = span.text("gen_ai.tool.call.arguments").unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(given).unwrap()["text"],
            secret
        );
        let result = span.text("gen_ai.tool.call.result");
        assert_eq!(result, call.text().await.as_deref());
    }
    let message = seen.events.iter().map(|event| event.message());
    assert_eq!(
        message.filter(|message| message.contains(CANARY)).count(),
        1
    );
}

#[tokio::test]
async fn traced_content_is_limited() {
    let traced = Collector::start();
    let long = "€".repeat(100_000);
    let given = long.clone();
    let executor = move |ctx: DispatchContext| {
        let long = given.clone();
        async move {
            ctx.log(Level::Info, long.clone());
            ctx.call("echo", args(&long)).await;
            ctx.answer(long.clone()).await?;
            Err(long.into())
        }
    };
    let runner = turnwright_core::runner(executor)
        .tool(echo())
        .trace_content(true);
    runner.build().unwrap().run(long).await;
    let seen = traced.seen();
    let mut cut = 0;
    for span in &seen.spans {
        for name in span.fields.keys() {
            let Some(super::collect::Recorded::Text(text)) = span.fields.get(name) else {
                continue;
            };
            assert!(text.len() < 8 * 1024 + 256, "{name}: {}", text.len());
            cut += usize::from(text.contains("more bytes omitted"));
        }
    }
    assert_eq!(cut, 6, "{:#?}", seen.paths());
    for event in &seen.events {
        assert!(event.message().ends_with("more bytes omitted)"));
        assert!(event.message().len() < 8 * 1024 + 256);
    }
    assert_eq!(seen.events.len(), 2);
}
