//! Metadata of conversations: no model sees it, no turn depends on it, and no update is lost.

use async_trait::async_trait;
use turnwright_core::Storage;
use turnwright_core::record::ConversationInfo;
use turnwright_core::spool::Spool;
use turnwright_core::store::{
    Batch, ConversationFilter, ConversationId, Loaded, Query, Revision, Store, StoreError,
};
use turnwright_core::store::{Changes, FoundConversation, FoundTurn, TurnFilter};

use super::*;
use turnwright_core::record::RecordKind;

/// A word that occurs nowhere else.
const WORD: &str = "xyzzy";

async fn describe(storage: &Storage, conversation: &str) {
    let described = storage.update_conversation_info(conversation, |info| {
        let info = info.title(format!("title {WORD}")).owner(WORD);
        info.label(WORD, WORD).data(WORD, WORD)
    });
    described.await.unwrap();
}

#[tokio::test]
async fn a_model_never_sees_the_info_and_no_turn_has_it_among_its_records() {
    let storage = Storage::memory();
    let model = ScriptedModel::new([
        Step::call_tool("note", "{}"),
        Step::say("noted"),
        Step::say("again"),
    ]);
    let inside = storage.clone();
    let note = tool("note").handler(move |_: Value, _: ToolContext| {
        let storage = inside.clone();
        async move {
            // While the turn runs.
            let label = storage.update_conversation_info("chat", |info| info.label("during", WORD));
            label.await.unwrap();
            "ok"
        }
    });
    let runner = runner(model.clone())
        .storage(storage.clone())
        .tool(note.build().unwrap())
        .build()
        .unwrap();
    describe(&storage, "chat").await;
    let mut chat = runner.conversation("chat");
    for said in ["one", "two"] {
        let outcome = chat.say(said).await;
        assert!(outcome.is_answered(), "{outcome:?}");
        let info = RecordKind::ConversationInfo;
        assert!(outcome.records.iter().all(|record| record.kind() != info));
    }
    for shown in model.requests() {
        let prompt = format!("{shown:?} {:?}", shown.prompt());
        assert!(!prompt.contains(WORD), "{prompt}");
    }
    let info = chat.info().await.unwrap().unwrap();
    assert_eq!((info.owner.as_deref(), info.labels.len()), (Some(WORD), 2));
}

#[tokio::test]
async fn a_turn_is_resumed_whatever_was_done_to_the_info_since() {
    let storage = Storage::memory();
    let failing = |_: DispatchContext| async { Err(BoxError::from("out of order")) };
    let first = runner(failing).storage(storage.clone()).build().unwrap();
    describe(&storage, "chat").await;
    let input = TurnInput::new("Hello!").conversation("chat");
    let outcome = first.run(input).await;
    assert!(!outcome.is_answered());
    storage
        .update_conversation_info("chat", |mut info| {
            info.owner = None;
            info.title("Another")
        })
        .await
        .unwrap();

    let model = ScriptedModel::new([Step::say("Here I am.")]);
    let later = runner(model.clone()).storage(storage.clone());
    let turn = later.build().unwrap().resume(&outcome.turn_id).await;
    assert_eq!(turn.unwrap().await.into_answer().unwrap(), "Here I am.");
    assert_eq!(model.request(0).texts(), ["Hello!"]);
    let info = storage.conversation_info("chat").await.unwrap().unwrap();
    assert_eq!(
        (info.title.as_deref(), &info.owner),
        (Some("Another"), &None)
    );
}

#[tokio::test]
async fn the_info_is_deleted_with_its_conversation() {
    let storage = Storage::memory();
    describe(&storage, "chat").await;
    let all = ConversationFilter::all().owner(WORD);
    assert_eq!(storage.conversations(&all).await.unwrap().len(), 1);
    let chat = ConversationId::new("chat");
    storage.store().delete_conversation(&chat).await.unwrap();
    assert!(storage.conversations(&all).await.unwrap().is_empty());
    assert!(storage.conversation_info("chat").await.unwrap().is_none());
}

#[tokio::test]
async fn an_info_without_content_is_not_stored_and_an_equal_one_is_not_written_again() {
    let storage = Storage::memory();
    let revision = async || {
        let chat = ConversationId::new("chat");
        let loaded = storage.store().load(&chat, &Query::all()).await.unwrap();
        (loaded.revision.0, loaded.records.len())
    };
    let update = async |title: Option<&'static str>| {
        let info = storage.update_conversation_info("chat", |mut info| {
            info.title = title.map(str::to_owned);
            info
        });
        assert_eq!(info.await.unwrap().title.as_deref(), title);
        revision().await
    };
    assert_eq!(update(None).await, (0, 0));
    assert_eq!(update(Some("a")).await, (1, 1));
    assert_eq!(update(Some("a")).await, (1, 1));
    assert_eq!(update(Some("b")).await, (2, 1));
    assert_eq!(update(None).await, (3, 0));
}

#[tokio::test]
async fn an_invalid_update_changes_nothing() {
    let storage = Storage::memory();
    describe(&storage, "chat").await;
    let before = storage.conversation_info("chat").await.unwrap();
    let error = storage
        .update_conversation_info("chat", |info| info.title("new").owner("a\nb"))
        .await
        .unwrap_err();
    let code = "E_INVALID_INITIAL_CONVERSATION_INFO_VALUE";
    assert_eq!(error.code().as_str(), code);
    assert_eq!(storage.conversation_info("chat").await.unwrap(), before);
}

/// Lets others write between a load and what follows it.
struct Slow(MemoryStore);

#[async_trait]
impl Store for Slow {
    async fn load(
        &self,
        conversation: &ConversationId,
        query: &Query,
    ) -> Result<Loaded, StoreError> {
        let loaded = self.0.load(conversation, query).await;
        tokio::task::yield_now().await;
        loaded
    }

    async fn apply(
        &self,
        conversation: &ConversationId,
        batch: Batch,
    ) -> Result<Revision, StoreError> {
        assert!(batch.expect.is_some(), "written without a condition");
        self.0.apply(conversation, batch).await
    }

    async fn conversations(
        &self,
        filter: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        self.0.conversations(filter).await
    }

    async fn find_turns(&self, filter: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        self.0.find_turns(filter).await
    }

    async fn changed(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<Changes, StoreError> {
        self.0.changed(conversation, since).await
    }

    async fn wait_for_change(
        &self,
        conversation: &ConversationId,
        since: Revision,
    ) -> Result<(), StoreError> {
        self.0.wait_for_change(conversation, since).await
    }

    fn is_persistent(&self) -> bool {
        self.0.is_persistent()
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        self.0.spool()
    }
}

#[tokio::test]
async fn of_updates_at_once_none_is_lost() {
    let storage = storage_of(Slow(MemoryStore::default()));
    let updates = (0..32).map(|n: u32| {
        let storage = storage.clone();
        tokio::spawn(async move {
            let label =
                |info: ConversationInfo| info.label(n.to_string(), "x").title(n.to_string());
            storage.update_conversation_info("chat", label).await
        })
    });
    let updates: Vec<_> = updates.collect();
    for update in updates {
        update.await.unwrap().unwrap();
    }
    let info = storage.conversation_info("chat").await.unwrap().unwrap();
    assert_eq!(info.labels.len(), 32);
    assert_eq!(info.id(), ConversationInfo::ID);
}

#[tokio::test]
async fn an_id_that_no_turn_accepts_has_no_info() {
    let storage = Storage::memory();
    for id in ["", "\n\u{1b}"] {
        let updated = storage.update_conversation_info(id, |info| info.title("t"));
        let error = updated.await.unwrap_err();
        let code = ErrorCode::INVALID_INITIAL_CONVERSATION_INFO_VALUE;
        assert_eq!(error.code(), code);
    }
    let all = storage.conversations(&ConversationFilter::all()).await;
    assert!(all.unwrap().is_empty());
}
