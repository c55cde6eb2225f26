//! What stands in the ledger.

use super::*;

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
async fn a_call_that_was_begun_and_then_not_run_had_no_effect() {
    let book = Arc::new(Book::default());
    let tool = number("w")
        .handler(|_: Value, _| async { "" })
        .build()
        .unwrap();
    let ctx = DispatchContext::builder()
        .ledger(Arc::clone(&book))
        .tools(ToolRegistry::new([tool]).unwrap())
        .build();
    let mut admitted = vec![
        ctx.propose("w", "{}")
            .check()
            .await
            .unwrap()
            .admit()
            .await
            .unwrap(),
    ];
    AdmittedCall::begin_together(&mut admitted).await.unwrap();
    ctx.cancellation().cancel();
    for call in admitted {
        assert_eq!(
            call.run().await.error().unwrap().code(),
            ErrorCode::ToolCancelled
        );
    }
    assert_eq!(*book.lines.lock(), ["begun 1", "Failed"]);
}
