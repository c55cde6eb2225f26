//! The event stream and the observers.

use std::sync::Arc;
use std::time::Duration;
use turnwright_core::event::Event;
use turnwright_core::record::Record;

use turnwright_core::event::Level;

use super::*;

async fn heard(mut turn: Turn) -> (Vec<Event>, TurnOutcome) {
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        events.push(event);
    }
    (events, turn.await)
}

#[tokio::test]
async fn the_stream_has_deltas_with_offsets_and_then_the_record() {
    let model = ScriptedModel::new([
        Step::think("Hm.")
            .then_stream(["Grüß", " ", "Gott"])
            .call("act", "{}"),
        Step::say("!"),
    ]);
    let runner = runner(model)
        .tool(returning("act", "acted"))
        .build()
        .unwrap();
    let (events, outcome) = heard(runner.start("go")).await;
    let names: Vec<&str> = events.iter().map(Event::name).collect();
    #[rustfmt::skip]
    assert_eq!(names, [
        "turnStart", "thoughtDelta", "thought", "messageDelta", "messageDelta", "messageDelta", "message", "toolExecutionStart",
        "toolCall", "messageDelta", "message", "turnEnd",
    ]);
    let mut text = String::new();
    let mut ids = Vec::new();
    for event in &events[3..6] {
        let EventKind::MessageDelta(delta) = &event.kind else {
            panic!()
        };
        assert_eq!(delta.offset, text.len(), "in bytes");
        text.push_str(&delta.text);
        ids.push(Arc::clone(&delta.id));
    }
    let EventKind::Message(message) = &events[6].kind else {
        panic!()
    };
    assert_eq!((message.text(), text.as_str()), ("Grüß Gott", "Grüß Gott"));
    assert!(ids.iter().all(|id| **id == *message.id()));
    let EventKind::ToolExecutionStart { id, tool, .. } = &events[7].kind else {
        panic!()
    };
    let EventKind::ToolCall(call) = &events[8].kind else {
        panic!()
    };
    assert_eq!((&**id, &**tool), (call.id(), "act"));
    assert_eq!(call.id(), outcome.tool_calls().next().unwrap().id());
    assert!(call.is_complete());
}

#[tokio::test]
async fn the_stream_has_call_deltas_and_discards() {
    let model = ScriptedModel::new([Step::run(|ctx| async move {
        let reporter = ctx.reporter();
        let mut call = reporter.tool_call();
        call.name("act");
        call.push("{\"a\"").await;
        call.push(": 1}").await;
        let mut message = reporter.message();
        message.push("half a tho").await;
        message.restart();
        message.push("whole").await;
        message.finish().await?;
        Ok(())
    })]);
    let runner = runner(model).build().unwrap();
    let (events, outcome) = heard(runner.start("go")).await;
    let names: Vec<&str> = events.iter().map(Event::name).collect();
    #[rustfmt::skip]
    assert_eq!(names, [
        "turnStart", "toolCallDelta", "toolCallDelta", "messageDelta", "discarded", "messageDelta", "message", "turnEnd",
    ]);
    let EventKind::MessageDelta(after) = &events[5].kind else {
        panic!()
    };
    assert_eq!((after.offset, outcome.text.as_str()), (0, "whole"));
}

#[tokio::test]
async fn observers_get_logs_usage_warnings_progress_and_errors() {
    let observed = Observed::default();
    let act = tool("act").handler(|_: Value, ctx: ToolContext| async move {
        ctx.progress("half way");
        "done"
    });
    let model = ScriptedModel::new([
        Step::call_tool("act", "{}").usage(Usage::tokens(10, 2)),
        Step::run(|ctx| async move {
            ctx.log(Level::Info, "all is well");
            Err("it is not".into())
        }),
    ]);
    let runner = runner(model)
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
async fn a_panicking_observer_does_not_affect_the_turn_or_other_observers() {
    let observed = Observed::default();
    let runner = runner(ScriptedModel::new([
        Step::call_tool("act", "{}"),
        Step::say("done"),
    ]))
    .tool(returning("act", "acted"))
    .observer(|_: &Event| std::panic::panic_any("on purpose"))
    .observer(observed.observer())
    .build()
    .unwrap();
    let outcome = runner.run("go").await;
    assert_eq!(outcome.text, "done");
    assert_eq!(texts(&outcome).await, ["acted"]);
    observed.assert_paired();
}

#[tokio::test]
async fn an_observer_of_a_runner_sees_all_its_turns_until_it_is_removed() {
    let runner = runner(|ctx: DispatchContext| async move {
        ctx.ack()?;
        Ok(())
    })
    .build()
    .unwrap();
    let observed = Observed::default();
    let observer = runner.observe(observed.observer());
    let (a, b) = tokio::join!(runner.run("a"), runner.run("b"));
    observer.remove();
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

/// A model that sends n pieces and counts those that were accepted.
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

/// The concatenated deltas of a stream, each at its offset.
fn text_of(events: &[Event]) -> String {
    let mut text = String::new();
    for event in events {
        if let EventKind::MessageDelta(delta) = &event.kind {
            assert_eq!(delta.offset, text.len());
            text.push_str(&delta.text);
        }
    }
    text
}

#[tokio::test(start_paused = true)]
async fn a_turn_does_not_wait_for_a_slow_reader_which_gets_merged_deltas() {
    let notes = Notes::default();
    let runner = runner(talker(500, &notes))
        .stream_capacity(4)
        .build()
        .unwrap();
    let mut turn = runner.start("go");
    // The paused clock advances only when nothing else can run.
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(notes.all().len(), 500);
    let mut events = Vec::new();
    while let Some(event) = turn.next().await {
        events.push(event);
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    let names: Vec<&str> = events.iter().map(Event::name).collect();
    let deltas = ["messageDelta"; 3];
    let expected = [&["turnStart"], &deltas[..], &["message", "turnEnd"]].concat();
    assert_eq!(names, expected);
    assert_eq!(text_of(&events), turn.await.text);
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_keeps_up_gets_every_delta() {
    let notes = Notes::default();
    let runner = runner(talker(500, &notes))
        .stream_capacity(4)
        .build()
        .unwrap();
    let (events, outcome) = heard(runner.start("go")).await;
    assert_eq!(text_of(&events), outcome.text);
    let deltas = events.iter().filter(|event| event.name() == "messageDelta");
    assert!(deltas.count() > 100, "the executor yields to its reader");
}

#[tokio::test(start_paused = true)]
async fn awaiting_the_outcome_needs_no_reader() {
    let notes = Notes::default();
    let talking = || {
        let builder = runner(talker(500, &notes)).stream_capacity(1);
        builder.build().unwrap().start("go")
    };
    let mut turn = talking();
    turn.next().await.unwrap();
    assert_eq!(turn.await.text.len(), 500);
    // A stream that is held and never read.
    let (handle, _stream) = talking().split();
    assert_eq!(handle.outcome().await.text.len(), 500);
}

#[tokio::test]
async fn a_turn_that_cannot_start_has_a_first_and_a_last_event() {
    let runner = runner(ScriptedModel::new([])).build().unwrap();
    let input = TurnInput::new("").turn_id("t").conversation("c");
    let (events, outcome) = heard(runner.start(input)).await;
    let error = outcome.error().unwrap();
    let values: Vec<Value> = events
        .iter()
        .map(|event| serde_json::to_value(event).unwrap())
        .collect();
    assert_eq!(values.len(), 2, "{events:?}");
    assert_eq!(
        (
            &values[0]["event"],
            &values[0]["turnId"],
            &values[0]["conversationId"]
        ),
        (&json!("turnStart"), &json!("t"), &json!("c"))
    );
    assert_eq!(
        (
            &values[1]["event"],
            &values[1]["status"],
            &values[1]["code"]
        ),
        (
            &json!("turnEnd"),
            &json!("failed"),
            &json!(error.code().as_str())
        )
    );
}

#[tokio::test]
async fn a_turn_can_be_split_into_handle_and_stream() {
    let model = ScriptedModel::new([Step::stream(["a", "b", "c"])]);
    let runner = runner(model).build().unwrap();
    let (handle, mut stream) = runner.start("go").split();
    let read = async {
        let mut count = 0;
        while stream.next().await.is_some() {
            count += 1;
        }
        count
    };
    let (outcome, count) = tokio::join!(handle.outcome(), read);
    assert_eq!((outcome.text.as_str(), count), ("abc", 6));
}

#[tokio::test]
async fn the_deltas_of_a_long_text_are_no_larger_than_the_text() {
    // The total size of deltas grows with the text, not with the text times its pieces.
    const MANY: usize = 10_000;
    let notes = Notes::default();
    let runner = runner(talker(MANY, &notes)).build().unwrap();
    let (events, outcome) = heard(runner.start("go")).await;
    let bytes: usize = events
        .iter()
        .map(|event| match &event.kind {
            EventKind::MessageDelta(delta) => delta.text.len(),
            _ => 0,
        })
        .sum();
    assert_eq!((bytes, outcome.text.len()), (MANY, MANY));
    assert!(events.len() <= MANY + 3, "{}", events.len());
}

fn by_hand(id: &str) -> Arc<ToolCall> {
    ToolCall::builder("act", json!({ "n": 1 }))
        .id(id)
        .results(record::ToolResults::Text("by hand".into()))
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_record_stored_by_user_code_is_on_the_stream_once() {
    let storing = |ctx: TurnContext, next: Next<TurnContext>| async move {
        ctx.records().store(by_hand("of-middleware")).await?;
        // Not by the model.
        ctx.records().store(Message::user("More.").build()?).await?;
        next.run().await
    };
    let model = ScriptedModel::new([
        Step::run(|ctx| async move {
            ctx.records()
                .store(record::Thought::new("Hm.").id("thought").build()?)
                .await?;
            ctx.records()
                .store(Message::assistant("Hello").id("message").build()?)
                .await?;
            ctx.records().store(by_hand("of-executor")).await?;
            // For this turn only: neither stored nor on the stream.
            ctx.records().add(by_hand("added"));
            ctx.call("act", "{}").await;
            Ok(())
        })
        .keep_open(),
        Step::say("done"),
    ]);
    let runner = runner(model)
        .tool(returning("act", "acted"))
        .turn_input(storing)
        .build()
        .unwrap();
    let (events, outcome) = heard(runner.start("go")).await;
    let text: Vec<String> = events
        .iter()
        .filter_map(|event| match &event.kind {
            EventKind::Message(record) => Some(record.id().to_owned()),
            EventKind::Thought(record) => Some(record.id().to_owned()),
            EventKind::ToolCall(record) => Some(record.id().to_owned()),
            _ => None,
        })
        .collect();
    // Everything with an event that the turn stored, once and in order.
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
async fn events_are_serialised_with_the_names_of_the_reference() {
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
        Step::say("Well.").keep_open(),
        Step::run(|ctx| async move {
            ctx.log(Level::Info, "now");
            Err("no".into())
        }),
    ]);
    let (observed, named) = (Observed::default(), Notes::default());
    let names = named.clone();
    let runner = runner(model)
        .tool(returning("act", "acted"))
        .policy(tool::approval::always("careful"))
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
        if let EventKind::GateOpened(gate) = event.kind {
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
    // The join key of the reference, next to the id of the call.
    for name in ["toolExecutionStart", "toolExecutionEnd"] {
        let event = &observed.of(name)[0];
        assert!(event["callId"].is_string() && event["id"].is_string());
    }
}

#[tokio::test]
async fn a_reader_of_all_turns_that_lags_learns_how_many_events_it_missed() {
    let runner = runner(|ctx: DispatchContext| async move {
        for n in 0..5_000 {
            ctx.log(Level::Info, n.to_string());
        }
        ctx.ack()?;
        Ok(())
    })
    .build()
    .unwrap();
    let observed = Observed::default();
    runner.observe(observed.observer());
    let mut events = runner.events();
    assert!(
        runner.run("go").await.is_answered(),
        "it does not wait for readers"
    );
    let missed = events.next().await.unwrap().unwrap_err().missed;
    drop(runner);
    let mut read = Vec::new();
    while let Some(event) = events.next().await {
        read.push(event.unwrap());
    }
    let all = observed.names();
    assert_eq!(read.len() + usize::try_from(missed).unwrap(), all.len());
    assert_eq!(read.last().unwrap().name(), "turnEnd");
}

#[tokio::test]
async fn a_log_entry_has_a_kind_and_a_payload_and_every_event_a_time() {
    let runner = runner(|ctx: DispatchContext| async move {
        let entry = event::LogEntry::new("empty").kind("cache.miss");
        ctx.log(Level::Info, entry.payload(json!({ "key": 7 })));
        ctx.log(Level::Info, "plain");
        ctx.ack()?;
        Ok(())
    })
    .build()
    .unwrap();
    let observed = Observed::default();
    runner.observe(observed.observer());
    let (streamed, _) = heard(runner.start(TurnInput::new("go").conversation("c"))).await;
    let logs = observed.of("log");
    assert_eq!(
        (&logs[0]["kind"], &logs[0]["payload"], &logs[0]["message"]),
        (&json!("cache.miss"), &json!({ "key": 7 }), &json!("empty"))
    );
    assert!(logs[1].get("kind").is_none() && logs[1].get("payload").is_none());
    assert_eq!(logs[0]["conversationId"], "c");
    let streamed = streamed
        .iter()
        .map(|event| serde_json::to_value(event).unwrap());
    for event in streamed.chain(logs) {
        let time = event["time"].as_str().unwrap();
        assert!(time.ends_with('Z') && time.contains('T'), "{time}");
    }
}
