//! What is measured: requests, tokens, tools, gates and turns.

use std::time::Duration;

use serde_json::json;
use tracing::Level;
use turnwright_core::dispatch::{FinishReason, ModelRequest, ModelUsage};
use turnwright_core::gate::{GateAnswer, TurnGate};
use turnwright_core::middleware::compact;
use turnwright_core::tool::approval::always;
use turnwright_core::{
    BoxError, DispatchContext, Error, ErrorCode, Next, TurnContext, TurnInput, TurnStatus, Usage,
};

use super::collect::{Collector, Recorded, Seen};
use super::{Named, args, echo};

/// Returns the values of a metric, with its attributes in the order of their names.
fn measured(seen: &Seen, name: &str) -> Vec<(Recorded, Vec<String>)> {
    let of_name = |(field, _): &(&&'static str, &Recorded)| {
        field.split_once('.').is_some_and(|(_, rest)| rest == name)
    };
    let values = seen.metrics.iter().filter_map(|metric| {
        let (field, value) = metric.fields.iter().find(of_name)?;
        let others = metric.fields.iter().filter(|(other, _)| *other != field);
        let shown = |(name, value): (&&str, &Recorded)| match value {
            Recorded::Text(text) => format!("{name}={text}"),
            other => format!("{name}={other:?}"),
        };
        Some((value.clone(), others.map(shown).collect()))
    });
    values.collect()
}

fn of_model(rest: &[&str]) -> Vec<String> {
    let own = [
        "gen_ai.operation.name=chat",
        "gen_ai.provider.name=acme",
        "gen_ai.request.model=acme-large",
        "server.address=models.acme.example",
        "server.port=Number(443)",
    ];
    let mut all: Vec<String> = own
        .iter()
        .chain(rest)
        .map(|text| (*text).to_owned())
        .collect();
    all.sort();
    all
}

#[tokio::test(start_paused = true)]
async fn requests_and_tokens_are_measured_without_the_tools_that_run_meanwhile() {
    let traced = Collector::start();
    let slow = super::tool("slow", |text, _| async move {
        tokio::time::sleep(Duration::from_secs(5)).await;
        Ok(text)
    });
    let executor = Named::new(|ctx: DispatchContext| async move {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let usage = ModelUsage::new(Usage::tokens(100, 20)).duration(Duration::from_secs(2));
        let usage = usage.model("acme-large-2026");
        if ctx.iteration() == 1 {
            ctx.reporter()
                .usage(usage.finish_reason(FinishReason::ToolCalls));
            ctx.call("slow", args("a")).await;
            return Ok(());
        }
        ctx.reporter()
            .usage(usage.finish_reason(FinishReason::Stop));
        ctx.answer("done").await?;
        Ok(())
    });
    let runner = turnwright_core::runner(executor)
        .name("support")
        .tool(slow)
        .build()
        .unwrap();
    assert!(runner.run("hi").await.is_answered());
    let seen = traced.seen();

    let answered = "gen_ai.response.model=acme-large-2026";
    let request = (Recorded::Float(2.0), of_model(&[answered]));
    let requests = measured(&seen, "gen_ai.client.operation.duration");
    assert_eq!(requests, [request.clone(), request]);
    let tokens = measured(&seen, "gen_ai.client.token.usage");
    let of_type = |count: u64, kind: &str| {
        (
            Recorded::Count(count),
            of_model(&[answered, &format!("gen_ai.token.type={kind}")]),
        )
    };
    assert_eq!(tokens[..2], [of_type(100, "input"), of_type(20, "output")]);
    assert_eq!(tokens.len(), 4);
    assert_eq!(
        measured(&seen, "turnwright.tool.duration"),
        [(
            Recorded::Float(5.0),
            vec!["gen_ai.tool.name=slow".to_owned()]
        )]
    );
    let ended = [
        "gen_ai.agent.name=support",
        "turnwright.turn.ended=answered",
    ];
    assert_eq!(
        measured(&seen, "turnwright.turn.duration"),
        [(Recorded::Float(9.0), ended.map(str::to_owned).to_vec())]
    );
    // The bridge would add an event with a parent to its span.
    assert!(
        seen.metrics
            .iter()
            .all(|metric| metric.span.is_none() && metric.level == Level::TRACE)
    );
}

#[tokio::test]
async fn failed_requests_are_measured_once_with_their_error() {
    let overloaded = || Error::new(ErrorCode::MODEL_SERVER_ERROR, "overloaded");
    let error = "error.type=E_MODEL_SERVER_ERROR";
    let partial = || ModelUsage::new(Usage::tokens(100, 3));
    let cases = [
        // Without a response.
        (None, of_model(&[error])),
        // In the middle of one.
        (Some(partial()), of_model(&[error])),
        // After a complete one.
        (
            Some(partial().finish_reason(FinishReason::Stop)),
            of_model(&[]),
        ),
    ];
    for (usage, attributes) in cases {
        let traced = Collector::start();
        let known = usage.is_some();
        let executor = Named::new(move |ctx: DispatchContext| {
            let usage = usage.clone();
            async move {
                if let Some(usage) = usage {
                    ctx.reporter().usage(usage);
                }
                Err(overloaded().into())
            }
        });
        turnwright_core::runner(executor)
            .build()
            .unwrap()
            .run("hi")
            .await;
        let seen = traced.seen();
        let [(_, found)] = &measured(&seen, "gen_ai.client.operation.duration")[..] else {
            panic!("{:#?}", seen.metrics);
        };
        assert_eq!(*found, attributes);
        let tokens = measured(&seen, "gen_ai.client.token.usage");
        assert_eq!(tokens.len(), if known { 2 } else { 0 });
        let turns = measured(&seen, "turnwright.turn.duration");
        assert_eq!(turns[0].1, [error, "turnwright.turn.ended=failed"]);
    }
}

#[tokio::test(start_paused = true)]
async fn each_failed_request_is_measured_with_its_own_error_and_duration() {
    let traced = Collector::start();
    let executor = Named::new(|ctx: DispatchContext| async move {
        let reporter = ctx.reporter();
        reporter.request(ModelRequest::default());
        tokio::time::sleep(Duration::from_secs(2)).await;
        reporter.failed(ErrorCode::MODEL_SERVER_ERROR);
        tokio::time::sleep(Duration::from_secs(7)).await;
        reporter.request(ModelRequest::default());
        tokio::time::sleep(Duration::from_secs(3)).await;
        reporter.usage(Usage::tokens(100, 3));
        reporter.failed(ErrorCode::MODEL_TIMEOUT);
        reporter.request(ModelRequest::default());
        reporter.usage(Usage::tokens(100, 20));
        ctx.answer("done").await?;
        Ok(())
    });
    let runner = turnwright_core::runner(executor).build().unwrap();
    assert!(runner.run("hi").await.is_answered());
    assert_eq!(
        measured(&traced.seen(), "gen_ai.client.operation.duration"),
        [
            (
                Recorded::Float(2.0),
                of_model(&["error.type=E_MODEL_SERVER_ERROR"])
            ),
            (
                Recorded::Float(3.0),
                of_model(&["error.type=E_MODEL_TIMEOUT"])
            ),
            (Recorded::Float(0.0), of_model(&[])),
        ]
    );
}

#[tokio::test]
async fn tokens_of_a_summary_are_measured_like_those_of_the_turn() {
    let traced = Collector::start();
    let executor = Named::new(|ctx: DispatchContext| async move {
        ctx.reporter().usage(Usage::tokens(100, 10));
        ctx.answer("word ".repeat(300)).await?;
        Ok(())
    });
    let summariser = Named::new(|ctx: DispatchContext| async move {
        ctx.reporter().usage(Usage::tokens(700, 30));
        ctx.answer("Short.").await?;
        Ok(())
    });
    let compact = compact(2_000).request_tokens(4_000);
    let runner = turnwright_core::runner(executor)
        .dispatch_input(compact.summarise_with(summariser))
        .build()
        .unwrap();
    let mut used = Usage::default();
    for _ in 0..8 {
        let outcome = runner.run(TurnInput::new("hi").conversation("c")).await;
        assert!(outcome.is_answered());
        used += outcome.usage;
    }
    let seen = traced.seen();
    let tokens = measured(&seen, "gen_ai.client.token.usage");
    let count = |(value, _): &(Recorded, Vec<String>)| match value {
        Recorded::Count(count) => *count,
        other => panic!("{other:?}"),
    };
    assert_eq!(tokens.iter().map(count).sum::<u64>(), used.total_tokens());
    assert!(
        tokens
            .iter()
            .any(|(value, _)| *value == Recorded::Count(700))
    );
    // Each run of the summariser has a span too, of the same conversation.
    let chats = seen.named("chat").into_iter().map(|at| &seen.spans[at]);
    let conversations: Vec<_> = chats
        .map(|chat| chat.text("gen_ai.conversation.id").unwrap())
        .collect();
    assert_eq!(tokens.len(), 2 * conversations.len());
    assert!(conversations.iter().all(|id| *id == "c"));
}

#[tokio::test]
async fn unknown_usage_is_not_reported() {
    let traced = Collector::start();
    let executor = Named::new(|ctx: DispatchContext| async move {
        ctx.reporter().usage(Usage::tokens(0, 0));
        ctx.answer("done").await?;
        Ok(())
    });
    turnwright_core::runner(executor)
        .build()
        .unwrap()
        .run("hi")
        .await;
    let seen = traced.seen();
    assert_eq!(measured(&seen, "gen_ai.client.operation.duration").len(), 1);
    assert_eq!(measured(&seen, "gen_ai.client.token.usage"), []);
}

#[tokio::test]
async fn gates_and_refused_calls_are_counted() {
    let traced = Collector::start();
    let executor = |ctx: DispatchContext| async move {
        let gate = TurnGate::new("colour").question("Which?").build()?;
        ctx.turn().wait_for(gate).await?;
        ctx.call("echo", args("a")).await;
        ctx.call("nothing", "{}").await;
        ctx.answer("done").await?;
        Ok(())
    };
    let runner = turnwright_core::runner(executor)
        .tool(echo())
        .policy(always("Sure?"));
    let mut turn = runner
        .build()
        .unwrap()
        .start(TurnInput::new("hi").conversation("c"));
    let gates = turn.gates();
    while let Some(event) = turn.next().await {
        if let turnwright_core::EventKind::GateOpened(gate) = event.kind {
            let answer = match gate.kind.as_str() {
                "colour" => GateAnswer::from(json!("red")),
                _ => GateAnswer::deny("No."),
            };
            assert!(gates.answer(&gate.id, answer).unwrap());
        }
    }
    assert!(turn.await.is_answered());
    let seen = traced.seen();
    let attributes = |name: &str| -> Vec<Vec<String>> {
        let all = measured(&seen, name);
        all.into_iter().map(|(_, attributes)| attributes).collect()
    };
    assert_eq!(
        attributes("turnwright.gate.openings"),
        [
            ["turnwright.gate.kind=colour"],
            ["turnwright.gate.kind=approval"]
        ]
    );
    assert_eq!(
        attributes("turnwright.gate.duration"),
        [
            [
                "turnwright.gate.closed=resolved",
                "turnwright.gate.kind=colour"
            ],
            [
                "turnwright.gate.closed=resolved",
                "turnwright.gate.kind=approval"
            ],
        ]
    );
    // The name of an unknown tool is the model's, and could be anything.
    assert_eq!(
        attributes("turnwright.tool.refusals"),
        [
            vec![
                "error.type=E_TOOL_DENIED".to_owned(),
                "gen_ai.tool.name=echo".to_owned()
            ],
            vec!["error.type=E_UNKNOWN_TOOL".to_owned()],
        ]
    );
    assert_eq!(attributes("turnwright.tool.duration").len(), 0);
}

/// Asks twice in a layer that runs again whenever the turn is resumed.
async fn ask_twice(ctx: TurnContext, next: Next<TurnContext>) -> Result<(), BoxError> {
    for question in ["first", "second"] {
        let gate = TurnGate::new("colour").question(question).build()?;
        ctx.wait_for(gate).await?;
    }
    next.run().await
}

#[tokio::test]
async fn gates_of_a_suspended_turn_are_measured_once() {
    let traced = Collector::start();
    let executor = |ctx: DispatchContext| async move {
        match ctx.iteration() {
            1 => drop(ctx.call("echo", args("a")).await),
            _ => drop(ctx.answer("done").await?),
        }
        Ok(())
    };
    let runner = turnwright_core::runner(executor)
        .tool(echo())
        .policy(always("Sure?"))
        .turn_input(ask_twice)
        .suspend_at_gates()
        .build()
        .unwrap();
    let mut outcome = runner.run(TurnInput::new("hi").conversation("c")).await;
    while let TurnStatus::Suspended { gates, .. } = &outcome.status {
        let gate = &gates[0];
        let answer = match gate.kind.as_str() {
            "colour" => GateAnswer::from(json!("red")),
            _ => GateAnswer::approve(),
        };
        outcome = runner
            .answer_gate("c", &gate.id, answer)
            .await
            .unwrap()
            .await;
    }
    assert!(outcome.is_answered(), "{:?}", outcome.status);
    let seen = traced.seen();
    for name in ["turnwright.gate.openings", "turnwright.gate.duration"] {
        let kinds: Vec<String> = measured(&seen, name)
            .into_iter()
            .filter_map(|(_, attributes)| attributes.last().cloned())
            .collect();
        let kind = |kind: &str| format!("turnwright.gate.kind={kind}");
        assert_eq!(
            kinds,
            [kind("colour"), kind("colour"), kind("approval")],
            "{name}"
        );
    }
    let ended: Vec<_> = measured(&seen, "turnwright.turn.duration");
    assert_eq!(ended.len(), 4, "one for each run");
    for (_, attributes) in ended {
        assert!(
            !attributes.iter().any(|one| one.starts_with("error.type")),
            "a turn that waits has not failed: {attributes:?}"
        );
    }
}
