//! Gates at which a turn waited.

use super::*;
use turnwright_core::gate::GateAnswer;
use turnwright_core::gate::GateKind;
use turnwright_core::gate::TurnGate;
use turnwright_core::record::GateState;
use turnwright_core::record::Record;
use turnwright_core::record::RecordKind;
use turnwright_core::tool::approval::always;

/// Runs the turn in a process that dies at its first gate. Returns the gate id.
fn die_at_gate(runner: &TurnRunner) -> String {
    let process = process();
    let (id, turn) = process.block_on(async {
        let turn = runner.start(go_input());
        let open = opened(&turn.gates()).await;
        // It is recorded before the wait.
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        (open[0].id.to_string(), turn)
    });
    drop((process, turn));
    id
}

#[test]
fn a_waiting_approval_waits_again_with_the_same_id() {
    let world = World::default();
    let pay = || world.acting("pay").approval(always("it costs")).build();
    let first = world.runner(&calls("pay")).tool(pay()).build().unwrap();
    let id = die_at_gate(&first);
    process().block_on(async {
        let noted = world.store.gates(&ConversationId::new(TALK)).await.unwrap();
        assert_eq!(noted.len(), 1);
        assert_eq!((noted[0].id(), &noted[0].kind), (&*id, &GateKind::Approval));
        assert_eq!(noted[0].state, GateState::Open);
        let second = world.runner(&answers()).tool(pay()).build().unwrap();
        let turn = second.resume(TURN).await.unwrap();
        let gates = turn.gates();
        assert_eq!(*opened(&gates).await[0].id, *id);
        assert!(world.runs.all().is_empty(), "it ran unasked");
        assert!(gates.approve(&id).unwrap());
        assert!(turn.await.is_answered());
        assert_eq!(world.runs.all().len(), 1);
        assert_eq!(world.ledger().await, [("pay".to_owned(), "done")]);
        let noted = world.store.gates(&ConversationId::new(TALK)).await.unwrap();
        assert_eq!(noted.len(), 1);
        assert_eq!(noted[0].state.name(), "resolved");
    });
}

#[test]
fn an_earlier_approval_with_edits_is_reused() {
    let world = World::default();
    // The process dies with the batch that starts the call: the fourth after the start, the opened gate and the answer.
    let (reached, never) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let mut odd = Odd::store(usize::MAX, How::Waits(Arc::clone(&reached), never));
    odd.store = Arc::clone(&world.store);
    let seen = Notes::default();
    let pay = {
        let seen = seen.clone();
        move || {
            let seen = seen.clone();
            tool("pay")
                .approval(always("it costs"))
                .handler(move |args: Value, _: ToolContext| {
                    seen.note(args.to_string());
                    async { "paid" }
                })
                .build()
        }
    };
    odd.at = 4;
    let first = runner(calls("pay")).storage(storage_of(odd)).tool(pay());
    let first = first.build().unwrap();
    let process_one = process();
    let turn = process_one.block_on(async {
        let turn = first.start(go_input());
        let gates = turn.gates();
        let id = opened(&gates).await[0].id.clone();
        gates
            .answer(&id, GateAnswer::edit(json!({ "amount": 3 })))
            .unwrap();
        reached.notified().await;
        turn
    });
    drop((process_one, turn));
    process().block_on(async {
        let noted = world.store.gates(&ConversationId::new(TALK)).await.unwrap();
        assert_eq!(noted[0].state.name(), "resolved");
        assert_eq!(world.ledger().await, []);
        let observed = Observed::default();
        let second = world.runner(&answers()).tool(pay());
        let second = second.observer(observed.observer()).build().unwrap();
        let outcome = second.resume(TURN).await.unwrap().await;
        assert!(outcome.is_answered(), "{:?}", outcome.status);
        assert!(
            observed.of("turnGateOpen").is_empty(),
            "approval was requested again"
        );
        assert_eq!(seen.all(), [r#"{"amount":3}"#]);
        assert_eq!(world.ledger().await, [("pay".to_owned(), "done")]);
    });
}

/// Long ago, and in a future caused by a wrong clock; and recently, if earlier answers are not reused.
#[test]
fn a_stale_approval_is_requested_again() {
    for (given, recalls) in [("2001", true), ("2900", true), ("now", false)] {
        asked_again(given, recalls);
    }
}

fn asked_again(given: &str, recalls: bool) {
    let world = World::default();
    let pay = || world.acting("pay").approval(always("it costs")).build();
    let first = world.runner(&calls("pay")).tool(pay()).build().unwrap();
    let id = die_at_gate(&first);
    process().block_on(async {
        let conversation_id = ConversationId::new(TALK);
        let noted = world.store.gates(&conversation_id).await.unwrap().remove(0);
        let mut value = Record::from(noted).to_value().unwrap();
        value["state"] = json!({ "answered": r#"{"decision":"approve"}"# });
        match given {
            "now" => value["closedAt"] = value["openedAt"].clone(),
            year => {
                value["openedAt"] = format!("{year}-01-01T00:00:00Z").into();
                value["closedAt"] = format!("{year}-01-01T00:00:01Z").into();
            }
        }
        let reopen = record::ByteResolver::new(Arc::new(spool::MemorySpool::default()));
        let old = Record::from_value(RecordKind::Gate, &value, &reopen).unwrap();
        world.store.put(&conversation_id, old).await.unwrap();
        let minute = std::time::Duration::from_secs(60);
        let second = world
            .runner(&answers())
            .tool(pay())
            .approval_timeout(minute);
        let second = second.reuse_answers(recalls).build().unwrap();
        let turn = second.resume(TURN).await.unwrap();
        let gates = turn.gates();
        assert_eq!(*opened(&gates).await[0].id, *id);
        gates.deny(&id, "not any more").unwrap();
        assert!(turn.await.is_answered());
        assert!(world.runs.all().is_empty());
    });
}

/// What an approval is bound to. Each is changed separately, in the record of an answer whose gate has the same id.
#[test]
fn an_approval_is_valid_for_the_same_call_tool_arguments_and_reason_only() {
    type Change = fn(&mut Value, &mut Value);
    let changes: [(&str, Change); 8] = [
        ("nothing", |_, _| {}),
        ("the call", |gate, _| gate["toolCall"] = "0123456789".into()),
        ("that it is of a call", |gate, _| {
            gate["toolCall"] = Value::Null;
        }),
        ("the tool", |_, asked| asked["tool"] = "play".into()),
        ("the arguments", |_, asked| {
            asked["args"] = json!({ "cents": 1 });
        }),
        ("the reason", |_, asked| {
            asked["reason"] = "it is free".into();
        }),
        ("the fingerprint", |_, asked| {
            asked["fingerprint"] = "0".into();
        }),
        ("the digest", |_, asked| asked["argsDigest"] = "0".into()),
    ];
    for (what, change) in changes {
        let recalled = recalled_after(change, "it costs");
        assert_eq!(recalled, what == "nothing", "{what} was changed");
    }
    assert!(!recalled_after(|_, _| {}, "it costs more now"));
}

/// Returns whether an approval with this change in its record is reused, by a process whose policy has this reason.
fn recalled_after(change: fn(&mut Value, &mut Value), reason: &'static str) -> bool {
    let world = World::default();
    let pay = |reason: &'static str| world.acting("pay").approval(always(reason)).build();
    let first = world.runner(&calls("pay")).tool(pay("it costs"));
    let id = die_at_gate(&first.build().unwrap());
    process().block_on(async {
        let conversation_id = ConversationId::new(TALK);
        let noted = world.store.gates(&conversation_id).await.unwrap().remove(0);
        let mut gate = Record::from(noted).to_value().unwrap();
        gate["state"] = json!({ "answered": r#"{"decision":"approve"}"# });
        gate["closedAt"] = gate["openedAt"].clone();
        let mut asked: Value = serde_json::from_str(gate["question"].as_str().unwrap()).unwrap();
        change(&mut gate, &mut asked);
        gate["question"] = asked.to_string().into();
        let reopen = record::ByteResolver::new(Arc::new(spool::MemorySpool::default()));
        let answered = Record::from_value(RecordKind::Gate, &gate, &reopen).unwrap();
        world.store.put(&conversation_id, answered).await.unwrap();
        let second = world.runner(&answers()).tool(pay(reason)).build().unwrap();
        let turn = second.resume(TURN).await.unwrap();
        let mut gates = turn.gates();
        let asking = tokio::spawn(async move {
            let asked = gates.next().await;
            if let Some(gate) = &asked {
                assert_eq!(*gate.id, *id);
                gates.deny(&gate.id, "not any more").unwrap();
            }
            asked.is_some()
        });
        assert!(turn.await.is_answered());
        let asked_again = asking.await.unwrap();
        assert_eq!(world.runs.all().len(), usize::from(!asked_again));
        !asked_again
    })
}

fn asking(notes: &Notes) -> impl Middleware<TurnContext> + use<> {
    let notes = notes.clone();
    move |ctx: TurnContext, next: Next<TurnContext>| {
        let notes = notes.clone();
        async move {
            for name in ["first", "second"] {
                let gate = TurnGate::new(name).question("?").build()?;
                let answer = ctx.wait_for(gate).await?;
                notes.note(format!("{name}: {answer}"));
            }
            next.run().await
        }
    }
}

#[test]
fn middleware_gates_wait_again_and_their_answers_are_reused() {
    let (world, notes) = (World::default(), Notes::default());
    let first = world.runner(&answers()).turn_input(asking(&notes)).build();
    let first = first.unwrap();
    let one = process();
    let (id, turn) = one.block_on(async {
        let turn = first.start(go_input());
        let gates = turn.gates();
        let open = opened(&gates).await;
        assert!(gates.answer(&open[0].id, json!("yes")).unwrap());
        let mut later = gates.clone();
        let id = loop {
            let gate = later.next().await.unwrap();
            if gate.kind.as_str() == "second" {
                break gate.id.to_string();
            }
        };
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        (id, turn)
    });
    drop((one, turn));
    assert_eq!(notes.all(), ["first: \"yes\""]);
    process().block_on(async {
        let second = world.runner(&answers()).turn_input(asking(&notes)).build();
        let turn = second.unwrap().resume(TURN).await.unwrap();
        let gates = turn.gates();
        let open = opened(&gates).await;
        assert_eq!((open[0].kind.as_str(), &*open[0].id), ("second", &*id));
        gates.answer(&id, json!("no")).unwrap();
        assert!(turn.await.is_answered());
        let words = ["first: \"yes\"", "first: \"yes\"", "second: \"no\""];
        assert_eq!(notes.all(), words);
    });
}

fn waiting(name: &'static str, runs: &Notes) -> ToolBuilder<Value> {
    let runs = runs.clone();
    tool(name).handler(move |_: Value, ctx: ToolContext| {
        let runs = runs.clone();
        async move {
            runs.note("reached");
            let gate = TurnGate::new("where").question("Where?").build()?;
            let answer = ctx.wait_for(gate).await?;
            Ok::<_, ToolError>(answer.to_string())
        }
    })
}

#[test]
fn a_gate_in_a_handler_waits_again_only_if_the_tool_is_read_only() {
    for (effects, again) in [(Effects::ReadOnly, true), (Effects::Writes, false)] {
        let world = World::default();
        let ask = || waiting("ask", &world.runs).effects(effects).build();
        let first = world.runner(&calls("ask")).tool(ask()).build().unwrap();
        let id = die_at_gate(&first);
        process().block_on(async {
            let second = world.runner(&answers()).tool(ask()).build().unwrap();
            let turn = second.resume(TURN).await.unwrap();
            let outcome = if again {
                let gates = turn.gates();
                assert_eq!(*opened(&gates).await[0].id, *id);
                gates.answer(&id, json!("here")).unwrap();
                turn.await
            } else {
                turn.await
            };
            assert!(outcome.is_answered());
            let texts_read = texts(&outcome).await.remove(0);
            if again {
                assert_eq!(texts_read, "\"here\"");
            } else {
                assert!(
                    texts_read.contains("may not have taken effect"),
                    "{texts_read}"
                );
            }
            assert_eq!(world.runs.all().len(), if again { 2 } else { 1 });
        });
    }
}

#[test]
fn a_rejection_before_the_resume_counts() {
    let world = World::default();
    let (reached, never) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let mut odd = Odd::store(4, How::Waits(Arc::clone(&reached), never));
    odd.store = Arc::clone(&world.store);
    let pay = || world.acting("pay").approval(always("it costs")).build();
    let first = runner(calls("pay")).storage(storage_of(odd)).tool(pay());
    let first = first.build().unwrap();
    let one = process();
    let turn = one.block_on(async {
        let turn = first.start(go_input());
        let gates = turn.gates();
        let id = opened(&gates).await[0].id.clone();
        gates.deny(&id, "too dear").unwrap();
        reached.notified().await;
        turn
    });
    drop((one, turn));
    process().block_on(async {
        let second = world.runner(&answers()).tool(pay()).build().unwrap();
        // No one can answer, and no answer is needed.
        let outcome = second.resume(TURN).await.unwrap().await;
        assert!(outcome.is_answered());
        assert!(texts(&outcome).await[0].contains("too dear"));
        assert!(world.runs.all().is_empty());
    });
}

/// Asks before each iteration.
async fn go_on(ctx: DispatchContext, next: Next<DispatchContext>) -> Result<(), BoxError> {
    let gate = TurnGate::new("go_on").question("Go on?").build()?;
    ctx.wait_for(gate).await?;
    next.run().await
}

#[test]
fn a_gate_of_a_later_iteration_keeps_its_id_and_gets_no_earlier_answer() {
    let world = World::default();
    let look = || world.acting("look").effects(Effects::ReadOnly).build();
    let first = world
        .runner(&calls("look"))
        .tool(look())
        .dispatch_input(go_on);
    let first = first.build().unwrap();
    let one = process();
    let (turn, id) = one.block_on(async {
        let turn = first.start(go_input());
        let mut gates = turn.gates();
        let gate = gates.next().await.unwrap();
        let first = gate.id.clone();
        gates.answer(&gate.id, json!(true)).unwrap();
        let gate = gates.next().await.unwrap();
        assert_ne!(gate.id, first);
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        (turn, gate.id)
    });
    drop((one, turn));
    process().block_on(async {
        let second = world.runner(&answers()).tool(look()).dispatch_input(go_on);
        let turn = second.build().unwrap().resume(TURN).await.unwrap();
        let mut gates = turn.gates();
        let gate = gates.next().await.unwrap();
        assert_eq!(gate.id, id, "it waits where it waited");
        gates.answer(&gate.id, json!(true)).unwrap();
        assert!(turn.await.is_answered());
    });
}

impl World {
    /// Records an answer from another process.
    async fn answer(&self, gate: &str, answer: impl Into<GateAnswer>) -> Result<(), Error> {
        let storage = storage_of(Arc::clone(&self.store));
        storage.answer_gate(TALK, gate, answer).await
    }

    async fn gate_state(&self) -> &'static str {
        let gates = self.store.gates(&ConversationId::new(TALK)).await.unwrap();
        gates[0].state.name()
    }
}

#[test]
fn a_gate_of_a_cancelled_turn_accepts_no_answer_until_the_resumed_turn_asks_again() {
    let (world, notes) = (World::default(), Notes::default());
    let asking = || world.runner(&answers()).turn_input(asking(&notes)).build();
    process().block_on(async {
        let runner = asking().unwrap();
        let turn = runner.start(go_input());
        let gates = turn.gates();
        let id = opened(&gates).await[0].id.clone();
        turn.cancel().unwrap();
        turn.await;
        assert_eq!(world.gate_state().await, "unanswered");
        for refused in [
            world.answer(&id, json!("yes")).await.unwrap_err(),
            runner
                .answer_gate(TALK, &id, json!("yes"))
                .await
                .unwrap_err(),
        ] {
            assert_eq!(refused.code(), ErrorCode::TURN_GATE_CLOSED);
            let message = refused.message();
            assert!(message.contains("aborted"), "{message}");
            assert!(message.contains("Resume the turn"), "{message}");
        }
        assert_eq!(world.state().await, ("aborted", 1));

        // The caller holds no gates of the resumed turn.
        let resumed = tokio::spawn(async move { runner.resume(TURN).await.unwrap().await });
        while world.gate_state().await != "open" {
            assert!(!resumed.is_finished());
            tokio::task::yield_now().await;
        }
        world.answer(&id, json!("yes")).await.unwrap();
        while notes.all().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(notes.all(), ["first: \"yes\""]);
        resumed.abort();
    });
}

#[test]
fn an_approval_of_a_call_that_ended_with_its_turn_is_refused() {
    let world = World::default();
    let pay = || world.acting("pay").approval(always("it costs")).build();
    process().block_on(async {
        let first = world.runner(&calls("pay")).tool(pay()).build().unwrap();
        let turn = first.start(go_input());
        let gates = turn.gates();
        let id = opened(&gates).await[0].id.clone();
        turn.cancel().unwrap();
        turn.await;
        let refused = async || {
            let answered = world.answer(&id, GateAnswer::approve()).await;
            answered.unwrap_err().code()
        };
        assert_eq!(refused().await, ErrorCode::TURN_GATE_CLOSED);
        // The call is closed, so the resumed turn does not wait for it.
        let go = Arc::new(Notify::new());
        let goes = Arc::clone(&go);
        let second = runner(move |ctx: DispatchContext| {
            let go = Arc::clone(&goes);
            async move {
                go.notified().await;
                ctx.answer("All is well.").await?;
                Ok(())
            }
        });
        let second = second.storage(storage_of(Arc::clone(&world.store)));
        let turn = second.tool(pay()).build().unwrap().resume(TURN).await;
        while world.state().await.0 != "running" {
            tokio::task::yield_now().await;
        }
        assert_eq!(refused().await, ErrorCode::TURN_GATE_CLOSED);
        go.notify_one();
        assert!(turn.unwrap().await.is_answered());
        assert_eq!(refused().await, ErrorCode::TURN_GATE_CLOSED);
        assert!(world.runs.all().is_empty());
    });
}

#[test]
fn an_answer_that_was_recorded_as_the_turn_ended_counts_when_it_is_resumed() {
    let (world, notes) = (World::default(), Notes::default());
    let asking = || world.runner(&answers()).turn_input(asking(&notes)).build();
    process().block_on(async {
        let runner = asking().unwrap();
        let turn = runner.start(go_input());
        let gates = turn.gates();
        let id = opened(&gates).await[0].id.clone();
        // The turn is cancelled before it learns of the answer.
        world.answer(&id, json!("yes")).await.unwrap();
        turn.cancel().unwrap();
        turn.await;
        assert_eq!(world.state().await, ("aborted", 1));
        assert!(notes.all().is_empty());
        assert_eq!(world.gate_state().await, "resolved");
        let turn = runner.resume(TURN).await.unwrap();
        let gates = turn.gates();
        let second = opened(&gates).await.remove(0);
        assert_eq!(second.kind.as_str(), "second");
        assert_eq!(notes.all(), ["first: \"yes\""]);
        gates.answer(&second.id, json!("no")).unwrap();
        assert!(turn.await.is_answered());
    });
}

#[test]
fn an_answer_that_was_recorded_before_the_last_handle_was_dropped_counts() {
    let world = World::default();
    let pay = world.acting("pay").approval(always("it costs")).build();
    let model = ScriptedModel::new([Step::call_tool("pay", "{}"), Step::say("All is well.")]);
    process().block_on(async {
        let turn = world.runner(&model).tool(pay).build().unwrap();
        let turn = turn.start(go_input());
        let id = opened(&turn.gates()).await[0].id.clone();
        world.answer(&id, GateAnswer::approve()).await.unwrap();
        assert!(turn.await.is_answered());
        assert_eq!(world.gate_state().await, "resolved");
        assert_eq!(world.runs.all().len(), 1);
    });
}
