use std::sync::Arc;

use async_trait::async_trait;

use crate::spool::{DiskSpool, MemorySpool, Spool};
use crate::store::{
    Batch, Changes, ConversationFilter, ConversationId, FoundConversation, FoundTurn, Loaded,
    Query, Revision, StoreError, TurnFilter,
};
use crate::store::{MemoryStore, Store};
use crate::trust::ConversationSecret;
use crate::{ErrorCode, Storage};

impl Storage {
    /// A storage with a volatile store, for tests.
    pub(crate) fn of(store: impl Store + 'static) -> Self {
        let spool: Arc<dyn Spool> = match store.spool() {
            Some(own) => own,
            None => Arc::new(MemorySpool::transient()),
        };
        let secret = ConversationSecret::of_process().unwrap();
        Storage::new(store, spool, secret).unwrap()
    }

    /// A storage in memory with this spool, for tests.
    pub(crate) fn of_spool(spool: impl Spool + 'static) -> Self {
        let secret = ConversationSecret::of_process().unwrap();
        Storage::new(MemoryStore::default(), Arc::new(spool), secret).unwrap()
    }
}

/// A store that claims to be persistent and to have this spool.
struct Claims(Option<Arc<dyn Spool>>);

#[async_trait]
impl Store for Claims {
    async fn apply(&self, _: &ConversationId, _: Batch) -> Result<Revision, StoreError> {
        Err(StoreError::failed("not used"))
    }

    async fn load(&self, _: &ConversationId, _: &Query) -> Result<Loaded, StoreError> {
        Err(StoreError::failed("not used"))
    }

    async fn conversations(
        &self,
        _: &ConversationFilter,
    ) -> Result<Vec<FoundConversation>, StoreError> {
        Err(StoreError::failed("not used"))
    }

    async fn find_turns(&self, _: &TurnFilter) -> Result<Vec<FoundTurn>, StoreError> {
        Err(StoreError::failed("not used"))
    }

    async fn changed(&self, _: &ConversationId, _: Revision) -> Result<Changes, StoreError> {
        Err(StoreError::failed("not used"))
    }

    fn is_persistent(&self) -> bool {
        true
    }

    fn spool(&self) -> Option<Arc<dyn Spool>> {
        self.0.clone()
    }
}

#[test]
fn inconsistent_parts_are_rejected_with_advice() {
    let secret = || ConversationSecret::from_bytes([7; 32]);
    let disk = || Arc::new(DiskSpool::at("never-made")) as Arc<dyn Spool>;
    let memory = || Arc::new(MemorySpool::default()) as Arc<dyn Spool>;
    let own = memory();
    for (of_store, given, advice) in [
        (None, memory(), "make the store with the same one"),
        (Some(disk()), disk(), "`store.spool()`"),
        (Some(Arc::clone(&own)), own, "open the store with"),
    ] {
        let error = Storage::new(Claims(of_store), given, secret());
        let error = error.unwrap_err();
        assert_eq!(error.code(), ErrorCode::INVALID_STORAGE);
        assert!(error.message().contains(advice), "{error}");
    }
    let own = disk();
    for (of_store, given) in [(None, disk()), (Some(Arc::clone(&own)), own)] {
        let storage = Storage::new(Claims(of_store), given, secret());
        let storage = storage.unwrap();
        assert!(storage.is_persistent());
    }
}

#[test]
fn debug_does_not_show_the_secret() {
    let secret = ConversationSecret::from_bytes([0xab; 32]);
    let spool = Arc::new(MemorySpool::default());
    let storage = Storage::new(MemoryStore::default(), spool, secret).unwrap();
    let shown = format!("{storage:?} {:?}", storage.secret());
    for part in ["ab", "AB", "171"] {
        assert!(!shown.contains(part), "{shown}");
    }
    assert_eq!(storage.secret().unwrap().expose(), [0xab; 32]);
}

#[test]
fn storages_in_memory_share_the_secret_of_the_process() {
    let secret = || Storage::memory().secret().unwrap().expose();
    assert_eq!(secret(), secret());
}
