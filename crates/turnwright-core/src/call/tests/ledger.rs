//! What the store contains about a call before and after it runs.

use super::*;
use crate::record::ToolCall;
use crate::record::{CallState, Record};
use crate::spool::Spool;
use crate::store::{
    Batch, Change, ConversationId, MemoryStore, Query, Revision, Store, StoreError,
};
use crate::store::{Changes, ConversationFilter, FoundConversation, FoundTurn, Loaded, TurnFilter};

/// A store that logs the batches and fails on request.
#[derive(Default)]
struct Book {
    store: MemoryStore,
    batches: Mutex<Vec<String>>,
    fail: AtomicBool,
}

#[async_trait]
impl Store for Book {
    async fn apply(
        &self,
        conversation_id: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        if self.fail.load(Ordering::Relaxed) {
            return Err(StoreError::failed("disk full"));
        }
        let changes = batch.changes.iter().map(|change| match change {
            Change::Put(Record::Ledger(entry)) => entry.state.as_str().to_owned(),
            Change::Put(Record::ToolCall(call)) if call.is_complete() => "record".to_owned(),
            Change::Put(Record::ToolCall(_)) => "open".to_owned(),
            _ => "other".to_owned(),
        });
        self.batches
            .lock()
            .push(changes.collect::<Vec<_>>().join(" "));
        self.store.apply(conversation_id, batch).await
    }

    async fn load(
        &self,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        self.store.load(conversation, query).await
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.store.conversations(filter).await
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        self.store.find_turns(filter).await
    }

    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        self.store.changed(conversation, since).await
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        self.store.wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        self.store.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        self.store.spool()
    }
}

impl Book {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.batches.lock())
    }
}

fn kept_in(book: &Arc<Book>, tools: impl IntoIterator<Item = Tool>) -> DispatchContext {
    DispatchContext::builder()
        .storage(Storage::of(Arc::clone(book)))
        .conversation("c")
        .tools(ToolRegistry::new(tools).unwrap())
        .build()
}

fn writer() -> ToolBuilder<Value> {
    number("w").timeout(Duration::from_millis(20))
}

fn write(ran: &Arc<AtomicUsize>) -> Tool {
    let count = Arc::clone(ran);
    writer()
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
        .unwrap()
}

fn reader() -> Tool {
    number("r")
        .effects(Effects::ReadOnly)
        .handler(|_: Value, _| async { "" })
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_writing_call_is_in_the_ledger_before_it_runs_and_ends_with_its_record() {
    let (book, ran) = (Arc::new(Book::default()), Arc::new(AtomicUsize::new(0)));
    let ctx = kept_in(&book, [write(&ran), reader()]);
    for (args, end) in [("1", "done"), ("2", "failed"), ("3", "unknown")] {
        ctx.call("w", format!(r#"{{"n": {args}}}"#)).await;
        assert_eq!(
            book.take(),
            ["open started".to_owned(), format!("{end} record")]
        );
    }
    ctx.call("r", "{}").await;
    assert_eq!(
        book.take(),
        ["open", "record"],
        "read-only calls have no ledger entry"
    );
    ctx.call("w", r#"{"n": -1}"#).await;
    assert_eq!(book.take(), ["record"], "a refused call was never started");
}

#[tokio::test]
async fn an_unrecorded_call_still_has_a_ledger_entry() {
    let (book, ran) = (Arc::new(Book::default()), Arc::new(AtomicUsize::new(0)));
    let ctx = kept_in(&book, []);
    write(&ran).call(&ctx, "{}").await.unwrap();
    assert_eq!(book.take(), ["started", "done"]);
    reader().call(&ctx, "{}").await.unwrap();
    assert!(book.take().is_empty());
}

#[tokio::test]
async fn a_call_that_cannot_be_recorded_does_not_run_and_ends_the_turn() {
    let (book, ran) = (Arc::new(Book::default()), Arc::new(AtomicUsize::new(0)));
    let ctx = kept_in(&book, [write(&ran)]);
    book.fail.store(true, Ordering::Relaxed);
    let call = ctx.call("w", "{}").await;
    assert_eq!(ran.load(Ordering::Relaxed), 0);
    assert_eq!(
        call.text().await.unwrap(),
        "The call could not be recorded. The tool was not run."
    );
    assert!(ctx.cancellation().is_cancelled());
}

#[tokio::test]
async fn a_call_whose_end_cannot_be_recorded_stays_open_and_ends_the_turn() {
    let book = Arc::new(Book::default());
    let spoiler = Arc::clone(&book);
    let tool = writer()
        .handler(move |_: Value, _| {
            spoiler.fail.store(true, Ordering::Relaxed);
            async { "done" }
        })
        .build()
        .unwrap();
    let ctx = kept_in(&book, [tool]);
    let call = ctx.call("w", "{}").await;
    assert_eq!(
        call.text().await.as_deref(),
        Some("done"),
        "the call did run"
    );
    assert!(ctx.cancellation().is_cancelled());
    let held = book
        .load(ctx.conversation_id(), &Query::all())
        .await
        .unwrap();
    let held: Vec<&Record> = held.records.iter().map(|stored| &stored.record).collect();
    let [Record::ToolCall(call), Record::Ledger(entry)] = held[..] else {
        panic!("{held:?}");
    };
    assert!(!call.is_complete());
    assert_eq!(entry.state, CallState::Started);
    assert!(
        !ctx.records().all::<ToolCall>()[0].is_complete(),
        "the turn has what the store has"
    );
}

#[tokio::test]
async fn calls_that_start_together_are_recorded_in_one_batch_in_the_proposed_order() {
    let (book, ran) = (Arc::new(Book::default()), Arc::new(AtomicUsize::new(0)));
    let ctx = kept_in(&book, [write(&ran), reader()]);
    let calls = ctx
        .call_tools(["w", "r", "x", "w"].map(|name| ctx.propose(name, "{}")))
        .await;
    let names: Vec<&str> = calls.iter().map(|call| call.tool()).collect();
    assert_eq!(names, ["w", "r", "x", "w"]);
    let mut batches = book.take();
    assert_eq!(batches.remove(0), "open started open record open started");
    batches.sort();
    assert_eq!(batches, ["done record", "done record", "record"]);
    let held: Vec<String> = ctx
        .records()
        .all::<ToolCall>()
        .iter()
        .map(|call| call.tool().into())
        .collect();
    assert_eq!(held, names);
}

#[tokio::test]
async fn a_call_that_was_opened_but_did_not_run_had_no_effect() {
    let (book, ran) = (Arc::new(Book::default()), Arc::new(AtomicUsize::new(0)));
    let ctx = kept_in(&book, [write(&ran)]);
    let checked = ctx.propose("w", "{}").check().await.unwrap();
    let mut admitted = checked.admit().await.unwrap();
    admitted.begin(None).await.unwrap();
    ctx.cancellation().cancel();
    let call = admitted.run().await.settle().await;
    assert_eq!(
        call.text().await.unwrap(),
        "The call was cancelled. The tool was not run."
    );
    assert_eq!(book.take(), ["open started", "failed record"]);
    assert_eq!(ran.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_dropped_call_is_closed_as_interrupted() {
    let book = Arc::new(Book::default());
    let tool = number("w")
        .handler(|_: Value, _| std::future::pending::<&str>())
        .build()
        .unwrap();
    let ctx = kept_in(&book, [tool]);
    let mut call = Box::pin(ctx.call("w", "{}"));
    assert!(futures_util::FutureExt::now_or_never(call.as_mut()).is_none());
    drop(call);
    ctx.turn().journal().tasks().wait().await;
    assert_eq!(book.take(), ["open started", "unknown record"]);
    let calls = ctx.records().all::<ToolCall>();
    let [call] = &calls[..] else { panic!() };
    assert!(matches!(call.results(), ToolResults::Failure(_)));
    let shown_text = call.text().await.unwrap();
    assert!(
        shown_text.contains("may not have taken effect"),
        "{shown_text}"
    );
}
