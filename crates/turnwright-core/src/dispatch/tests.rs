use crate::event::EventKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::tool::context::Signal;
use crate::*;

fn refused() -> Error {
    Error::new(ErrorCode::TOOL_DOWNSTREAM_ERROR, "no")
}

#[test]
fn a_second_signal_is_an_error() {
    let ctx = DispatchContext::standalone();
    assert_eq!(ctx.signal(), None);
    ctx.ack().unwrap();
    for error in [ctx.ack().unwrap_err(), ctx.nack(refused()).unwrap_err()] {
        assert_eq!(error.code().as_str(), "E_LLM_EXECUTION_ALREADY_SIGNALLED");
        assert!(error.is_fatal());
    }
    assert_eq!(ctx.signal(), Some(Signal::Ack));

    let ctx = DispatchContext::standalone();
    ctx.nack(refused()).unwrap();
    assert!(ctx.ack().is_err());
    assert_eq!(ctx.signal(), Some(Signal::Nack));
    assert_eq!(ctx.nack_error().unwrap().message(), "no");
}

#[test]
fn exactly_one_of_racing_signals_counts() {
    for _ in 0..50 {
        let ctx = DispatchContext::standalone();
        let ran = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&ran);
        ctx.on_ack(move || {
            count.fetch_add(1, Ordering::Relaxed);
        });
        let won = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| ctx.ack().is_ok())).collect();
            threads
                .into_iter()
                .filter_map(|thread| thread.join().ok())
                .filter(|won| *won)
                .count()
        });
        assert_eq!((won, ran.load(Ordering::Relaxed)), (1, 1));
    }
}

#[test]
fn on_ack_work_runs_after_the_ack_unless_removed() {
    let ctx = DispatchContext::standalone();
    let ran = Arc::new(parking_lot::Mutex::new(Vec::new()));
    let note = |what: &'static str| {
        let ran = Arc::clone(&ran);
        move || ran.lock().push(what)
    };
    drop(ctx.on_ack(note("kept")));
    ctx.on_ack(note("removed")).remove();
    // User code may use the dispatch, even from within the callback.
    let inner = ctx.clone();
    let (inside, again) = (note("inside"), note("too late"));
    ctx.on_ack(move || {
        inside();
        assert_eq!(inner.signal(), Some(Signal::Ack));
        inner.on_ack(again);
    });
    ctx.ack().unwrap();
    assert_eq!(*ran.lock(), ["kept", "inside"]);
}

#[test]
fn the_stash_stores_json_by_dot_path() {
    let stash = Stash::new();
    assert_eq!(stash.set("a.b.c", 1).unwrap(), None);
    assert_eq!(stash.set("a.b.c", 2).unwrap(), Some(json!(1)));
    assert_eq!(stash.get("a"), Some(json!({ "b": { "c": 2 } })));
    stash.set("list", json!([{ "x": 1 }])).unwrap();
    stash.set("list.0.x", "y").unwrap();
    assert_eq!(stash.get("list.0"), Some(json!({ "x": "y" })));
    stash.set(r"file\.name.size", 3).unwrap();
    assert_eq!(stash.snapshot()["file.name"], json!({ "size": 3 }));
    assert_eq!(stash.get_as::<u8>(r"file\.name.size"), Some(3));
    assert_eq!(stash.get_as::<bool>("a.b.c"), None);
    assert!(stash.has("a.b") && !stash.has("a.x") && !stash.has(""));
    assert_eq!(stash.remove("a.b.c"), Some(json!(2)));
    assert_eq!(stash.remove("a.b.c"), None);
    assert_eq!(stash.remove("list.0"), Some(json!({ "x": "y" })));
    assert_eq!(
        stash.get("list"),
        Some(json!([null])),
        "the items behind it keep their numbers"
    );
}

#[test]
fn an_invalid_stash_path_is_an_error_and_changes_nothing() {
    let stash = Stash::new();
    stash.set("text", "x").unwrap();
    stash.set("list", json!([1])).unwrap();
    let before = stash.snapshot();
    for path in [
        "",
        ".",
        "a.",
        ".a",
        "a..b",
        "text.more",
        "list.7",
        "list.x.y",
    ] {
        let error = stash.set(path, 1).unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_STASH_PATH, "{path}");
        assert!(stash.update(path, |_| json!(1)).is_err());
    }
    assert_eq!(stash.snapshot(), before);
}

#[test]
fn stash_values_are_copies_and_updates_are_atomic() {
    let stash = Stash::new();
    stash.set("v", json!({ "n": 1 })).unwrap();
    let mut taken = stash.get("v").unwrap();
    taken["n"] = json!(2);
    assert_eq!(stash.get("v.n"), Some(json!(1)));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..250 {
                    let more = |n: Option<serde_json::Value>| {
                        json!(n.and_then(|n| n.as_u64()).unwrap_or(0) + 1)
                    };
                    stash.update("count", more).unwrap();
                }
            });
        }
    });
    assert_eq!(stash.get("count"), Some(json!(1000)));
}

#[test]
fn a_panicking_observer_is_harmless_and_removing_it_stops_it() {
    let ctx = DispatchContext::standalone();
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    let broken = ctx.turn().events().observe(|_| panic!("on purpose"));
    let steady = ctx.turn().events().observe(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let tell = || {
        ctx.turn().emit(|| EventKind::Warning {
            message: "x".to_owned(),
        });
    };
    tell();
    steady.remove();
    tell();
    broken.remove();
    assert_eq!(seen.load(Ordering::Relaxed), 1);
    ctx.turn()
        .emit(|| panic!("no observer, so no event is created"));
}

#[test]
fn an_observer_added_by_a_statement_stays() {
    let ctx = DispatchContext::standalone();
    let seen = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&seen);
    ctx.turn().events().observe(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    ctx.turn().emit(|| EventKind::Warning {
        message: "x".to_owned(),
    });
    assert_eq!(seen.load(Ordering::Relaxed), 1);
}

/// Rejects a tool by its name, like a model whose server rejects its schema.
struct Picky;

#[async_trait::async_trait]
impl Executor for Picky {
    async fn execute(&self, ctx: DispatchContext) -> Result<(), BoxError> {
        ctx.answer("Yes.").await?;
        Ok(())
    }

    fn check_tools(&self, tools: &[Tool]) -> Result<(), Error> {
        match tools.iter().find(|tool| tool.name() == "bad") {
            None => Ok(()),
            Some(_) => Err(Error::new(
                ErrorCode::INVALID_TURN_RUNNER_CONFIG,
                "`bad` is bad",
            )),
        }
    }
}

#[test]
fn executors_check_the_tools_of_a_runner_when_it_is_built() {
    let tool = |name: &str| {
        Tool::dynamic(name, json!({ "type": "object" }))
            .description("A tool.")
            .handler(|_: serde_json::Value, _: ToolContext| async { "" })
            .build()
            .unwrap()
    };
    let ways: [fn() -> Arc<dyn Executor>; 2] = [|| Arc::new(Picky), || Arc::new(Arc::new(Picky))];
    for make in ways {
        assert!(runner(make()).tools([tool("good")]).build().is_ok());
        let error = runner(make())
            .tools([tool("good"), tool("bad")])
            .build()
            .unwrap_err();
        assert_eq!(error.message(), "`bad` is bad");
    }
}

#[tokio::test]
async fn clones_of_a_builder_are_independent_dispatches() {
    let tool = Tool::dynamic("much", json!({ "type": "object" }))
        .description("Returns much.")
        .handler(async |_, ctx| Ok(format!("{}{}", ctx.state::<String>()?, "x".repeat(100))))
        .build()
        .unwrap();
    let template = DispatchContext::builder()
        .tools(ToolRegistry::new([tool]).unwrap())
        .state("shared ".to_owned())
        .inline_limit(50);
    let stop = Cancellation::new();
    let first = template.clone().cancellation(stop.clone()).build();
    let second = template.inline_limit(500).build();
    stop.cancel();
    assert!(first.call("much", "{}").await.is_error());
    let call = second.call("much", "{}").await;
    assert!(call.is_inline() && call.text().await.unwrap().starts_with("shared x"));
    assert_ne!(first.turn().turn_id(), second.turn().turn_id());
    assert!(first.records().all::<ToolCall>().len() == 1);
}

#[tokio::test]
async fn without_a_handle_to_its_gates_a_dispatch_denies_approvals() {
    let tool = Tool::dynamic("pay", json!({ "type": "object" }))
        .description("Pays.")
        .approval(tool::approval::always("it costs money"))
        .handler(async |_, _| "paid")
        .build()
        .unwrap();
    let ctx = DispatchContext::builder()
        .tools(ToolRegistry::new([tool]).unwrap())
        .build();
    assert!(ctx.call("pay", "{}").await.is_error());
    let mut gates = ctx.gates();
    let deny = async {
        let gate = gates.next().await.unwrap();
        assert_eq!(gate.tool(), Some("pay"));
        gates.deny(&gate.id, "too much").unwrap()
    };
    let (call, denied) = tokio::join!(ctx.call("pay", "{}"), deny);
    assert!(denied && call.is_error());
    drop(gates);
    assert!(ctx.call("pay", "{}").await.is_error());
}
