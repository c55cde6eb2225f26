//! What is told: to whoever reads, and to whoever watches.

use std::sync::Arc;
use std::time::Duration;

use turnwright_core::event::{Delta, Level};

use super::*;

async fn heard(mut turn: Turn) -> (Vec<TurnEvent>, TurnOutcome) {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        events.push(event);
    }
    (events, turn.await)
}

#[tokio::test]
async fn the_functional_bus_gives_pieces_with_their_offsets_and_then_the_record() {
    let model = ScriptedModel::new([
        Step::think("Hm.")
            .then_stream(["Grüß", " ", "Gott"])
            .call("act", "{}"),
        Step::say("!"),
    ]);
    let runner = TurnRunner::builder(model)
        .tool(saying("act", "acted"))
        .build()
        .unwrap();
    let (events, outcome) = heard(runner.start("go")).await;
    let names: Vec<&str> = events.iter().map(TurnEvent::name).collect();
    #[rustfmt::skip]
    assert_eq!(names, [
        "thoughtDelta", "thought", "messageDelta", "messageDelta", "messageDelta", "message", "toolCallStarted", "toolCall",
        "messageDelta", "message",
    ]);
    let mut text = String::new();
    let mut ids = Vec::new();
    for event in &events[2..5] {
        let TurnEvent::MessageDelta(delta) = event else {
            panic!()
        };
        assert_eq!(delta.offset, text.len(), "in bytes");
        text.push_str(&delta.text);
        ids.push(Arc::clone(&delta.id));
    }
    let TurnEvent::Message(message) = &events[5] else {
        panic!()
    };
    assert_eq!((message.text(), text.as_str()), ("Grüß Gott", "Grüß Gott"));
    assert!(ids.iter().all(|id| **id == *message.id()));
    let TurnEvent::ToolCallStarted { id, tool, .. } = &events[6] else {
        panic!()
    };
    let TurnEvent::ToolCall(call) = &events[7] else {
        panic!()
    };
    assert_eq!((&**id, &**tool), (call.id(), "act"));
    assert_eq!(call.id(), outcome.tool_calls().next().unwrap().id());
    assert!(call.is_complete());
}

#[tokio::test]
async fn pieces_of_calls_and_what_became_void_are_told_too() {
    let model = ScriptedModel::new([Step::run(|ctx| async move {
        let (tool, id) = (Arc::from("act"), Arc::from("call_1"));
        let reporter = ctx.reporter();
        reporter
            .tool_call(&tool, Delta::new(Arc::clone(&id), 0, "{\"a\""))
            .await;
        reporter
            .tool_call(&tool, Delta::new(Arc::clone(&id), 4, ": 1}"))
            .await;
        let mut message = reporter.message();
        message.push("half a tho").await;
        message.restart().await;
        message.push("whole").await;
        message.finish().await?;
        Ok(())
    })]);
    let runner = TurnRunner::builder(model).build().unwrap();
    let (events, outcome) = heard(runner.start("go")).await;
    let names: Vec<&str> = events.iter().map(TurnEvent::name).collect();
    #[rustfmt::skip]
    assert_eq!(names, [
        "toolCallDelta", "toolCallDelta", "messageDelta", "discarded", "messageDelta", "message",
    ]);
    let TurnEvent::MessageDelta(after) = &events[4] else {
        panic!()
    };
    assert_eq!((after.offset, outcome.text.as_str()), (0, "whole"));
}

#[tokio::test]
async fn the_observability_bus_tells_logs_usage_warnings_progress_and_errors() {
    let observed = Observed::default();
    let act = tool("act").handler(|_: Value, ctx: ToolContext| async move {
        ctx.progress("half way");
        "done"
    });
    let model = ScriptedModel::new([
        Step::call_tool("act", "{}").usage(Usage::tokens(10, 2)),
        Step::run(|ctx| async move {
            ctx.reporter().log(Level::Info, "all is well");
            Err("it is not".into())
        }),
    ]);
    let runner = TurnRunner::builder(model)
        .tool(act.build())
        .observer(observed.observer())
        .build()
        .unwrap();
    let outcome = runner.run("go").await;
    observed.assert_paired();
    assert_eq!(
        observed.of("toolExecutionProgress")[0]["message"],
        "half way"
    );
    assert_eq!(observed.of("usage")[0]["usage"]["outputTokens"], 2);
    assert_eq!(
        (
            &observed.of("log")[0]["message"],
            &observed.of("log")[0]["level"]
        ),
        (&json!("all is well"), &json!("info"))
    );
    assert_eq!(
        observed.of("error")[0]["code"],
        "E_LLM_EXECUTION_EXECUTOR_ERROR"
    );
    assert_eq!(outcome.usage, Usage::tokens(10, 2));
    let serialised = serde_json::to_string(&observed.of("turnEnd")[0]).unwrap();
    assert!(serialised.contains("\"durationMs\""), "{serialised}");
}

#[tokio::test]
async fn an_observer_that_panics_breaks_neither_the_turn_nor_another_observer() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            if !std::thread::panicking() {
                panic!("again");
            }
        }
    }
    let observed = Observed::default();
    let runner = TurnRunner::builder(ScriptedModel::new([
        Step::call_tool("act", "{}"),
        Step::say("done"),
    ]))
    .tool(saying("act", "acted"))
    .observer(|_: &Event| std::panic::panic_any("on purpose"))
    .observer(|_: &Event| std::panic::panic_any(Bomb))
    .observer(observed.observer())
    .build()
    .unwrap();
    let outcome = runner.run("go").await;
    assert_eq!(outcome.text, "done");
    assert_eq!(texts(&outcome).await, ["acted"]);
    observed.assert_paired();
}

#[tokio::test]
async fn an_observer_of_a_runner_sees_all_its_turns_until_its_guard_is_dropped() {
    let runner = TurnRunner::builder(|ctx: DispatchContext| async move {
        ctx.ack()?;
        Ok(())
    })
    .build()
    .unwrap();
    let observed = Observed::default();
    let guard = runner.observe(observed.observer());
    let (a, b) = tokio::join!(runner.run("a"), runner.run("b"));
    drop(guard);
    runner.run("c").await;
    let mut ids: Vec<Value> = observed
        .of("turnEnd")
        .iter()
        .map(|event| event["turnId"].clone())
        .collect();
    let mut expected = vec![json!(&*a.turn_id), json!(&*b.turn_id)];
    ids.sort_by_key(Value::to_string);
    expected.sort_by_key(Value::to_string);
    assert_eq!(ids, expected);
}

/// A model that says n pieces and notes each one that was taken.
fn talker(pieces: usize, notes: &Notes) -> ScriptedModel {
    let notes = notes.clone();
    ScriptedModel::new([Step::run(move |ctx| async move {
        let mut message = ctx.reporter().message();
        for n in 0..pieces {
            message.push("x").await;
            notes.note(n.to_string());
        }
        message.finish().await?;
        Ok(())
    })])
}

#[tokio::test(start_paused = true)]
async fn a_turn_waits_for_a_slow_reader() {
    let notes = Notes::default();
    let runner = TurnRunner::builder(talker(20, &notes))
        .stream_capacity(4)
        .build()
        .unwrap();
    let mut turn = runner.start("go");
    // The paused clock goes on only when nothing else can.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(notes.all().len(), 4);
    turn.next().await.unwrap();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(notes.all().len(), 5);
    let (events, outcome) = heard(turn).await;
    assert_eq!((events.len(), outcome.text.len()), (20, 20));
}

#[tokio::test(start_paused = true)]
async fn awaiting_the_outcome_drains_the_stream() {
    let notes = Notes::default();
    let runner = TurnRunner::builder(talker(500, &notes))
        .stream_capacity(1)
        .build()
        .unwrap();
    let mut turn = runner.start("go");
    turn.next().await.unwrap();
    assert_eq!(turn.await.text.len(), 500);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_stream_detaches_it_and_the_turn_goes_on() {
    let notes = Notes::default();
    let runner = TurnRunner::builder(talker(500, &notes))
        .stream_capacity(2)
        .build()
        .unwrap();
    let (handle, stream) = runner.start("go").split();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(notes.all().len(), 2, "it waits");
    drop(stream);
    let outcome = handle.outcome().await;
    assert!(outcome.is_answered());
    assert_eq!(outcome.text.len(), 500);
}

#[tokio::test]
async fn a_handle_and_its_stream_can_be_held_apart() {
    let model = ScriptedModel::new([Step::stream(["a", "b", "c"])]);
    let runner = TurnRunner::builder(model)
        .stream_capacity(1)
        .build()
        .unwrap();
    let (handle, mut stream) = runner.start("go").split();
    let read = async {
        let mut count = 0;
        while stream.next().await.is_some() {
            count += 1;
        }
        count
    };
    let (outcome, count) = tokio::join!(handle.outcome(), read);
    assert_eq!((outcome.text.as_str(), count), ("abc", 4));
}

#[tokio::test]
async fn the_pieces_of_a_long_text_are_no_larger_than_what_was_said() {
    // What is handed over grows with the text alone, not with the text times its pieces.
    const MANY: usize = 10_000;
    let notes = Notes::default();
    let runner = TurnRunner::builder(talker(MANY, &notes)).build().unwrap();
    let (events, outcome) = heard(runner.start("go")).await;
    let bytes: usize = events
        .iter()
        .map(|event| match event {
            TurnEvent::MessageDelta(delta) => delta.text.len(),
            _ => 0,
        })
        .sum();
    assert_eq!(
        (bytes, outcome.text.len(), events.len()),
        (MANY, MANY, MANY + 1)
    );
}

fn by_hand(id: &str) -> Arc<ToolCall> {
    ToolCall::builder("act", json!({ "n": 1 }))
        .id(id)
        .results(record::ToolResults::Text("by hand".into()))
        .build()
        .unwrap()
}

#[tokio::test]
async fn what_is_stored_by_hand_is_on_the_stream_once_like_everything_else() {
    let storing = |ctx: TurnContext, next: Next<TurnContext>| async move {
        ctx.store_tool_call(by_hand("of-middleware")).await?;
        // Not the model's.
        ctx.store_message(Message::user("More.").build()?).await?;
        next.run().await
    };
    let model = ScriptedModel::new([
        Step::run(|ctx| async move {
            ctx.store_thought(record::Thought::new("Hm.").id("thought").build()?)
                .await?;
            ctx.store_message(Message::assistant("Hello").id("message").build()?)
                .await?;
            ctx.store_tool_call(by_hand("of-executor")).await?;
            // For this turn alone: nothing is stored, and nothing is on the stream.
            ctx.add_tool_call(by_hand("added"));
            ctx.call("act", "{}").await;
            Ok(())
        })
        .go_on(),
        Step::say("done"),
    ]);
    let runner = TurnRunner::builder(model)
        .tool(saying("act", "acted"))
        .turn_input(storing)
        .build()
        .unwrap();
    let (events, outcome) = heard(runner.start("go")).await;
    let text: Vec<String> = events
        .iter()
        .filter_map(|event| match event {
            TurnEvent::Message(record) => Some(record.id().to_owned()),
            TurnEvent::Thought(record) => Some(record.id().to_owned()),
            TurnEvent::ToolCall(record) => Some(record.id().to_owned()),
            _ => None,
        })
        .collect();
    // What the turn stored and has an event, each of it once and in order.
    let stored = outcome.records.iter().filter(|record| match record {
        Record::Message(message) => *message.author() == record::Author::Assistant,
        Record::Thought(_) | Record::ToolCall(_) => true,
        _ => false,
    });
    let stored: Vec<String> = stored.map(|record| record.id().to_owned()).collect();
    assert_eq!(text, stored);
    assert_eq!(
        text[..4],
        ["of-middleware", "thought", "message", "of-executor"]
    );
    assert_eq!(text.len(), 6);
}

/// The event names of the reference, which clients rely on.
#[tokio::test]
async fn events_are_serialised_under_the_names_of_the_reference() {
    const OBSERVED: [&str; 12] = [
        "turnStart",
        "turnEnd",
        "dispatchStart",
        "dispatchEnd",
        "iterationStart",
        "iterationEnd",
        "toolExecutionStart",
        "toolExecutionEnd",
        "turnGateOpen",
        "turnGateClosed",
        "log",
        "error",
    ];
    const STREAMED: [&str; 5] = [
        "thought",
        "turnGateOpen",
        "turnGateClosed",
        "toolCall",
        "message",
    ];
    let model = ScriptedModel::new([
        Step::think("Hm.").call("act", "{}"),
        Step::say("Well.").go_on(),
        Step::run(|ctx| async move {
            ctx.log(Level::Info, "now");
            Err("no".into())
        }),
    ]);
    let (observed, named) = (Observed::default(), Notes::default());
    let names = named.clone();
    let runner = TurnRunner::builder(model)
        .tool(saying("act", "acted"))
        .policy(turnwright_core::approval::always("careful"))
        .observer(observed.observer())
        .observer(move |event| names.note(event.name()))
        .build()
        .unwrap();
    let mut turn = runner.start("go");
    let mut streamed = Vec::new();
    while let Some(event) = turn.next().await {
        let value = serde_json::to_value(&event).unwrap();
        assert_eq!(value["event"], event.name());
        streamed.push(event.name());
        if let TurnEvent::GateOpened(gate) = event {
            assert!(turn.gates().approve(&gate.id).unwrap());
        }
    }
    assert!(!turn.await.is_answered());
    assert_eq!(
        observed.names(),
        named.all(),
        "the name is the one that is serialised"
    );
    for name in OBSERVED {
        assert!(named.has(name), "{name} is not among {:?}", named.all());
    }
    streamed.retain(|name| STREAMED.contains(name));
    assert_eq!(streamed, STREAMED);
    // The join key of the reference stands beside the id of the call.
    for name in ["toolExecutionStart", "toolExecutionEnd"] {
        let event = &observed.of(name)[0];
        assert!(event["callId"].is_string() && event["id"].is_string());
    }
}
