//! Result hooks.

use std::io;
use turnwright_core::spool::Body;
use turnwright_core::spool::ByteStream;
use turnwright_core::store::MemoryStore;
use turnwright_core::tool::Content;
use turnwright_core::tool::reconcile;

use bytes::Bytes;
use turnwright_core::tool::ResultHook;
use turnwright_core::tool::reconcile::Finding;

use super::*;

const SECRET: &str = "s3cret";

async fn redact(_: ToolContext, mut output: ToolOutput) -> Result<ToolOutput, BoxError> {
    let clean = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(SECRET, "***");
    output = output.map_text(|text| clean(text.as_bytes()));
    output.content = match output.content {
        Content::Body(Body::Bytes(bytes)) => Content::Body(Body::Bytes(clean(&bytes).into())),
        Content::Body(Body::Stream(stream)) => Content::Body(Body::Stream(
            stream.map_pieces(move |piece| Ok(clean(&piece).into())),
        )),
        content => content,
    };
    Ok(output)
}

/// Everything that a turn stored and showed, as text.
async fn traces(builder: runner::TurnRunnerBuilder) -> (TurnOutcome, String) {
    let observed = Observed::default();
    let store = Arc::new(MemoryStore::default());
    let runner = builder.observer(observed.observer());
    let runner = runner
        .storage(storage_of(Arc::clone(&store)))
        .build()
        .unwrap();
    let mut turn = runner.start(TurnInput::new("x").conversation("talk"));
    let mut all = String::new();
    while let Some(event) = turn.next().await {
        all.push_str(&serde_json::to_string(&event).unwrap());
    }
    let outcome = turn.await;
    for record in store.records(&ConversationId::new("talk")).await.unwrap() {
        all.push_str(&record.to_value().unwrap().to_string());
    }
    for call in outcome.tool_calls() {
        all.push_str(&call.text().await.unwrap_or_default());
    }
    all.push_str(&Value::from(observed.0.lock().clone()).to_string());
    (outcome, all)
}

fn leaks() -> Vec<(&'static str, ToolBuilder<Value>)> {
    let stream = |_: Value, _: ToolContext| async {
        let (sender, stream) = ByteStream::channel(2);
        tokio::spawn(async move {
            let _ = sender.send(Bytes::from_static(b"pw=s3cret\n")).await;
        });
        stream
    };
    let fails = |_: Value, _: ToolContext| async {
        let source = io::Error::other("postgres://ada:s3cret@db");
        let error = ToolError::unavailable("no database at s3cret").with_source(source);
        Err::<String, _>(error.for_model("The login s3cret was refused."))
    };
    let panics = |_: Value, _: ToolContext| async {
        if true {
            panic!("bad password s3cret");
        }
    };
    vec![
        (
            "text",
            tool("leak").handler(|_: Value, _: ToolContext| async { "pw=s3cret" }),
        ),
        (
            "bytes",
            tool("leak").handler(|_: Value, _: ToolContext| async { b"pw=s3cret".to_vec() }),
        ),
        ("stream", tool("leak").handler(stream)),
        (
            "large",
            tool("leak").handler(|_: Value, _: ToolContext| async { "pw=s3cret\n".repeat(50_000) }),
        ),
        ("failure", tool("leak").handler(fails)),
        ("panic", tool("leak").handler(panics)),
    ]
}

fn calls_leak() -> ScriptedModel {
    ScriptedModel::new([Step::call_tool("leak", "{}"), Step::say("done")])
}

#[tokio::test]
async fn the_changed_result_is_stored_shown_and_sent() {
    for (what, leak) in leaks() {
        let model = calls_leak();
        let builder = runner(model.clone()).tool(leak.build()).on_result(redact);
        let (outcome, all) = traces(builder).await;
        assert!(outcome.is_answered(), "{what}");
        assert!(!all.contains(SECRET), "{what}: {all}");
        assert!(all.contains("***"), "{what}");
        let shown = format!("{:?}", model.request(1).tool_calls());
        assert!(!shown.contains(SECRET), "{what}: {shown}");
    }
}

#[tokio::test]
async fn a_failing_or_panicking_hook_withholds_the_result() {
    let fails = |_: ToolContext, output: ToolOutput| async move {
        Err::<ToolOutput, BoxError>(format!("cannot redact {output:?} {SECRET}").into())
    };
    let panics = |_: ToolContext, output: ToolOutput| async move {
        match output.as_text() {
            Some(text) => panic!("cannot redact {text}"),
            None => panic!("cannot redact"),
        }
    };
    for (what, leak) in leaks() {
        let builder = || runner(calls_leak());
        let leak = leak.build().unwrap();
        for builder in [
            builder().tool(leak.clone()).on_result(fails),
            builder().tool(leak.clone()).on_result(panics),
        ] {
            let (outcome, all) = traces(builder).await;
            assert!(outcome.is_answered(), "{what}: the turn goes on");
            assert!(!all.contains(SECRET), "{what}: {all}");
            let call = outcome.tool_calls().next().unwrap();
            assert!(call.is_error(), "{what}");
            assert!(all.contains("E_TOOL_RESULT_WITHHELD"), "{what}: {all}");
        }
    }
}

#[tokio::test]
async fn hooks_of_the_tool_run_before_those_of_the_runner() {
    let adds = |mark: &'static str| {
        move |ctx: ToolContext, output: ToolOutput| async move {
            let tool = ctx.tool().name().to_owned();
            Ok(output.map_text(|text| format!("{text} {mark}:{tool}")))
        }
    };
    let say = tool("say")
        .on_result(adds("a"))
        .handler(|_: Value, _: ToolContext| async { "said" });
    let ctx = DispatchContext::builder()
        .tools(ToolRegistry::new([say.build().unwrap()]).unwrap())
        .on_result(adds("b"))
        .on_result(adds("c"))
        .build();
    let call = ctx.call("say", "{}").await;
    let text = call.text().await;
    assert_eq!(text.as_deref(), Some("said a:say b:say c:say"));
}

#[tokio::test]
async fn a_hook_cannot_raise_trust() {
    let replaces = |_: ToolContext, _: ToolOutput| async { Ok(ToolOutput::text("clean")) };
    let say = tool("say")
        .trusted(true)
        .handler(|_: Value, _: ToolContext| async { ToolOutput::text("dirty").untrusted() });
    let ctx = DispatchContext::builder()
        .tools(ToolRegistry::new([say.build().unwrap()]).unwrap())
        .on_result(replaces)
        .build();
    let call = ctx.call("say", "{}").await;
    assert_eq!(call.text().await.as_deref(), Some("clean"));
    assert!(!call.is_trusted());
}

#[tokio::test]
async fn a_hook_can_distinguish_errors_from_outputs() {
    struct Marks;
    #[async_trait]
    impl ResultHook for Marks {
        async fn on_output(
            &self,
            _: ToolContext,
            output: ToolOutput,
        ) -> Result<ToolOutput, BoxError> {
            Ok(output.map_text(|text| format!("output: {text}")))
        }

        async fn on_error_text(&self, _: ToolContext, text: String) -> Result<String, BoxError> {
            Ok(format!("error: {text}"))
        }
    }
    let fails = tool("fails").handler(|_: Value, _: ToolContext| async {
        Err::<String, _>(ToolError::not_found("no row 7").for_model("There is no user 7."))
    });
    let ctx = DispatchContext::builder()
        .tools(ToolRegistry::new([fails.build().unwrap()]).unwrap())
        .on_result(Marks)
        .build();
    let call = ctx.call("fails", "{}").await;
    assert_eq!(
        call.text().await.as_deref(),
        Some("error: There is no user 7.")
    );
}

#[tokio::test]
async fn a_reconciled_result_passes_through_hooks() {
    let store = Arc::new(MemoryStore::default());
    let reached = Arc::new(tokio::sync::Notify::new());
    let model = calls_leak();
    let pay = |waits: bool| {
        let reached = Arc::clone(&reached);
        tool("leak")
            .handler(move |_: Value, _: ToolContext| {
                let reached = Arc::clone(&reached);
                async move {
                    reached.notify_one();
                    if waits {
                        std::future::pending::<()>().await;
                    }
                    "never"
                }
            })
            .reconcile(|_: reconcile::UnknownCall| async {
                Ok::<_, BoxError>(Finding::done("receipt s3cret"))
            })
            .build()
    };
    let build = |waits| {
        let builder = runner(model.clone()).storage(storage_of(Arc::clone(&store)));
        builder.tool(pay(waits)).on_result(redact).build().unwrap()
    };
    let first = build(true);
    std::thread::scope(|scope| {
        // A dead process is a dropped runtime.
        scope.spawn(|| {
            let process = tokio::runtime::Builder::new_current_thread();
            let process = { process }.enable_all().build().unwrap();
            let turn = process.block_on(async {
                let turn = first.start(TurnInput::new("x").conversation("c").turn_id("t"));
                reached.notified().await;
                turn
            });
            drop((process, turn));
        });
    });
    let outcome = build(false).resume("t").await.unwrap().await;
    let call = outcome.tool_calls().next().unwrap();
    assert_eq!(call.text().await.as_deref(), Some("receipt ***"));
}

#[tokio::test]
async fn a_result_of_settle_with_passes_through_hooks() {
    let leak = tool("leak")
        .on_result(redact)
        .handler(|_: Value, _: ToolContext| async { "" });
    let ctx = DispatchContext::builder()
        .tools(ToolRegistry::new([leak.build().unwrap()]).unwrap())
        .build();
    let call = ctx.propose("leak", "{}").settle_with("pw=s3cret").await;
    assert_eq!(call.text().await.as_deref(), Some("pw=***"));
    let error = ToolError::internal("s3cret").for_model("s3cret");
    let failed = ctx.propose("leak", "{}");
    let failed = failed.settle_with(Err::<String, _>(error)).await;
    assert_eq!(failed.text().await.as_deref(), Some("***"));
}
