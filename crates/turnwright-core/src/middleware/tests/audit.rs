use crate::outcome::Limit;
use crate::tool::approval::ApprovalRequest;
use crate::tool::approval::GateAnswer;
use crate::tool::approval::PendingCall;
use crate::tool::approval::Review;
use crate::tool::context::WeakTurnContext;
use std::time::Duration;

use super::*;
use crate::middleware::{Audit, AuditedCall, audit};

type Calls = Arc<Mutex<Vec<AuditedCall>>>;

fn collecting() -> (Calls, Audit) {
    let calls: Calls = Arc::default();
    let into = Arc::clone(&calls);
    (calls, audit(move |call| into.lock().push(call)))
}

fn failing(name: &str) -> Tool {
    tool(name)
        .handler(|_: Value, _: ToolContext| async {
            Err::<String, _>(ToolError::internal("broke"))
        })
        .build()
        .unwrap()
}

fn hanging(name: &str) -> Tool {
    tool(name)
        .handler(|_: Value, ctx: ToolContext| async move {
            ctx.stash().set("hangs", true)?;
            std::future::pending::<()>().await;
            Ok::<_, ToolError>("never")
        })
        .build()
        .unwrap()
}

fn summary(calls: &Calls) -> Vec<(String, bool, bool, Option<&'static str>)> {
    let calls = calls.lock();
    let calls = calls.iter();
    calls
        .map(|call| (call.tool.to_string(), call.ran, call.is_error, call.code))
        .collect()
}

#[tokio::test]
async fn every_call_is_reported_once_whatever_its_result() {
    let (calls, audit) = collecting();
    let look = done(tool("look").effects(Effects::ReadOnly));
    let fingerprint = look.fingerprint().to_owned();
    let runner = runner(|ctx: DispatchContext| async move {
        if ctx.iteration() == 2 {
            ctx.call("look", "{}").await;
            ctx.answer("done").await?;
            return Ok(());
        }
        let proposed =
            ["look", "breaks", "nothing"].map(|name| ctx.propose(name, r#"{"secret": 1}"#));
        ctx.call_tools(proposed).await;
        ctx.call("look", "not JSON").await;
        Ok(())
    })
    .tools([look, failing("breaks")])
    .turn_input(audit)
    .build()
    .unwrap();
    let outcome = runner.run("go").await;
    assert!(outcome.is_answered());
    let wanted = [
        ("look", true, false, None),
        ("breaks", true, true, Some("E_TOOL_DOWNSTREAM_ERROR")),
        ("nothing", false, true, Some("E_UNKNOWN_TOOL")),
        ("look", false, true, Some("E_INVALID_TOOL_ARGS")),
        ("look", true, false, None),
    ];
    assert_eq!(
        summary(&calls),
        wanted.map(|(name, ran, wrong, code)| (name.to_owned(), ran, wrong, code))
    );
    let calls = calls.lock();
    for (call, record) in calls.iter().zip(outcome.tool_calls()) {
        assert_eq!(
            (&*call.id, &*call.checksum),
            (record.id(), record.checksum())
        );
        assert_eq!(call.turn_id, outcome.turn_id);
        assert_eq!(call.duration.is_some(), call.ran);
        assert!(call.recorded && call.args.is_none() && !call.edited && call.gate.is_none());
    }
    assert_eq!(calls[0].fingerprint.as_deref(), Some(&*fingerprint));
    assert_eq!(calls[0].effects, Some(Effects::ReadOnly));
    assert_eq!(calls[1].effects, Some(Effects::Writes));
    assert_eq!((calls[2].effects, &calls[2].fingerprint), (None, &None));
    let line = serde_json::to_value(&calls[1]).unwrap();
    assert_eq!(line["isError"], true);
    assert!(line["durationMs"].is_f64() && line["endedAtMs"].is_u64());
    assert!(!line.as_object().unwrap().contains_key("args"));
}

#[tokio::test]
async fn a_turn_without_calls_reports_nothing() {
    let (calls, audit) = collecting();
    let runner = calling("look", 1).turn_input(audit).build().unwrap();
    assert!(runner.run("go").await.is_answered());
    assert!(calls.lock().is_empty());
}

#[tokio::test]
async fn calls_of_earlier_turns_are_not_reported_again() {
    let (calls, audit) = collecting();
    let runner = calling("look", 2)
        .tool(plain("look"))
        .turn_input(audit)
        .build()
        .unwrap();
    let mut chat = runner.conversation("chat");
    for turns in 1..=3 {
        assert!(chat.say("go").await.is_answered());
        assert_eq!(calls.lock().len(), turns);
    }
}

#[tokio::test]
async fn with_args_reports_the_arguments_that_ran() {
    let (calls, audit) = collecting();
    let amount = tool("pay").approval(|call: &PendingCall<'_>| match call.args()["amount"] {
        Value::Null => Review::Rewrite(json!({ "amount": 5 })),
        _ => Review::ask("money"),
    });
    let runner = runner(|ctx: DispatchContext| async move {
        ctx.call("pay", "{}").await;
        ctx.call("pay", r#"{"amount": 9}"#).await;
        ctx.call("gone", r#"{"x": 1}"#).await;
        ctx.ack()?;
        Ok(())
    })
    .tool(done(amount))
    .approver(|request: ApprovalRequest| async move {
        if request.args["amount"] == 5 {
            GateAnswer::approve()
        } else {
            GateAnswer::deny("too much")
        }
    })
    .turn_input(audit.with_args())
    .build()
    .unwrap();
    assert!(runner.run("go").await.is_answered());
    let calls = calls.lock();
    let args: Vec<_> = calls
        .iter()
        .map(|call| call.args.clone().unwrap())
        .collect();
    assert_eq!(
        args,
        [
            json!({ "amount": 5 }),
            json!({ "amount": 9 }),
            json!({ "x": 1 })
        ]
    );
    // The first was changed and approved, the second was rejected, the third needed no approval.
    let facts: Vec<_> = calls
        .iter()
        .map(|call| (call.edited, call.gate.is_some(), call.ran, call.code))
        .collect();
    assert_eq!(
        facts,
        [
            (true, true, true, None),
            (false, true, false, Some("E_TOOL_DENIED")),
            (false, false, false, Some("E_UNKNOWN_TOOL")),
        ]
    );
    assert!(calls[0].gate.as_deref().unwrap().starts_with("approval-"));
    assert!(!format!("{calls:?}").contains("amount"));
}

#[tokio::test(start_paused = true)]
async fn a_call_interrupted_by_the_end_of_the_turn_is_reported_before_the_outcome() {
    let (calls, audit) = collecting();
    let runner = runner(|ctx: DispatchContext| async move {
        ctx.call_tools(["quick", "hangs"].map(|name| ctx.propose(name, "{}")))
            .await;
        Ok(())
    })
    .tools([plain("quick"), hanging("hangs")])
    .turn_input(audit)
    .build()
    .unwrap();
    let input = TurnInput::new("go").budget(Budget::new().time(Duration::from_secs(9)));
    let outcome = runner.run(input).await;
    assert!(matches!(outcome.status, TurnStatus::Limit(Limit::Time(_))));
    let calls = summary(&calls);
    assert_eq!(calls.len(), 2);
    assert!(
        calls.contains(&("quick".to_owned(), true, false, None)),
        "{calls:?}"
    );
    let cut = ("hangs".to_owned(), true, true, Some("E_TOOL_CANCELLED"));
    assert!(calls.contains(&cut), "{calls:?}");
}

#[tokio::test]
async fn calls_are_reported_when_the_executor_fails_panics_or_nacks() {
    for how in ["fails", "panics", "refuses", "aborts"] {
        let (calls, audit) = collecting();
        let runner = runner(move |ctx: DispatchContext| async move {
            ctx.call("look", "{}").await;
            match how {
                "fails" => return Err("the model is gone".into()),
                "panics" => panic!("on purpose"),
                "refuses" => ctx.nack("no")?,
                _ => ctx.turn().abort("enough"),
            }
            Ok(())
        })
        .tool(plain("look"))
        .turn_input(audit)
        .build()
        .unwrap();
        assert!(!runner.run("go").await.is_answered());
        assert_eq!(
            summary(&calls),
            [("look".to_owned(), true, false, None)],
            "{how}"
        );
    }
}

#[tokio::test]
async fn a_call_whose_record_cannot_be_stored_is_reported() {
    let (calls, audit) = collecting();
    let store = Refusing::default();
    store.refuses.store(true, Ordering::Relaxed);
    let runner = calling("look", 9)
        .tool(plain("look"))
        .storage(Storage::of(store))
        .turn_input(audit)
        .build()
        .unwrap();
    let outcome = runner.run(TurnInput::new("go").conversation("c")).await;
    assert_eq!(outcome.error().unwrap().code(), ErrorCode::STORE_ERROR);
    let calls = calls.lock();
    assert_eq!(calls.len(), 1);
    assert!(calls[0].ran && !calls[0].is_error && !calls[0].recorded);
    assert_eq!((&*calls[0].tool, calls[0].checksum.len()), ("look", 64));
}

#[tokio::test]
async fn calls_without_records_are_reported() {
    let (calls, audit) = collecting();
    let runner = runner(|ctx: DispatchContext| async move {
        let look = plain("look");
        look.call(&ctx, "{}").await?;
        look.call(&ctx, "[]").await.unwrap_err();
        ctx.ack()?;
        Ok(())
    })
    .turn_input(audit)
    .build()
    .unwrap();
    assert!(runner.run("go").await.is_answered());
    let wanted = [
        ("look".to_owned(), true, false, None),
        ("look".to_owned(), false, true, Some("E_INVALID_TOOL_ARGS")),
    ];
    assert_eq!(summary(&calls), wanted);
}

#[tokio::test]
async fn a_panicking_sink_causes_a_warning_and_gets_the_next_call() {
    let tries = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&tries);
    let broken = audit(move |_: AuditedCall| {
        if count.fetch_add(1, Ordering::Relaxed) == 0 {
            panic!("disk full");
        }
    });
    let runner = calling("look", 3)
        .tool(plain("look"))
        .turn_input(broken)
        .build()
        .unwrap();
    let events = heard(&runner);
    let outcome = runner.run("go").await;
    assert!(outcome.is_answered());
    assert_eq!(tries.load(Ordering::Relaxed), 2);
    let warnings = of_event(&events, "warning");
    assert_eq!(warnings.len(), 1);
    let text = warnings[0]["message"].as_str().unwrap();
    assert!(text.contains("disk full") && text.contains(outcome.tool_calls().next().unwrap().id()));
}

#[tokio::test]
async fn an_audit_does_not_keep_the_turn_alive() {
    let held: Arc<Mutex<Option<WeakTurnContext>>> = Arc::default();
    let into = Arc::clone(&held);
    let (_calls, audit) = collecting();
    let runner = calling("look", 2)
        .tool(plain("look"))
        .turn_input(audit)
        .turn_input(move |ctx: TurnContext, next: Next<TurnContext>| {
            *into.lock() = Some(ctx.downgrade());
            async move { next.run().await }
        })
        .build()
        .unwrap();
    assert!(runner.run("go").await.is_answered());
    assert!(held.lock().as_ref().unwrap().upgrade().is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_audit_of_concurrent_turns_reports_each_call_once_with_its_turn() {
    let (calls, audit) = collecting();
    let runner = runner(|ctx: DispatchContext| async move {
        let many = (0..4).map(|n| ctx.propose("look", json!({ "n": n })));
        ctx.call_tools(many).await;
        if ctx.iteration() == 3 {
            ctx.ack()?;
        }
        Ok(())
    })
    .tool(plain("look"))
    .turn_input(audit)
    .build()
    .unwrap();
    let turns = futures_util::future::join_all((0..32).map(|_| runner.run("go"))).await;
    let calls = calls.lock();
    assert_eq!(calls.len(), 32 * 12);
    for outcome in &turns {
        let own = calls.iter().filter(|call| call.turn_id == outcome.turn_id);
        let ids: Vec<&str> = own.map(|call| &*call.id).collect();
        let records: Vec<&str> = outcome.tool_calls().map(|call| call.id()).collect();
        assert_eq!(ids, records);
    }
}
