//! Calls that end before their handler does.

use super::*;
use crate::spool::ByteStream;

#[tokio::test(start_paused = true)]
async fn a_handler_that_waits_forever_is_interrupted_at_its_timeout() {
    let before = alive_tasks();
    for (effects, words) in [
        (
            Effects::ReadOnly,
            "It is read-only, so nothing was changed.",
        ),
        (
            Effects::Writes,
            "It may or may not have taken effect. Check before you repeat it.",
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
        let error = tool.call(&watched.ctx, "{}").await.unwrap_err();
        assert_eq!(
            start.elapsed(),
            Duration::from_secs(30),
            "on the clock that the runtime has"
        );
        assert_eq!(
            (error.code(), error.kind()),
            (ErrorCode::TOOL_TIMEOUT, ErrorKind::Timeout)
        );
        assert!(error.model_text().contains(words), "{}", error.model_text());
        assert!(
            seen.lock().take().unwrap().is_cancelled(),
            "tasks it started see the cancellation"
        );
        watched.assert_paired();
        watched.assert_freed();
    }
    assert_eq!(alive_tasks(), before);
}

#[tokio::test(start_paused = true)]
async fn a_blocking_handler_is_detached_and_reported_at_its_timeout() {
    const TIMEOUT: Duration = Duration::from_secs(60);
    let before = alive_tasks();
    let watched = watch(DispatchContext::standalone());
    let (release, wait) = std::sync::mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    let (begin, begun) = tokio::sync::oneshot::channel();
    let begin = Mutex::new(Some(begin));
    let saw_cancel = Arc::new(AtomicBool::new(false));
    let saw = Arc::clone(&saw_cancel);
    let tool = number("t")
        .timeout(TIMEOUT)
        .handler_blocking(move |_: Value, ctx: ToolContext| {
            begin.lock().take().unwrap().send(()).unwrap();
            // Blocks until the test continues. If the thread were joined, the test would hang.
            let _ = wait.lock().recv();
            // Checks the token for the first time after the timeout.
            saw.store(ctx.cancellation().is_cancelled(), Ordering::SeqCst);
            "late"
        })
        .build()
        .unwrap();
    // Advance the clock once the thread runs, however long it takes to start.
    let pass = async {
        begun.await.unwrap();
        tokio::time::advance(TIMEOUT).await;
    };
    let (called, ()) = tokio::join!(tool.call(&watched.ctx, "{}"), pass);
    let error = called.unwrap_err();
    assert_eq!(error.code(), ErrorCode::TOOL_TIMEOUT);
    watched.assert_paired();
    assert_eq!(watched.events.lock()[1]["abandoned"], true);
    release.send(()).unwrap();
    let weak = watched.ctx.turn().downgrade();
    drop(watched);
    drop(tool);
    // The thread ends by itself and releases the last reference to the context.
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
fn a_blocking_handler_without_a_thread_never_runs_after_its_call_was_dropped() {
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
            let mut call = std::pin::pin!(tool.call(&watched.ctx, "{}"));
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            assert!(call.as_mut().poll(&mut context).is_pending());
        }
        release.send(()).unwrap();
        hog.await.unwrap().unwrap();
        // When this has run, everything that was queued for the single thread has run too.
        tokio::task::spawn_blocking(|| ()).await.unwrap();
        assert!(!ran.load(Ordering::SeqCst));
        watched.assert_paired();
    });
}

#[tokio::test(start_paused = true)]
async fn a_stream_must_end_within_the_timeout_of_its_call() {
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
    let record = tool.call_and_record(&ctx, "{}").await;
    assert!(record.is_error());
    assert!(record.text().await.unwrap().contains("timed out"));
}

#[tokio::test]
async fn a_blocking_handler_runs_on_its_own_thread_and_its_panic_is_caught() {
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
        tool.call(&watched.ctx, "{}").await.unwrap().as_text(),
        Some("done")
    );
    let error = tool.call(&watched.ctx, r#"{"n": 5}"#).await.unwrap_err();
    assert!(error.to_string().contains("five"), "{error}");
    drop(tool);
    watched.assert_freed();
}

#[tokio::test]
async fn a_cancelled_call_ends_and_a_cancelled_dispatch_runs_nothing() {
    let before = alive_tasks();
    let watched = watch(DispatchContext::standalone());
    let tool = number("t")
        .timeout(None)
        .handler(|_: Value, _| async { std::future::pending::<()>().await })
        .build()
        .unwrap();
    let (called, ctx) = (tool.clone(), watched.ctx.clone());
    let call = tokio::spawn(async move { called.call(&ctx, "{}").await });
    while watched.names().is_empty() {
        tokio::task::yield_now().await;
    }
    watched.ctx.cancellation().cancel();
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(
        (error.code(), error.kind()),
        (ErrorCode::TOOL_CANCELLED, ErrorKind::Cancelled)
    );
    assert!(
        error
            .model_text()
            .contains("may or may not have taken effect"),
        "{}",
        error.model_text()
    );
    watched.assert_paired();

    let error = tool.call(&watched.ctx, "{}").await.unwrap_err();
    assert_eq!(
        error.model_text(),
        "The call was cancelled. The tool was not run."
    );
    assert_eq!(
        watched.names()[2..],
        ["toolCallRefused"],
        "neither start nor end of what did not run"
    );
    watched.assert_freed();
    assert_eq!(alive_tasks(), before);
}

#[tokio::test]
async fn a_call_dropped_midway_still_reports_its_end() {
    let watched = watch(DispatchContext::standalone());
    let tool = number("t")
        .handler(|_: Value, _| async { std::future::pending::<()>().await })
        .build()
        .unwrap();
    {
        let mut call = std::pin::pin!(tool.call(&watched.ctx, "{}"));
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
        tool.call(&watched.ctx, "{}").await.unwrap().as_text(),
        Some("done")
    );
    watched.assert_paired();
    watched.assert_freed();
}

#[tokio::test(start_paused = true)]
async fn an_external_check_that_never_answers_times_out_like_a_handler() {
    let tool = number("t")
        .timeout(Duration::from_secs(9))
        .check("slow", |_| std::future::pending())
        .handler(|_: Value, _| async { "" })
        .build()
        .unwrap();
    let error = tool
        .call(&DispatchContext::standalone(), "{}")
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::TOOL_TIMEOUT);
    assert!(
        error.model_text().contains("The tool was not run"),
        "{}",
        error.model_text()
    );
}
