//! What servers ask for during calls: answers of the user, of a model, and roots.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use turnwright_core::event::{Event, EventKind};
use turnwright_core::gate::{GateAnswer, TurnActivity};
use turnwright_core::{
    BoxError, DispatchContext, Message, Storage, TurnInput, TurnOutcome, TurnRunner, TurnStatus,
};
use turnwright_mcp::{
    Limits, Mcp, McpExt as _, McpServer, SamplingAnswer, SamplingRequest, ServerState,
};

use crate::client::caller;
use crate::killed::model;
use crate::server::{folder, received, server};

/// Runs a turn in which the user answers each question with a colour. Returns its outcome and the warnings.
async fn answered(runner: &TurnRunner) -> (TurnOutcome, Vec<String>) {
    answered_input(runner, TurnInput::new("Go.")).await
}

async fn answered_input(runner: &TurnRunner, input: TurnInput) -> (TurnOutcome, Vec<String>) {
    let warnings = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&warnings);
    let input = input.observer(move |event: &Event| {
        if let EventKind::Warning { message, .. } = &event.kind {
            noted.lock().push(message.clone());
        }
    });
    let mut turn = runner.start(input);
    while let Some(event) = turn.next().await {
        if let EventKind::GateOpened(gate) = event.kind {
            let answer = GateAnswer::value(json!({ "colour": "red" }));
            assert!(turn.gates().answer(&gate.id, answer).unwrap());
        }
    }
    let outcome = turn.await;
    let warnings = std::mem::take(&mut *warnings.lock());
    (outcome, warnings)
}

/// Lets the server use a model that repeats what it reads.
fn with_sampling(server: McpServer) -> McpServer {
    let model = |ctx: DispatchContext| async move {
        let read = ctx.records().all::<Message>();
        let read = read.first().map(|message| message.text().to_owned());
        assert!(ctx.taint().is_tainted());
        ctx.answer(read.unwrap()).await?;
        Ok(())
    };
    let runner = turnwright_core::runner(model).build().unwrap();
    server.sampling(move |request: SamplingRequest| {
        let runner = runner.clone();
        async move {
            let answer = runner.run(request.input()?).await.into_answer()?;
            let text = format!("{}: {answer}", request.server);
            Ok::<_, BoxError>(SamplingAnswer::new("small", text))
        }
    })
}

#[tokio::test]
async fn sampling_is_answered_by_the_handler() {
    let server = server("wants-to-sample", &folder("sampling"));
    let runner = caller([with_sampling(server)], "test__echo", json!({}));
    let outcome = runner.run("Go.").await;
    let answer: Value = serde_json::from_str(&outcome.text).unwrap();
    assert_eq!(
        answer,
        json!({
            "model": "small", "role": "assistant", "stopReason": "endTurn",
            "content": { "type": "text", "text": "test: Be short.\n\nHello?" },
        })
    );
}

#[tokio::test]
async fn sampling_is_refused_without_a_handler_and_by_one_that_fails() {
    let plain = server("wants-to-sample", &folder("no-sampling"));
    let runner = caller([plain], "test__echo", json!({}));
    assert_eq!(runner.run("Go.").await.text, "refused");

    let failing = server("wants-to-sample", &folder("sampling-fails"));
    let failing = failing.sampling(async |_: SamplingRequest| {
        Err::<SamplingAnswer, BoxError>("too expensive".into())
    });
    let (outcome, warnings) = answered(&caller([failing], "test__echo", json!({}))).await;
    assert_eq!(outcome.text, "refused");
    let expected = "refused a sampling request of the MCP server `test`: too expensive";
    assert!(
        warnings.iter().any(|warning| warning == expected),
        "{warnings:?}"
    );
}

#[tokio::test]
async fn roots_are_given_only_if_they_are_set() {
    for is_set in [false, true] {
        let server = server("wants-roots", &folder("roots"));
        let server = if is_set {
            server.roots(["/data/my notes"])
        } else {
            server
        };
        let outcome = caller([server], "test__echo", json!({})).run("Go.").await;
        let expected = if is_set {
            r#"{"roots":[{"uri":"file:///data/my%20notes"}]}"#
        } else {
            "refused"
        };
        assert_eq!(outcome.text, expected);
    }
    let relative = McpServer::stdio("x", [""; 0]).alias("x").roots(["notes"]);
    let error = Mcp::new([relative]).start().await.unwrap_err();
    assert!(
        error
            .message()
            .contains("the root `notes` is not an absolute path"),
        "{error}"
    );
}

#[tokio::test]
async fn a_result_that_requires_input_is_repeated_with_the_answers() {
    let folder = folder("input");
    let server = with_sampling(server("new:needs-input", &folder)).roots(["/data"]);
    let runner = caller([server], "test__echo", json!({ "text": "everything" }));
    let (outcome, _) = answered(&runner).await;
    let echoed: Value = serde_json::from_str(&outcome.text).unwrap();
    assert_eq!(
        echoed,
        json!([
            {
                "question": { "action": "accept", "content": { "colour": "red" } },
                "sample": {
                    "model": "small", "role": "assistant", "stopReason": "endTurn",
                    "content": { "type": "text", "text": "test: Hello?" },
                },
                "roots": { "roots": [{ "uri": "file:///data" }] },
            },
            "state",
        ])
    );
}

#[tokio::test]
async fn input_that_is_not_available_is_named_and_the_call_is_not_completed() {
    let folder = folder("no-input");
    let runner = caller(
        [server("new:needs-input", &folder)],
        "test__echo",
        json!({ "text": "everything" }),
    );
    let (outcome, _) = answered(&runner).await;
    assert!(
        outcome
            .text
            .contains("not available here. The call was not completed."),
        "{}",
        outcome.text
    );
    let calls = received(&folder)
        .iter()
        .filter(|message| message["method"] == "tools/call")
        .count();
    assert_eq!(calls, 1);
}

#[tokio::test]
async fn a_server_cannot_ask_without_end() {
    let folder = folder("endless-input");
    let runner = caller(
        [server("new:needs-endless-input", &folder)],
        "test__echo",
        json!({}),
    );
    let (outcome, _) = answered(&runner).await;
    assert!(
        outcome.text.contains("may or may not have taken effect"),
        "{}",
        outcome.text
    );
}

/// The server may have done a part of the work before it asked.
#[tokio::test]
async fn a_server_that_ends_after_it_asked_may_have_executed_the_call() {
    let folder = folder("input-ends");
    let mcp = Mcp::new([server("new:needs-input-and-ends", &folder)]);
    let runner = caller(mcp.clone(), "test__echo", json!({}));
    let mut turn = runner.start("Go.");
    while let Some(event) = turn.next().await {
        if let EventKind::GateOpened(gate) = event.kind {
            while !matches!(mcp.status()[0].state, ServerState::Down { .. }) {
                tokio::task::yield_now().await;
            }
            let answer = GateAnswer::value(json!({ "colour": "red" }));
            assert!(turn.gates().answer(&gate.id, answer).unwrap());
        }
    }
    let outcome = turn.await;
    assert!(
        outcome.text.contains("may or may not have taken effect"),
        "{}",
        outcome.text
    );
}

#[tokio::test]
async fn a_question_during_several_calls_of_one_turn_is_asked() {
    let folder = folder("asks-after-both");
    let executor = |ctx: DispatchContext| async move {
        let call = || ctx.call("test__echo", json!({}));
        let (one, other) = tokio::join!(call(), call());
        let texts = [one.text().await, other.text().await].map(Option::unwrap_or_default);
        ctx.answer(texts.join(" and ")).await?;
        Ok(())
    };
    let mcp = Mcp::new([server("asks-after-both", &folder)]);
    let mcp = mcp.first_wait(Duration::from_secs(120));
    let runner = turnwright_core::runner(executor).mcp(mcp).build().unwrap();
    let (outcome, _) = answered(&runner).await;
    assert!(
        outcome.text.contains(r#""colour":"red""#),
        "{}",
        outcome.text
    );
}

/// Otherwise the user of one turn would answer a question about the call of another.
#[tokio::test]
async fn a_question_that_may_belong_to_another_turn_is_declined() {
    let folder = folder("asks-late");
    let limits = Limits {
        call_total: Duration::from_millis(200),
        ..Default::default()
    };
    let mcp = Mcp::new([server("asks-late", &folder).limits(limits)]);
    let first = caller(mcp.clone(), "test__echo", json!({ "text": "first" }));
    let outcome = first.run("Go.").await;
    assert!(
        outcome.text.contains("did not answer in time"),
        "{}",
        outcome.text
    );
    // The server may still work on the first call when it asks.
    let second = caller(mcp, "test__echo", json!({ "text": "second" }));
    let (outcome, warnings) = answered(&second).await;
    assert_eq!(outcome.text, r#"{"action":"decline"}"#);
    assert!(
        warnings
            .iter()
            .any(|warning| warning.contains("does not say which call asks")),
        "{warnings:?}"
    );
}

/// The ids of turns are unique only within a conversation.
#[tokio::test]
async fn a_question_during_calls_of_turns_with_equal_ids_is_declined() {
    let mcp = Mcp::new([server("asks-after-both", &folder("equal-turn-ids"))]);
    let runner = turnwright_core::runner(model)
        .storage(Storage::memory())
        .mcp(mcp.first_wait(Duration::from_secs(120)))
        .build()
        .unwrap();
    let turn = async |conversation: &str| {
        let input = TurnInput::new("Go.").conversation(conversation);
        answered_input(&runner, input.turn_id("turn-1")).await
    };
    let (one, other) = tokio::join!(turn("of-ada"), turn("of-bob"));
    let texts = format!("{} {}", one.0.text, other.0.text);
    assert!(!texts.contains("red"), "{texts}");
    assert!(texts.contains(r#"{"action":"decline"}"#), "{texts}");
}

/// A runner that suspends its turns at gates, with the annotations of its server believed.
fn suspending(server: McpServer) -> TurnRunner {
    let mcp = Mcp::new([server.believe_annotations()]).first_wait(Duration::from_secs(120));
    turnwright_core::runner(model)
        .storage(Storage::memory())
        .mcp(mcp)
        .suspend_at_gates()
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_turn_can_be_suspended_while_a_call_that_only_reads_requires_input() {
    let runner = suspending(server("new:needs-input", &folder("suspended")));
    let input = TurnInput::new("Go.").conversation("c");
    let outcome = runner.run(input).await;
    let TurnStatus::Suspended { gates, .. } = &outcome.status else {
        panic!("{:?}", outcome.status);
    };
    let answer = json!({ "colour": "blue" });
    let turn = runner.answer_gate("c", &gates[0].id, answer).await.unwrap();
    let outcome = turn.await;
    assert!(
        outcome.text.contains(r#"{"colour":"blue"}"#),
        "{}",
        outcome.text
    );
}

/// The server waits for the answer on the connection of this process.
#[tokio::test]
async fn a_question_in_a_session_keeps_the_turn_in_memory() {
    let runner = suspending(server("asks", &folder("held")));
    let mut turn = runner.start(TurnInput::new("Go.").conversation("c"));
    while let Some(event) = turn.next().await {
        if let EventKind::GateOpened(gate) = event.kind {
            let is_held = |activity| matches!(activity, TurnActivity::NotSuspendable { .. });
            while !is_held(turn.activity()) {
                tokio::task::yield_now().await;
            }
            let answer = GateAnswer::value(json!({ "colour": "red" }));
            assert!(turn.gates().answer(&gate.id, answer).unwrap());
        }
    }
    let outcome = turn.await;
    assert!(
        outcome.text.contains(r#"{"colour":"red"}"#),
        "{}",
        outcome.text
    );
}
