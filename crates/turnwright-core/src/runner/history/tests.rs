mod summaries;

use crate::record::Message;
use crate::record::Record;
use crate::record::RecordKind;
use crate::spool::Spool;
use crate::store::MemoryStore;
use crate::store::Store;
use crate::store::StoreExt as _;
use crate::store::{
    Batch, Changes, ConversationFilter, FoundConversation, FoundTurn, Revision, TurnFilter,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use parking_lot::Mutex;
use proptest::prelude::*;

use super::History;
use super::load::opens;
use crate::record::{Author, Memory, StandingInstruction, Thought};
use crate::store::{ConversationId, Loaded, Position, Query, StoreError};
use crate::*;

/// A store that logs the queries and fails on request.
#[derive(Clone, Default)]
struct Asked {
    store: MemoryStore,
    queries: Arc<Mutex<Vec<Query>>>,
    /// The load that fails, starting at 1.
    fails_at: Arc<AtomicUsize>,
    /// Whether it ignores the positions of a query.
    sloppy: bool,
}

#[async_trait]
impl Store for Asked {
    async fn load(
        &self,
        conversation_id: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        let asked = {
            let mut queries = self.queries.lock();
            queries.push(query.clone());
            queries.len()
        };
        if asked == self.fails_at.load(Ordering::Relaxed) {
            return Err(StoreError::failed("out of order"));
        }
        let mut query = query.clone();
        if self.sloppy {
            (query.after, query.before) = (None, None);
        }
        self.store.load(conversation_id, &query).await
    }

    async fn apply(
        &self,
        conversation: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        self.store.apply(conversation, batch).await
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

fn user(text: &str) -> Record {
    Message::user(text).id(text).build().unwrap().into()
}

fn model(text: &str) -> Record {
    Message::assistant(text).id(text).build().unwrap().into()
}

fn thought(text: &str) -> Record {
    Thought::new(text).id(text).build().unwrap().into()
}

fn call(id: &str) -> Record {
    ToolCall::builder("look", "{}")
        .id(id)
        .build()
        .unwrap()
        .into()
}

fn memory(id: &str, text: &str) -> Record {
    Memory::new(text).id(id).build().unwrap().into()
}

async fn holding(conversation_id: &str, records: impl IntoIterator<Item = Record>) -> Asked {
    let asked = Asked::default();
    for record in records {
        asked
            .put(&ConversationId::new(conversation_id), record)
            .await
            .unwrap();
    }
    asked
}

/// The ids that a turn of `chat` sees with this middleware, and its outcome.
async fn seen(store: &Asked, history: History) -> (Vec<String>, TurnOutcome) {
    let ids: Arc<Mutex<Vec<String>>> = Arc::default();
    let into = Arc::clone(&ids);
    let runner = runner(move |ctx: DispatchContext| {
        let timeline = ctx.records().timeline();
        *into.lock() = timeline
            .iter()
            .map(|record| record.id().to_owned())
            .collect();
        async move {
            ctx.ack()?;
            Ok(())
        }
    })
    .storage(Storage::of(store.clone()))
    .history(history)
    .build()
    .unwrap();
    let now = Message::user("now").id("now").build().unwrap();
    let outcome = runner.run(TurnInput::from(now).conversation("chat")).await;
    let seen = std::mem::take(&mut *ids.lock());
    (seen, outcome)
}

fn three_exchanges() -> Vec<Record> {
    let rule = StandingInstruction::new("Be brief.").id("rule");
    vec![
        rule.build().unwrap().into(),
        user("u1"),
        thought("t1"),
        call("c1"),
        memory("m1", "They like tea."),
        model("a1"),
        user("u2"),
        call("c2"),
        call("c3"),
        model("a2"),
        user("u3"),
        model("a3"),
    ]
}

#[tokio::test]
async fn everything_is_loaded_in_order_and_in_pages() {
    let store = holding("chat", three_exchanges()).await;
    let (ids, outcome) = seen(&store, History::all().page_size(3)).await;
    let all = [
        "rule", "u1", "t1", "c1", "m1", "a1", "u2", "c2", "c3", "a2", "u3", "a3", "now",
    ];
    assert_eq!(ids, all);
    assert_eq!(
        outcome.records.len(),
        1,
        "only what this turn said is stored by it"
    );
    let mut queries = store.queries.lock();
    queries.retain(|query| !query.kinds.contains(&RecordKind::Lease));
    assert!(queries.len() >= 4);
    assert!(queries.iter().all(|query| query.limit == Some(3)));
    let of_ledger = queries
        .iter()
        .filter(|query| query.kinds.contains(&RecordKind::Ledger));
    assert_eq!(
        of_ledger.count(),
        1,
        "for the calls that are open, and once"
    );
}

#[tokio::test]
async fn the_last_exchanges_start_with_a_message_and_memories_stay() {
    let store = holding("chat", three_exchanges()).await;
    for (last, wanted) in [
        (1, vec!["rule", "m1", "u3", "a3", "now"]),
        (
            2,
            vec!["rule", "m1", "u2", "c2", "c3", "a2", "u3", "a3", "now"],
        ),
        (0, vec!["rule", "m1", "now"]),
    ] {
        let (ids, _) = seen(&store, History::last(last).page_size(2)).await;
        assert_eq!(ids, wanted, "{last}");
    }
}

#[tokio::test]
async fn a_limit_on_records_never_separates_a_call_from_its_message() {
    let store = holding("chat", three_exchanges()).await;
    // Four back from the end is `c3`: its exchange is omitted completely.
    let (ids, _) = seen(&store, History::all().max_records(4)).await;
    assert_eq!(ids, ["rule", "m1", "u3", "a3", "now"]);

    // One exchange longer than the limit: its first message is loaded anyway.
    let calls = (0..50).map(|n| call(&format!("c{n}")));
    let long = [user("u0"), model("a0"), user("u1")]
        .into_iter()
        .chain(calls);
    let store = holding("chat", long).await;
    let (ids, _) = seen(&store, History::all().max_records(3).page_size(2)).await;
    assert_eq!(ids, ["u1", "c47", "c48", "c49", "now"]);
}

#[tokio::test]
async fn omitted_records_are_not_read() {
    let talk = (0..500).flat_map(|n| [user(&format!("u{n}")), model(&format!("a{n}"))]);
    let store = holding("chat", talk).await;
    let (ids, _) = seen(&store, History::last(5).page_size(10)).await;
    assert_eq!(ids.len(), 11);
    // One query for the lease, one for standing records, two for eleven records: the message of this turn is the newest.
    assert_eq!(store.queries.lock().len(), 4);
    store.queries.lock().clear();
    let (ids, _) = seen(&store, History::all()).await;
    assert_eq!(ids.len(), 1_001);
}

#[tokio::test]
async fn kinds_are_selected_and_limits_work_without_messages() {
    let store = holding("chat", three_exchanges()).await;
    let calls = History::last(2).kinds([RecordKind::ToolCall]);
    let (ids, _) = seen(&store, calls).await;
    assert_eq!(ids, ["c2", "c3", "now"]);
    let (ids, _) = seen(
        &store,
        History::all().kinds([RecordKind::Memory, RecordKind::Ledger]),
    )
    .await;
    assert_eq!(ids, ["m1", "now"]);
}

#[tokio::test]
async fn memories_from_another_conversation_yield_to_the_own_ones() {
    let store = holding("chat", [memory("m1", "own")]).await;
    let user_conversation = ConversationId::new("user-7");
    for (id, text) in [("m1", "theirs"), ("m2", "tea"), ("m3", "late")] {
        store
            .put(&user_conversation, memory(id, text))
            .await
            .unwrap();
    }
    store
        .put(&user_conversation, user("private"))
        .await
        .unwrap();
    let from = |ctx: &TurnContext| Some(ConversationId::new(ctx.stash().get_as::<String>("user")?));
    let runner = runner(|ctx: DispatchContext| async move {
        let texts: Vec<String> = ctx
            .records()
            .all::<Memory>()
            .iter()
            .map(|message| message.text().to_owned())
            .collect();
        let count = ctx.records().all::<Message>().len();
        ctx.answer(format!("{} ({count})", texts.join(", ")))
            .await?;
        Ok(())
    })
    .storage(Storage::of(store))
    .history(History::all().memories_from(from).page_size(1))
    .build()
    .unwrap();
    let say = || TurnInput::new("hi").conversation("chat");
    let known = runner.run(say().stash("user", "user-7")).await;
    assert_eq!(known.text, "own, tea, late (1)");
    assert_eq!(
        runner.run(say()).await.text,
        "own (3)",
        "no user is known, so nothing is loaded"
    );
}

#[tokio::test]
async fn an_unreadable_store_fails_the_turn_before_its_middleware_runs() {
    // The first query checks whether another turn is running.
    for at in 2..=5 {
        let store = holding("chat", three_exchanges()).await;
        store.fails_at.store(at, Ordering::Relaxed);
        let ran: Arc<Mutex<bool>> = Arc::default();
        let into = Arc::clone(&ran);
        let runner = runner(|_: DispatchContext| async { Ok(()) })
            .storage(Storage::of(store))
            .turn_input(move |_: TurnContext, next: Next<TurnContext>| {
                *into.lock() = true;
                next.run()
            })
            .history(History::all().page_size(3))
            .build()
            .unwrap();
        let outcome = runner.run(TurnInput::new("now").conversation("chat")).await;
        let error = outcome.error().unwrap();
        assert_eq!(error.code(), ErrorCode::STORE_ERROR, "{at}");
        assert!(error.message().contains("out of order"), "{error}");
        assert!(!*ran.lock(), "{at}");
    }
}

#[tokio::test]
async fn middleware_of_the_turn_input_sees_the_history() {
    let store = holding("chat", three_exchanges()).await;
    let seen: Arc<Mutex<usize>> = Arc::default();
    let into = Arc::clone(&seen);
    let runner = runner(|ctx: DispatchContext| async move {
        ctx.ack()?;
        Ok(())
    })
    .storage(Storage::of(store))
    .turn_input(move |ctx: TurnContext, next: Next<TurnContext>| {
        *into.lock() = ctx.records().all::<Message>().len();
        next.run()
    })
    .build()
    .unwrap();
    runner.run(TurnInput::new("now").conversation("chat")).await;
    assert_eq!(*seen.lock(), 7);
}

#[tokio::test]
async fn no_history_reads_nothing_of_the_conversation() {
    let store = holding("chat", three_exchanges()).await;
    let (ids, outcome) = seen(&store, History::none()).await;
    assert_eq!(ids, ["now"]);
    assert!(outcome.is_answered());
    // The only query checks whether another turn is running.
    assert_eq!(store.queries.lock().len(), 1);
}

#[tokio::test]
async fn a_turn_without_a_conversation_reads_nothing() {
    let store = Asked::default();
    let runner = runner(|ctx: DispatchContext| async move {
        ctx.ack()?;
        Ok(())
    })
    .storage(Storage::of(store.clone()))
    .build()
    .unwrap();
    assert!(runner.run("now").await.is_answered());
    assert!(store.queries.lock().is_empty());
}

#[tokio::test]
async fn a_store_that_ignores_the_query_is_reported_and_not_read_forever() {
    let mut store = holding("chat", three_exchanges()).await;
    store.sloppy = true;
    let (_, outcome) = seen(&store, History::all().page_size(2)).await;
    let error = outcome.error().unwrap();
    assert!(error.message().contains("`Query::"), "{error}");
}

#[tokio::test]
async fn a_new_conversation_has_no_history() {
    let (ids, outcome) = seen(&Asked::default(), History::all()).await;
    assert_eq!(ids, ["now"]);
    assert!(outcome.is_answered());
}

#[tokio::test]
async fn a_query_reads_the_newest_records_before_a_position_in_order() {
    let store = holding("chat", ["a", "b", "c", "d"].map(user)).await;
    let conversation_id = ConversationId::new("chat");
    let read = async |query: Query| {
        let loaded = store.load(&conversation_id, &query).await.unwrap();
        let ids = loaded
            .records
            .iter()
            .map(|stored| stored.record.id().to_owned());
        ids.collect::<String>()
    };
    assert_eq!(read(Query::all().newest(2)).await, "cd");
    assert_eq!(read(Query::all().newest(2).before(Position(4))).await, "bc");
    assert_eq!(read(Query::all().limit(2).before(Position(4))).await, "ab");
    let between = Query::all().after(Position(1)).before(Position(4));
    assert_eq!(read(between.newest(9)).await, "bc");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]
    #[test]
    fn the_loaded_part_is_the_end_of_the_timeline_and_starts_with_a_message(
        kinds in proptest::collection::vec(0..4_u8, 0..40),
        last in 1..6_usize,
        most in 1..40_usize,
        page in 1..9_usize,
    ) {
        let records: Vec<Record> = kinds.iter().enumerate().map(|(at, kind)| match kind {
            0 => user(&at.to_string()),
            1 => model(&at.to_string()),
            2 => thought(&at.to_string()),
            _ => call(&at.to_string()),
        }).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let ids = runtime.block_on(async {
            let store = holding("chat", records.clone()).await;
            seen(&store, History::last(last).max_records(most).page_size(page)).await.0
        });
        let held: Vec<usize> = ids.iter().filter_map(|id| id.parse().ok()).collect();
        prop_assert_eq!(held.len() + 1, ids.len());
        let spoke = |at: usize| kinds[at] == 0;
        let full = held.len() == records.len();
        prop_assert!(held.is_sorted() && held.len() <= most + 1);
        prop_assert!(held.last().is_none_or(|at| at + 1 == records.len()));
        prop_assert!(held.iter().filter(|at| spoke(**at)).count() <= last);
        if let Some(first) = held.first().filter(|_| !full) {
            let any_before = (0..=*first).any(spoke);
            prop_assert!(spoke(*first) || !any_before, "{held:?} of {kinds:?}");
        }
        // Without a gap, except after a message that is loaded because its exchange is too long.
        let gaps = held.windows(2).filter(|pair| pair[0] + 1 != pair[1]).count();
        prop_assert!(gaps == 0 || (gaps == 1 && held[0] + 1 != held[1] && spoke(held[0])));
    }
}

#[test]
fn messages_of_framework_and_model_do_not_start_an_exchange() {
    let framework = Message::framework("again").build().unwrap();
    assert_eq!(framework.author(), &Author::Framework);
    assert!(!opens(&framework.into()));
    assert!(!opens(&model("a")));
    let agent = Message::agent("scout", "found it").build().unwrap();
    assert!(opens(&agent.into()));
}
