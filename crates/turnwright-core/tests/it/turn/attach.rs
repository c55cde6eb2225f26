//! Reattaching to a turn.

use std::collections::BTreeMap;
use std::time::Duration;

use turnwright_core::artifact::Inline;
use turnwright_core::gate::TurnActivity;
use turnwright_core::middleware::compact;
use turnwright_core::tool::approval::always;

use super::*;

const TALK: &str = "c";
const TURN: &str = "t";

fn input() -> TurnInput {
    TurnInput::new("go").conversation(TALK).turn_id(TURN)
}

/// What a user interface shows after some events: texts by id, and what happened, in order.
#[derive(Debug, Default, PartialEq)]
struct Screen {
    texts: BTreeMap<String, String>,
    happened: Vec<String>,
}

impl Screen {
    fn show(&mut self, event: &Event) {
        match &event.kind {
            EventKind::MessageDelta(delta)
            | EventKind::ThoughtDelta(delta)
            | EventKind::ToolCallDelta { delta, .. } => {
                let text = self.texts.entry(delta.id.to_string()).or_default();
                assert_eq!(text.len(), delta.offset, "a gap or a duplicate: {delta:?}");
                text.push_str(&delta.text);
            }
            EventKind::Discarded { id } => drop(self.texts.remove(&**id)),
            EventKind::ToolExecutionProgress { .. } => {}
            kind => {
                // Random ids of records are those of the same turn.
                self.happened.push(format!("{kind:?}"));
                let settled = match kind {
                    EventKind::Message(message) => Some((message.id(), message.text().to_owned())),
                    EventKind::Thought(thought) => Some((thought.id(), thought.text().to_owned())),
                    _ => None,
                };
                if let Some((id, text)) = settled {
                    let shown = self.texts.insert(id.to_owned(), text.clone());
                    assert!(shown.is_none_or(|shown| shown == text), "{id}");
                }
            }
        }
    }

    /// The part that is stored.
    fn stored(mut self) -> Self {
        const STORED: [&str; 5] = ["turnStart", "thought", "message", "toolCall {", "turnEnd"];
        self.happened
            .retain(|event| STORED.iter().any(|name| event.starts_with(name)));
        self
    }

    /// Without the arguments of started calls: their deltas are not replayed.
    fn without_calls(mut self, calls: &[String]) -> Self {
        self.texts.retain(|id, _| !calls.contains(id));
        self
    }
}

/// One of everything: thoughts, messages, a retry, streamed calls, a gate, usage.
fn model() -> ScriptedModel {
    ScriptedModel::new([
        Step::run(|ctx| async move {
            let mut thought = ctx.reporter().thought();
            thought.push("Hm").await;
            thought.push("...").await;
            thought.finish().await?;
            let mut message = ctx.reporter().message();
            message.push("vo").await;
            message.push("id").await;
            message.restart();
            message.push("I ").await;
            tokio::task::yield_now().await;
            message.push("look.").await;
            let mut calls = [ctx.reporter().tool_call(), ctx.reporter().tool_call()];
            for call in &mut calls {
                call.name("act");
                call.push("{").await;
                tokio::task::yield_now().await;
            }
            message.finish().await?;
            ctx.reporter().usage(Usage::tokens(10, 5));
            let calls = calls.map(|call| call.propose("act", "{}"));
            ctx.call_tools(calls).await;
            Ok(())
        })
        .keep_open(),
        Step::stream(["All ", "is ", "done."]),
    ])
}

fn acting() -> TurnRunner {
    let act = tool("act").handler(|_: Value, ctx: ToolContext| async move {
        ctx.progress("half");
        tokio::task::yield_now().await;
        "acted"
    });
    runner(model())
        .tool(act.build())
        .policy(always("careful"))
        .build()
        .unwrap()
}

/// Runs the turn with a first reader that approves everything, and attaches a second one after some events of the first.
async fn attach_after(count: usize) -> Option<(Screen, Screen, Vec<String>)> {
    let runner = acting();
    let mut first = runner.start(input());
    let (mut all, mut events) = (Screen::default(), 0);
    let mut second = None;
    loop {
        if events == count {
            second = Some(runner.attach(TALK, TURN).await.unwrap());
            events += 1;
        }
        let Some(event) = first.next().await else {
            break;
        };
        events += 1;
        all.show(&event);
        if let EventKind::GateOpened(gate) = &event.kind {
            let _ = first.gates().approve(&gate.id);
        }
    }
    let mut second = second?;
    let mut attached = Screen::default();
    while let Some(event) = second.next().await {
        attached.show(&event);
    }
    let (first, second) = (first.await, second.await);
    assert_eq!(first.text, "All is done.");
    assert_eq!(
        (second.text, second.usage),
        (first.text.clone(), first.usage)
    );
    let calls = first.tool_calls().map(|call| call.id().to_owned());
    Some((all, attached, calls.collect()))
}

#[tokio::test]
async fn a_reader_that_attaches_after_any_event_sees_what_the_first_one_sees() {
    let (mut points, mut live) = (0, 0);
    while let Some((all, attached, calls)) = attach_after(points).await {
        let names: Vec<&str> = attached.happened.iter().map(String::as_str).collect();
        assert!(names[0].starts_with("turnStart"), "{names:?}");
        assert!(names[names.len() - 1].starts_with("turnEnd"), "{names:?}");
        // The first reader reads the last events after the turn has ended.
        let from_store = !names.iter().any(|name| name.starts_with("usage"));
        let (all, attached) = (all.without_calls(&calls), attached.without_calls(&calls));
        let (all, attached) = if from_store {
            (all.stored(), attached.stored())
        } else {
            (all, attached)
        };
        assert_eq!(attached, all, "attached after {points} events");
        points += 1;
        live += usize::from(!from_store);
    }
    assert!(live >= 14 && points > live, "{live} of {points}");
}

#[tokio::test]
async fn a_turn_that_has_ended_is_replayed_from_its_records() {
    let runner = acting();
    let mut turn = runner.start(input());
    let mut all = Vec::new();
    while let Some(event) = turn.next().await {
        if let EventKind::GateOpened(gate) = &event.kind {
            turn.gates().approve(&gate.id).unwrap();
        }
        all.push(event.name());
    }
    let outcome = turn.await;
    let mut again = runner.attach(TALK, TURN).await.unwrap();
    let mut replayed = Vec::new();
    while let Some(event) = again.next().await {
        replayed.push(event.name());
    }
    let stored = ["turnStart", "thought", "message", "toolCall", "turnEnd"];
    all.retain(|name| stored.contains(name));
    assert_eq!(replayed, all);
    let stored = again.await;
    assert_eq!((stored.text, stored.usage), (outcome.text, outcome.usage));
    assert_eq!(stored.records.len(), outcome.records.len());
}

#[tokio::test]
async fn the_replay_contains_how_the_turn_ended() {
    let model = ScriptedModel::new([Step::run(|_| async { Err("no".into()) })]);
    let runner = runner(model).build().unwrap();
    let failed = runner.run(input()).await.error().unwrap();
    let mut again = runner.attach(TALK, TURN).await.unwrap();
    let mut last = None;
    while let Some(event) = again.next().await {
        last = Some(serde_json::to_value(&event).unwrap());
    }
    let last = last.unwrap();
    assert_eq!(
        (&last["event"], &last["status"], &last["code"]),
        (
            &json!("turnEnd"),
            &json!("failed"),
            &json!(failed.code().as_str())
        )
    );
    let error = again.await.error().unwrap();
    assert_eq!(
        (error.code(), error.message()),
        (failed.code(), failed.message())
    );
}

#[tokio::test]
async fn an_attached_turn_can_be_cancelled_and_its_gates_answered() {
    let runner = acting();
    let started = runner.start(input());
    let mut attached = runner.attach(TALK, TURN).await.unwrap();
    drop(started);
    while let Some(event) = attached.next().await {
        if let EventKind::GateOpened(gate) = &event.kind {
            assert!(attached.gates().approve(&gate.id).unwrap());
            attached.cancel().unwrap();
        }
    }
    assert!(matches!(attached.await.status, TurnStatus::Aborted { .. }));
}

#[tokio::test]
async fn an_unknown_turn_cannot_be_attached_to() {
    let runner = acting();
    let error = runner.attach(TALK, "other").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::UNKNOWN_TURN);
}

/// Two runners on one store represent two processes.
#[tokio::test(start_paused = true)]
async fn a_turn_in_another_process_is_followed_by_its_records() {
    let storage = Storage::memory();
    let slow = ScriptedModel::new([
        Step::call_tool("act", "{}"),
        Step::run(|ctx| async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            ctx.answer("done").await?;
            Ok(())
        }),
    ]);
    let act = returning("act", "acted");
    let elsewhere = runner(slow).tool(act).storage(storage.clone());
    let elsewhere = elsewhere.build().unwrap();
    let here = runner(ScriptedModel::new([]))
        .storage(storage)
        .build()
        .unwrap();
    let turn = elsewhere.start(input());
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut followed = here.attach(TALK, TURN).await.unwrap();
    let mut names = Vec::new();
    while let Some(event) = followed.next().await {
        names.push(event.name());
    }
    assert_eq!(
        names,
        ["turnStart", "toolCall", "leaseWait", "message", "turnEnd"]
    );
    assert_eq!(followed.await.text, "done");
    assert_eq!(turn.await.text, "done");
}

#[tokio::test(start_paused = true)]
async fn a_follower_gets_each_call_once_and_each_gate_with_its_beginning() {
    let storage = Storage::memory();
    let slow = runner(|ctx: DispatchContext| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        if ctx.records().own_tool_calls().len() < 8 {
            ctx.call("text", "{}").await;
        } else {
            ctx.answer("done").await?;
        }
        Ok(())
    });
    let text = tool("text")
        .inline(Inline::Always)
        .approval(always("It is long."));
    let text = text.handler(|_: Value, _| async { "word ".repeat(1_500) });
    let slow = slow.tool(text.build()).storage(storage.clone());
    // It makes handles of earlier results, and writes their calls again.
    let slow = slow.dispatch_input(compact(8_000).keep_last(1)).build();
    let mut turn = slow.unwrap().start(input());
    let mut gates = turn.gates();
    let approves = async move {
        while let Some(gate) = gates.next().await {
            gates.approve(&*gate.id).unwrap();
        }
    };
    let approves = tokio::spawn(approves);
    tokio::time::sleep(Duration::from_millis(1)).await;
    let here = runner(ScriptedModel::new([])).storage(storage).build();
    let mut followed = here.unwrap().attach(TALK, TURN).await.unwrap();
    let mut names = Vec::new();
    while let Some(event) = followed.next().await {
        names.push(event.name());
    }
    let mut compactions = 0;
    while let Some(event) = turn.next().await {
        compactions += usize::from(event.name() == "compacted");
    }
    assert!(compactions > 0);
    approves.await.unwrap();
    let names = names.into_iter().filter(|name| *name != "leaseWait");
    let mut expected = vec!["turnStart"];
    expected.extend(["turnGateOpen", "turnGateClosed", "toolCall"].repeat(8));
    expected.extend(["message", "turnEnd"]);
    assert_eq!(names.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_turn_in_another_process_cannot_be_cancelled_suspended_or_answered_from_here() {
    let (storage, stop) = (Storage::memory(), Cancellation::new());
    let reached = Arc::new(tokio::sync::Notify::new());
    let arrives = Arc::clone(&reached);
    let elsewhere = runner(move |_: DispatchContext| {
        let reached = Arc::clone(&arrives);
        async move {
            reached.notify_one();
            std::future::pending().await
        }
    });
    let elsewhere = elsewhere.storage(storage.clone()).build().unwrap();
    let turn = elsewhere.start(input().cancellation(stop.clone()));
    reached.notified().await;
    let here = runner(ScriptedModel::new([])).storage(storage);
    let followed = here.build().unwrap().attach(TALK, TURN).await.unwrap();
    assert_eq!(followed.activity(), TurnActivity::Elsewhere);
    for (act, refused) in [
        ("cancel", followed.cancel()),
        ("suspend", followed.suspend()),
    ] {
        let error = refused.unwrap_err();
        assert_eq!(error.code(), ErrorCode::TURN_HELD);
        assert_eq!(
            error.message(),
            format!(
                "another process or another runner runs the turn `{TURN}`, and this handle only follows it: {act} it there"
            )
        );
    }
    let gates = followed.gates();
    for gates in [&gates, &gates.clone()] {
        let error = gates.approve("a gate").unwrap_err();
        assert_eq!(error.code(), ErrorCode::TURN_HELD);
        assert!(error.message().contains("`TurnRunner::answer_gate`"));
    }
    stop.cancel();
    assert!(matches!(turn.await.status, TurnStatus::Aborted { .. }));
    // It is followed to its end, and then there is nothing to cancel.
    assert!(matches!(followed.await.status, TurnStatus::Aborted { .. }));
    let ended = elsewhere.attach(TALK, TURN).await.unwrap();
    ended.cancel().unwrap();
}

#[test]
fn a_turn_of_a_dead_process_must_be_resumed_and_can_replay_its_records() {
    let process = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .unwrap()
    };
    let storage = Storage::memory();
    let steps = || {
        ScriptedModel::new([
            Step::think("Hm.").then_stream(["one"]).call("act", "{}"),
            Step::say("two"),
        ])
    };
    let reached = Arc::new(tokio::sync::Notify::new());
    let waiting = Arc::clone(&reached);
    let endless = tool("act")
        .effects(Effects::ReadOnly)
        .handler(move |_: Value, _| {
            let waiting = Arc::clone(&waiting);
            async move {
                waiting.notify_one();
                std::future::pending::<()>().await;
                ""
            }
        });
    let first = runner(steps())
        .tool(endless.build())
        .storage(storage.clone());
    let first = first.build().unwrap();
    let dies = process();
    dies.block_on(async {
        drop(first.start(input()));
        reached.notified().await;
    });
    drop((dies, first));
    process().block_on(async {
        let acts = tool("act").effects(Effects::ReadOnly);
        let acts = acts.handler(|_: Value, _| async { "acted" }).build();
        let model = ScriptedModel::new([Step::say("two")]);
        let second = runner(model).tool(acts).storage(storage).build().unwrap();
        let error = second.attach(TALK, TURN).await.unwrap_err();
        assert_eq!(error.code(), ErrorCode::TURN_INTERRUPTED);
        assert!(error.message().contains("resume"), "{}", error.message());
        let again = TurnInput::resume(TURN).conversation(TALK).replay();
        let mut turn = second.resume(again).await.unwrap();
        let mut names = Vec::new();
        while let Some(event) = turn.next().await {
            names.push(event.name());
        }
        #[rustfmt::skip]
        assert_eq!(names, [
            "turnStart", "thought", "message", "toolExecutionStart", "toolCall", "messageDelta", "message", "turnEnd",
        ]);
    });
}

#[tokio::test]
async fn a_suspended_turn_shows_its_records_and_gates() {
    let act = tool("act").handler(|_: Value, _| async { "acted" });
    let model = ScriptedModel::new([Step::call_tool("act", "{}"), Step::say("done")]);
    let runner = runner(model)
        .tool(act.build())
        .policy(always("careful"))
        .suspend_at_gates()
        .build()
        .unwrap();
    assert!(runner.run(input()).await.is_suspended());
    let mut turn = runner.attach(TALK, TURN).await.unwrap();
    let mut names = Vec::new();
    while let Some(event) = turn.next().await {
        names.push(event.name());
    }
    assert_eq!(names, ["turnStart", "turnGateOpen", "turnEnd"]);
    assert!(turn.await.is_suspended());
}
