use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::*;
use crate::record::ToolResults;
use crate::schema::integer;
use crate::*;

fn number(name: &str) -> ToolBuilder<Value> {
    Tool::dynamic(
        name,
        Schema::object().field("n", integer().min(0).default(1)),
    )
    .description("Takes a number.")
}

/// A dispatch, and the names of what happens in it.
struct Watched {
    ctx: DispatchContext,
    events: Arc<Mutex<Vec<Value>>>,
    _observer: event::Observer,
}

fn watch(ctx: DispatchContext) -> Watched {
    let events: Arc<Mutex<Vec<Value>>> = Arc::default();
    let seen = Arc::clone(&events);
    let observer = ctx
        .events()
        .observe(move |event| seen.lock().push(serde_json::to_value(event).unwrap()));
    Watched {
        ctx,
        events,
        _observer: observer,
    }
}

impl Watched {
    fn names(&self) -> Vec<String> {
        self.events
            .lock()
            .iter()
            .map(|event| event["event"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Start and end come as a pair, of one call.
    fn assert_paired(&self) {
        assert_eq!(self.names(), ["toolExecutionStart", "toolExecutionEnd"]);
        let events = self.events.lock();
        assert_eq!(events[0]["id"], events[1]["id"]);
        assert_eq!(events[0]["callId"], events[1]["callId"]);
        assert!(events[1]["durationMs"].as_f64().unwrap() >= 0.0);
    }

    /// Nothing keeps the dispatch alive any more.
    fn assert_freed(self) {
        let weak = self.ctx.downgrade();
        drop(self);
        assert!(
            weak.upgrade().is_none(),
            "something still holds the context"
        );
    }
}

fn alive_tasks() -> usize {
    tokio::runtime::Handle::current()
        .metrics()
        .num_alive_tasks()
}

#[tokio::test]
async fn a_call_goes_all_the_way_and_is_told() {
    let watched = watch(DispatchContext::builder().turn_id("turn-1").build());
    let tool = number("double")
        .meta(json!({ "scope": "math" }))
        .handler(|args: Value, ctx: ToolContext| async move {
            ctx.progress("half way");
            assert_eq!(ctx.meta().get("scope"), Some(&json!("math")));
            assert_eq!(ctx.args(), &args);
            assert!(ctx.deadline().is_some() && !ctx.cancellation().is_cancelled());
            ctx.stash().set("seen", ctx.effect_key())?;
            Ok::<_, ToolError>(Json(args["n"].as_i64().unwrap_or(0) * 2))
        })
        .build()
        .unwrap();
    let record = tool.executor(&watched.ctx).settle(r#"{"n": "21"}"#).await;
    assert_eq!(record.text().await.as_deref(), Some("42"));
    assert_eq!(
        record.checksum(),
        call_id("double", r#"{"n":"21"}"#),
        "over the raw arguments"
    );
    assert!(!record.is_error() && record.id().len() <= 12);
    assert_eq!(record.args().text(), Some(r#"{"n": "21"}"#));
    let ToolResults::Spooled(result) = record.results() else {
        panic!("{record:?}")
    };
    assert_eq!(
        (result.kind(), result.is_trusted()),
        (&ArtifactKind::JSON, false)
    );
    assert_eq!(
        watched.ctx.stash().get_as::<String>("seen").unwrap(),
        format!("turn-1/0/{}", record.checksum())
    );
    assert_eq!(
        watched.names(),
        [
            "toolExecutionStart",
            "toolExecutionProgress",
            "toolExecutionEnd"
        ]
    );
    let events = watched.events.lock().clone();
    assert_eq!(
        events[0]["args"],
        json!({ "n": 21 }),
        "the checked arguments"
    );
    assert_eq!(events[2]["isError"], false);
    assert!(
        events
            .iter()
            .all(|event| event["callId"] == record.checksum() && event["id"] == record.id())
    );
    drop(record);
    watched.assert_freed();
}

#[tokio::test]
async fn a_refused_call_runs_nothing_and_tells_neither_start_nor_end() {
    let watched = watch(DispatchContext::standalone());
    let ran = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&ran);
    let tool = number("t")
        .handler(move |_: Value, _| {
            flag.store(true, Ordering::Relaxed);
            async { "" }
        })
        .build()
        .unwrap();
    let error = tool
        .executor(&watched.ctx)
        .call(json!({ "n": -1, "m": 2 }))
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::InvalidToolArgs);
    assert!(!error.is_fatal());
    assert_eq!(watched.names(), ["toolCallRefused"]);
    assert_eq!(watched.events.lock()[0]["faults"][0]["pointer"], "/n");
    assert_eq!(watched.events.lock()[0]["faults"][1]["pointer"], "/m");
    assert!(!ran.load(Ordering::Relaxed));
    watched.assert_freed();
}

#[tokio::test]
async fn an_unknown_tool_is_an_answer_with_the_names_that_exist() {
    let tools = ["get_weather", "send_mail"].map(|name| {
        number(name)
            .handler(|_: Value, _| async { "" })
            .build()
            .unwrap()
    });
    let watched = watch(
        DispatchContext::builder()
            .tools(ToolRegistry::new(tools).unwrap())
            .build(),
    );
    let record = watched.ctx.call("get_wether", "{}").await;
    let text = record.text().await.unwrap();
    assert!(
        text.contains(
            r#"There is no tool "get_wether"; nothing was run. Did you mean `get_weather`?"#
        ),
        "{text}"
    );
    assert!(text.contains("send_mail"));
    assert!(record.is_error());
    assert_eq!(watched.names(), ["toolCallRefused"]);
    let text = watched
        .ctx
        .call("x\u{202e}\n".repeat(200), "not json")
        .await
        .text()
        .await
        .unwrap();
    assert!(!text.contains('\u{202e}') && text.len() < 1000, "{text}");
    assert_eq!(watched.ctx.tool_calls().len(), 2);
}

#[tokio::test]
async fn a_panic_is_an_error_and_not_a_crash() {
    let before = alive_tasks();
    let watched = watch(DispatchContext::standalone());
    let tool = number("t")
        .handler(|args: Value, _| async move {
            panic!("secret {}", args["n"]);
            #[allow(unreachable_code)]
            ""
        })
        .build()
        .unwrap();
    let error = tool.executor(&watched.ctx).call("{}").await.unwrap_err();
    assert_eq!(error.code().as_str(), "E_TOOL_DOWNSTREAM_ERROR");
    assert!(
        error.to_string().contains("the handler panicked: secret 1"),
        "the operator reads it: {error}"
    );
    assert!(!error.model_text().contains("secret"), "the model does not");
    watched.assert_paired();
    assert_eq!(watched.events.lock()[1]["code"], "E_TOOL_DOWNSTREAM_ERROR");
    // Also one before the first await, in the closure itself.
    let tool = number("t")
        .handler(|_: Value, _| {
            panic!("early");
            #[allow(unreachable_code)]
            async {
                ""
            }
        })
        .build()
        .unwrap();
    assert!(
        tool.executor(&watched.ctx)
            .call("{}")
            .await
            .unwrap_err()
            .to_string()
            .contains("early")
    );
    drop(tool);
    watched.assert_freed();
    assert_eq!(alive_tasks(), before);
}

#[tokio::test]
async fn a_panic_in_a_type_s_own_deserialiser_is_a_refusal() {
    #[derive(schemars::JsonSchema)]
    #[allow(dead_code)]
    struct Angry {
        n: u8,
    }
    impl<'de> serde::Deserialize<'de> for Angry {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            let value = Value::deserialize(deserializer)?;
            assert!(value["n"] != 7, "seven");
            Ok(Angry { n: 1 })
        }
    }
    let tool = Tool::typed::<Angry>("t")
        .description("…")
        .handler(|_: Angry, _| async { "" })
        .build()
        .unwrap();
    let error = tool
        .executor(&DispatchContext::standalone())
        .call(r#"{"n": 7}"#)
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), &*error.faults()[0].rule),
        (ErrorCode::InvalidToolArgs, "deserialize")
    );
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_waits_for_ever_is_cut_at_its_timeout() {
    let before = alive_tasks();
    for (effects, words) in [
        (Effects::ReadOnly, "It only reads, so nothing was changed."),
        (
            Effects::Writes,
            "It may have taken effect or not: find out before you repeat it.",
        ),
    ] {
        let watched = watch(DispatchContext::standalone());
        let seen: Arc<Mutex<Option<Cancellation>>> = Arc::default();
        let keep = Arc::clone(&seen);
        let tool = number("t")
            .effects(effects)
            .timeout(Duration::from_secs(30))
            .handler(move |_: Value, ctx: ToolContext| {
                *keep.lock() = Some(ctx.cancellation().clone());
                async move {
                    std::future::pending::<()>().await;
                    drop(ctx);
                    ""
                }
            })
            .build()
            .unwrap();
        let start = tokio::time::Instant::now();
        let error = tool.executor(&watched.ctx).call("{}").await.unwrap_err();
        assert_eq!(
            start.elapsed(),
            Duration::from_secs(30),
            "on the clock that the runtime has"
        );
        assert_eq!(
            (error.code(), error.kind()),
            (ErrorCode::ToolTimeout, ErrorKind::Timeout)
        );
        assert!(error.model_text().contains(words), "{}", error.model_text());
        assert!(
            seen.lock().take().unwrap().is_cancelled(),
            "whoever it started learns of it"
        );
        watched.assert_paired();
        watched.assert_freed();
    }
    assert_eq!(alive_tasks(), before);
}

#[tokio::test]
async fn a_blocking_handler_is_abandoned_at_its_timeout_reported_and_not_joined() {
    let before = alive_tasks();
    let watched = watch(DispatchContext::standalone());
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let saw_cancel = Arc::new(AtomicBool::new(false));
    let saw = Arc::clone(&saw_cancel);
    let tool = number("t")
        .timeout(Duration::from_millis(50))
        .handler_blocking(move |_: Value, ctx: ToolContext| {
            let cancellation = ctx.cancellation().clone();
            // Until the test says so: were the thread joined, the test would never get there.
            let _ = wait.lock().recv();
            saw.store(cancellation.is_cancelled(), Ordering::SeqCst);
            "late"
        })
        .build()
        .unwrap();
    let error = tool.executor(&watched.ctx).call("{}").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::ToolTimeout);
    watched.assert_paired();
    assert_eq!(watched.events.lock()[1]["abandoned"], true);
    release.send(()).unwrap();
    let weak = watched.ctx.downgrade();
    drop(watched);
    drop(tool);
    // Its thread ends by itself, and with it goes the last hold on the context.
    while weak.upgrade().is_some() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(
        saw_cancel.load(Ordering::SeqCst),
        "it could see that its time was over"
    );
    assert_eq!(alive_tasks(), before);
}

#[test]
fn a_blocking_handler_that_still_waits_for_a_thread_never_runs_once_its_call_is_gone() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (release, wait) = std::sync::mpsc::channel::<()>();
        let hog = tokio::task::spawn_blocking(move || wait.recv());
        let ran = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ran);
        let tool = number("t")
            .handler_blocking(move |_: Value, _| {
                flag.store(true, Ordering::SeqCst);
                ""
            })
            .build()
            .unwrap();
        let watched = watch(DispatchContext::standalone());
        {
            let executor = tool.executor(&watched.ctx);
            let mut call = std::pin::pin!(executor.call("{}"));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(call.as_mut().poll(&mut context).is_pending());
        }
        release.send(()).unwrap();
        hog.await.unwrap().unwrap();
        // Whatever waits for the one thread has had its turn when this ran.
        tokio::task::spawn_blocking(|| ()).await.unwrap();
        assert!(!ran.load(Ordering::SeqCst));
        watched.assert_paired();
    });
}

#[tokio::test(start_paused = true)]
async fn a_stream_comes_within_the_time_of_its_call() {
    let tool = number("t")
        .timeout(Duration::from_secs(5))
        .handler(|_: Value, ctx: ToolContext| async move {
            let (sender, stream) = ByteStream::channel(1);
            tokio::spawn(async move {
                let _ = sender.send("some").await;
                ctx.cancellation().cancelled().await;
                std::future::pending::<()>().await;
                drop(sender);
            });
            stream
        })
        .build()
        .unwrap();
    let ctx = DispatchContext::standalone();
    let record = tool.executor(&ctx).settle("{}").await;
    assert!(record.is_error());
    assert!(record.text().await.unwrap().contains("ran out of time"));
}

#[tokio::test(start_paused = true)]
async fn what_is_foreign_may_panic_when_it_is_dropped() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("on purpose");
        }
    }
    let ctx = DispatchContext::standalone();
    let tool = number("t")
        .handler(|_: Value, _| async {
            let _bomb = Bomb;
            std::future::pending::<()>().await;
        })
        .build()
        .unwrap();
    assert_eq!(
        tool.executor(&ctx).call("{}").await.unwrap_err().code(),
        ErrorCode::ToolTimeout
    );
    let tool = number("t")
        .handler(|_: Value, _| async {
            if true {
                std::panic::panic_any(Bomb);
            }
        })
        .build()
        .unwrap();
    assert_eq!(
        tool.executor(&ctx).call("{}").await.unwrap_err().code(),
        ErrorCode::ToolDownstream
    );
}

#[tokio::test]
async fn what_a_type_says_of_its_arguments_is_for_operators() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[serde(try_from = "String")]
    #[allow(dead_code)]
    struct UserId(String);
    impl TryFrom<String> for UserId {
        type Error = String;
        fn try_from(id: String) -> Result<Self, String> {
            if id.contains("evil") {
                Err("the password is hunter2".to_owned())
            } else {
                Ok(UserId(id))
            }
        }
    }
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    #[allow(dead_code)]
    struct Args {
        #[schemars(with = "String")]
        id: UserId,
    }
    let tool = Tool::typed::<Args>("t")
        .description("…")
        .handler(|_: Args, _| async { "" })
        .build()
        .unwrap();
    let error = tool
        .executor(&DispatchContext::standalone())
        .call(r#"{"id": "evil"}"#)
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), &*error.faults()[0].rule),
        (ErrorCode::InvalidToolArgs, "deserialize")
    );
    assert!(error.to_string().contains("hunter2") && !error.model_text().contains("hunter2"));
}

#[tokio::test]
async fn a_blocking_handler_runs_off_the_async_threads_and_its_panic_is_caught() {
    let watched = watch(DispatchContext::standalone());
    let here = std::thread::current().id();
    let tool = number("t")
        .handler_blocking(move |args: Value, _| {
            assert_ne!(std::thread::current().id(), here);
            assert!(args["n"] != 5, "five");
            "done"
        })
        .build()
        .unwrap();
    assert_eq!(
        tool.executor(&watched.ctx)
            .call("{}")
            .await
            .unwrap()
            .as_text(),
        Some("done")
    );
    let error = tool
        .executor(&watched.ctx)
        .call(r#"{"n": 5}"#)
        .await
        .unwrap_err();
    assert!(error.to_string().contains("five"), "{error}");
    drop(tool);
    watched.assert_freed();
}

#[tokio::test]
async fn a_cancelled_call_ends_and_a_cancelled_dispatch_runs_nothing() {
    let before = alive_tasks();
    let watched = watch(DispatchContext::standalone());
    let tool = number("t")
        .no_timeout()
        .handler(|_: Value, _| async { std::future::pending::<()>().await })
        .build()
        .unwrap();
    let executor = tool.executor(&watched.ctx);
    let call = tokio::spawn(async move { executor.call("{}").await });
    while watched.names().is_empty() {
        tokio::task::yield_now().await;
    }
    watched.ctx.cancellation().cancel();
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(
        (error.code(), error.kind()),
        (ErrorCode::ToolCancelled, ErrorKind::Cancelled)
    );
    assert!(
        error.model_text().contains("may have taken effect or not"),
        "{}",
        error.model_text()
    );
    watched.assert_paired();

    let error = tool.executor(&watched.ctx).call("{}").await.unwrap_err();
    assert_eq!(
        error.model_text(),
        "The call was cancelled. Nothing was run."
    );
    watched.assert_paired();
    watched.assert_freed();
    assert_eq!(alive_tasks(), before);
}

#[tokio::test]
async fn a_call_whose_future_is_dropped_half_way_still_tells_its_end() {
    let watched = watch(DispatchContext::standalone());
    let tool = number("t")
        .handler(|_: Value, _| async { std::future::pending::<()>().await })
        .build()
        .unwrap();
    {
        let executor = tool.executor(&watched.ctx);
        let mut call = std::pin::pin!(executor.call("{}"));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(call.as_mut().poll(&mut context).is_pending());
    }
    watched.assert_paired();
    assert_eq!(watched.events.lock()[1]["code"], "E_TOOL_CANCELLED");
    drop(tool);
    watched.assert_freed();
}

#[tokio::test]
async fn a_handler_may_drop_its_context_at_once() {
    let watched = watch(DispatchContext::standalone());
    let tool = number("t")
        .handler(|_: Value, ctx: ToolContext| {
            drop(ctx);
            async {
                tokio::task::yield_now().await;
                "done"
            }
        })
        .build()
        .unwrap();
    assert_eq!(
        tool.executor(&watched.ctx)
            .call("{}")
            .await
            .unwrap()
            .as_text(),
        Some("done")
    );
    watched.assert_paired();
    watched.assert_freed();
}

#[test]
fn without_a_runtime_a_timeout_is_an_error_and_not_a_panic() {
    let tool = number("t")
        .handler(|_: Value, _| async { std::future::pending::<()>().await })
        .build()
        .unwrap();
    let ctx = DispatchContext::standalone();
    let mut call = Box::pin(async { tool.executor(&ctx).call("{}").await });
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let std::task::Poll::Ready(result) = call.as_mut().poll(&mut context) else {
        panic!("still waiting")
    };
    assert!(
        result
            .unwrap_err()
            .to_string()
            .contains("needs a tokio runtime")
    );
    let blocking = number("t")
        .handler_blocking(|_: Value, _| "")
        .build()
        .unwrap();
    let mut call = Box::pin(async { blocking.executor(&ctx).call("{}").await });
    let std::task::Poll::Ready(result) = call.as_mut().poll(&mut context) else {
        panic!("still waiting")
    };
    assert!(
        result
            .unwrap_err()
            .to_string()
            .contains("needs a tokio runtime")
    );
}

#[tokio::test(start_paused = true)]
async fn an_external_check_that_never_answers_is_cut_like_a_handler() {
    let tool = number("t")
        .timeout(Duration::from_secs(9))
        .external("slow", |_| std::future::pending())
        .handler(|_: Value, _| async { "" })
        .build()
        .unwrap();
    let error = tool
        .executor(&DispatchContext::standalone())
        .call("{}")
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::ToolTimeout);
    assert!(
        error.model_text().contains("nothing was run"),
        "{}",
        error.model_text()
    );
}

#[tokio::test]
async fn every_output_comes_back_as_it_is_and_is_kept_when_settled() {
    let ctx = DispatchContext::standalone();
    let bytes = number("t")
        .handler(|_: Value, _| async { vec![0_u8, 255] })
        .build()
        .unwrap();
    assert!(matches!(
        bytes.executor(&ctx).call("{}").await.unwrap().body,
        Body::Bytes(_)
    ));
    let record = bytes.executor(&ctx).settle("{}").await;
    let ToolResults::Spooled(result) = record.results() else {
        panic!()
    };
    assert_eq!(
        result.reader().read(1..9).await.unwrap().as_ref(),
        [255],
        "ranges are clamped"
    );
    assert_eq!(record.text().await, None, "no UTF-8");

    let stream = number("t")
        .trusted(true)
        .artifact_kind(ArtifactKind::MARKDOWN)
        .handler(|args: Value, _| async move {
            let (sender, stream) = ByteStream::channel(1);
            tokio::spawn(async move {
                for piece in ["# a", "\n", "b"] {
                    sender.send(piece).await.unwrap();
                }
                if args["n"] == 2 {
                    sender.fail(std::io::Error::other("torn")).await.unwrap();
                }
            });
            stream
        })
        .build()
        .unwrap();
    let record = stream.executor(&ctx).settle("{}").await;
    assert_eq!(record.text().await.as_deref(), Some("# a\nb"));
    let ToolResults::Spooled(result) = record.results() else {
        panic!()
    };
    assert_eq!(
        (result.kind(), result.is_trusted()),
        (&ArtifactKind::MARKDOWN, true)
    );
    let torn = stream.executor(&ctx).settle(r#"{"n": 2}"#).await;
    assert!(torn.is_error(), "half a stream is no result");
    assert_eq!(
        torn.text().await.as_deref(),
        Some("The tool ran, but its result could not be kept.")
    );

    let lowered = number("t")
        .trusted(true)
        .handler(|_: Value, _| async { ToolOutput::text("x").untrusted() })
        .build()
        .unwrap();
    let record = lowered.executor(&ctx).settle("{}").await;
    let ToolResults::Spooled(result) = record.results() else {
        panic!()
    };
    assert!(!result.is_trusted(), "an output may lower its own trust");
}

#[tokio::test]
async fn equal_calls_have_equal_checksums_and_ids_of_their_own() {
    let ctx = DispatchContext::standalone();
    let tool = number("t")
        .handler(|_: Value, _| async { "" })
        .build()
        .unwrap();
    let (a, b) = (
        tool.executor(&ctx).settle(r#"{"n":1}"#).await,
        tool.executor(&ctx).settle(r#"{ "n" : 1 }"#).await,
    );
    assert_eq!(a.checksum(), b.checksum());
    assert_ne!(a.id(), b.id());
    assert_eq!(ctx.tool_call(b.id()).unwrap().id(), b.id());
}

/// Answers from a list, and keeps what it was asked.
#[derive(Default)]
struct Clerk {
    answers: Mutex<Vec<Approval>>,
    asked: Mutex<Vec<ApprovalRequest>>,
}

#[async_trait]
impl Approver for Arc<Clerk> {
    async fn ask(&self, request: ApprovalRequest) -> Approval {
        self.asked.lock().push(request);
        self.answers.lock().pop().unwrap_or(Approval::Refused {
            reason: "no answer left".to_owned(),
        })
    }
}

fn guarded() -> Tool {
    number("t")
        .approval(always_ask("it costs money"))
        .handler(|args: Value, _| async move { args["n"].to_string() })
        .build()
        .unwrap()
}

fn with_clerk(answers: Vec<Approval>) -> (Arc<Clerk>, DispatchContext) {
    let clerk = Arc::new(Clerk {
        answers: Mutex::new(answers),
        ..Clerk::default()
    });
    let ctx = DispatchContext::builder()
        .approver(Arc::clone(&clerk))
        .build();
    (clerk, ctx)
}

#[tokio::test]
async fn nobody_s_answer_is_no() {
    let watched = watch(DispatchContext::standalone());
    let error = guarded()
        .executor(&watched.ctx)
        .call("{}")
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), error.kind()),
        (ErrorCode::ToolDenied, ErrorKind::Denied)
    );
    assert_eq!(watched.names(), ["toolCallRefused"]);
    assert_eq!(watched.events.lock()[0]["code"], "E_TOOL_DENIED");
}

#[tokio::test]
async fn a_call_that_is_cancelled_while_somebody_is_asked_was_not_denied() {
    let ctx = DispatchContext::builder()
        .approver(|_: ApprovalRequest| std::future::pending())
        .build();
    let executor = guarded().executor(&ctx);
    let call = tokio::spawn(async move { executor.call("{}").await });
    tokio::task::yield_now().await;
    ctx.cancellation().cancel();
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.code(), ErrorCode::ToolCancelled);
    assert_eq!(
        error.model_text(),
        "The call was cancelled. Nothing was run."
    );
}

#[tokio::test]
async fn an_answer_is_bound_to_what_was_asked_and_counts_once() {
    let (clerk, ctx) = with_clerk(vec![Approval::Granted]);
    let tool = guarded();
    assert_eq!(
        tool.executor(&ctx)
            .call(r#"{"n": "4"}"#)
            .await
            .unwrap()
            .as_text(),
        Some("4")
    );
    let request = clerk.asked.lock()[0].clone();
    assert_eq!(
        (request.tool.as_str(), request.reason.as_str()),
        ("t", "it costs money")
    );
    assert_eq!(request.args, json!({ "n": 4 }), "the checked arguments");
    assert_eq!(request.fingerprint, tool.fingerprint());
    assert!(
        tool.executor(&ctx).call(r#"{"n": "4"}"#).await.is_err(),
        "the same call must be asked for again"
    );
    assert_eq!(clerk.asked.lock().len(), 2);
}

#[tokio::test]
async fn edited_arguments_are_checked_in_full_and_recorded() {
    let (clerk, ctx) = with_clerk(vec![Approval::Edited(json!({ "n": "7" }))]);
    let record = guarded().executor(&ctx).settle(r#"{"n": 4}"#).await;
    assert_eq!(record.text().await.as_deref(), Some("7"));
    assert_eq!(record.edited_args(), Some(&json!({ "n": 7 })));
    assert_eq!(
        record.checksum(),
        call_id("t", r#"{"n": 4}"#),
        "what was asked for stays"
    );
    assert_eq!(
        clerk.asked.lock().len(),
        1,
        "who wrote them is not asked again"
    );

    let (_, ctx) = with_clerk(vec![Approval::Edited(json!({ "n": -7 }))]);
    let error = guarded()
        .executor(&ctx)
        .call(r#"{"n": 4}"#)
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), &*error.faults()[0].pointer),
        (ErrorCode::InvalidToolArgs, "/n")
    );

    let (_, ctx) = with_clerk(vec![Approval::Refused {
        reason: "too dear".to_owned(),
    }]);
    let error = guarded().executor(&ctx).call("{}").await.unwrap_err();
    assert!(
        error.model_text().contains("too dear"),
        "{}",
        error.model_text()
    );
}

#[tokio::test]
async fn rewritten_arguments_go_back_to_check_three_times_at_most() {
    let rewrite = |limit: i64| {
        move |call: &PendingCall<'_>| {
            let n = call.args()["n"].as_i64().unwrap_or(0);
            if n < limit {
                Review::Rewrite(json!({ "n": n + 1 }))
            } else {
                Review::Allow
            }
        }
    };
    let echo = |policy| {
        number("t")
            .approval(policy)
            .handler(|args: Value, _| async move { args["n"].to_string() })
            .build()
            .unwrap()
    };
    let ctx = DispatchContext::standalone();
    assert_eq!(
        echo(rewrite(3))
            .executor(&ctx)
            .call(r#"{"n": 0}"#)
            .await
            .unwrap()
            .as_text(),
        Some("3")
    );
    let error = echo(rewrite(4))
        .executor(&ctx)
        .call(r#"{"n": 0}"#)
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::ToolDenied);
    let bad = |_: &PendingCall<'_>| Review::Rewrite(json!({ "n": "minus one" }));
    let tool = number("t")
        .approval(bad)
        .handler(|_: Value, _| async { "" })
        .build()
        .unwrap();
    assert_eq!(
        tool.executor(&ctx).call("{}").await.unwrap_err().code(),
        ErrorCode::InvalidToolArgs
    );
}

#[tokio::test]
async fn a_policy_of_the_dispatch_stands_before_that_of_the_tool_and_a_panic_denies() {
    let ctx = DispatchContext::builder()
        .policy(|_: &PendingCall<'_>| Review::deny("closed today"))
        .build();
    let tool = number("t")
        .handler(|_: Value, _| async { "" })
        .build()
        .unwrap();
    let error = tool.executor(&ctx).call("{}").await.unwrap_err();
    assert!(
        error.to_string().contains("closed today") && !error.model_text().contains("closed today")
    );
    let panics = |_: &PendingCall<'_>| -> Review { panic!("on purpose") };
    let tool = number("t")
        .approval(panics)
        .handler(|_: Value, _| async { "" })
        .build()
        .unwrap();
    let error = tool
        .executor(&DispatchContext::standalone())
        .call("{}")
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::ToolDenied);
}

/// Keeps what it is told; fails when it is told to.
#[derive(Default)]
struct Book {
    lines: Mutex<Vec<String>>,
    fail_begun: AtomicBool,
    fail_ended: AtomicBool,
}

#[async_trait]
impl Ledger for Arc<Book> {
    async fn begun(&self, calls: &[BegunCall]) -> Result<(), LedgerError> {
        if self.fail_begun.load(Ordering::Relaxed) {
            return Err("disk full".into());
        }
        let keys: Vec<&str> = calls.iter().map(|call| call.effect_key.as_str()).collect();
        self.lines.lock().push(format!("begun {}", keys.len()));
        Ok(())
    }

    async fn ended(&self, _: &str, state: EndState) -> Result<(), LedgerError> {
        if self.fail_ended.load(Ordering::Relaxed) {
            return Err("disk full".into());
        }
        self.lines.lock().push(format!("{state:?}"));
        Ok(())
    }
}

#[tokio::test]
async fn what_may_write_stands_in_the_ledger_before_it_runs() {
    let book = Arc::new(Book::default());
    let ctx = DispatchContext::builder().ledger(Arc::clone(&book)).build();
    let ran = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ran);
    let writer = number("w")
        .timeout(Duration::from_millis(20))
        .handler(move |args: Value, _| {
            count.fetch_add(1, Ordering::Relaxed);
            async move {
                match args["n"].as_i64() {
                    Some(2) => Err(ToolError::internal("no")),
                    Some(3) => std::future::pending().await,
                    _ => Ok("done"),
                }
            }
        })
        .build()
        .unwrap();
    for args in [r#"{"n": 1}"#, r#"{"n": 2}"#, r#"{"n": 3}"#] {
        let _ = writer.executor(&ctx).call(args).await;
    }
    assert_eq!(
        *book.lines.lock(),
        ["begun 1", "Done", "begun 1", "Failed", "begun 1", "Unknown"]
    );

    let reader = number("r")
        .effects(Effects::ReadOnly)
        .handler(|_: Value, _| async { "" })
        .build()
        .unwrap();
    reader.executor(&ctx).call("{}").await.unwrap();
    assert_eq!(book.lines.lock().len(), 6, "what only reads is not noted");

    book.fail_begun.store(true, Ordering::Relaxed);
    let error = writer.executor(&ctx).call("{}").await.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Ledger);
    assert_eq!(
        ran.load(Ordering::Relaxed),
        3,
        "what could not be noted does not run"
    );

    book.fail_begun.store(false, Ordering::Relaxed);
    book.fail_ended.store(true, Ordering::Relaxed);
    let watched = watch(ctx);
    assert_eq!(
        writer
            .executor(&watched.ctx)
            .call("{}")
            .await
            .unwrap()
            .as_text(),
        Some("done"),
        "what ran, ran"
    );
    assert_eq!(
        watched.names(),
        ["toolExecutionStart", "toolExecutionEnd", "warning"]
    );
}

#[tokio::test]
async fn calls_that_start_together_are_noted_in_one_batch() {
    let book = Arc::new(Book::default());
    let tools = [
        number("w")
            .handler(|_: Value, _| async { "" })
            .build()
            .unwrap(),
        number("r")
            .effects(Effects::ReadOnly)
            .handler(|_: Value, _| async { "" })
            .build()
            .unwrap(),
    ];
    let ctx = DispatchContext::builder()
        .ledger(Arc::clone(&book))
        .tools(ToolRegistry::new(tools).unwrap())
        .build();
    let mut admitted = Vec::new();
    for name in ["w", "r", "w"] {
        admitted.push(
            ctx.propose(name, "{}")
                .check()
                .await
                .unwrap()
                .admit()
                .await
                .unwrap(),
        );
    }
    AdmittedCall::begin_together(&mut admitted).await.unwrap();
    for call in admitted {
        call.run().await.settle().await;
    }
    assert_eq!(*book.lines.lock(), ["begun 2", "Done", "Done"]);
    assert_eq!(ctx.tool_calls().len(), 3);
}

#[tokio::test]
async fn calls_run_side_by_side_without_disturbing_one_another() {
    let tool = number("t")
        .handler(|args: Value, ctx: ToolContext| async move {
            tokio::task::yield_now().await;
            format!("{} {}", args["n"], ctx.args()["n"])
        })
        .build()
        .unwrap();
    let ctx = DispatchContext::builder()
        .tools(ToolRegistry::new([tool]).unwrap())
        .build();
    let calls: Vec<_> = (0..64)
        .map(|n| {
            let ctx = ctx.clone();
            tokio::spawn(async move { ctx.call("t", json!({ "n": n })).await })
        })
        .collect();
    let mut ids = std::collections::HashSet::new();
    for (n, call) in calls.into_iter().enumerate() {
        let record = call.await.unwrap();
        assert_eq!(record.text().await.unwrap(), format!("{n} {n}"));
        ids.insert(record.id().to_owned());
    }
    assert_eq!(ids.len(), 64);
    let weak = ctx.downgrade();
    drop(ctx);
    assert!(weak.upgrade().is_none());
}
