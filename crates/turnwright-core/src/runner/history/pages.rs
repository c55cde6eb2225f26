//! Reading a store in pages.

use parking_lot::Mutex;

use crate::error::{Error, ErrorCode};
use crate::record::RecordKind;
use crate::store::{
    self, ConversationId, DamagedRecord, Loaded, Position, Query, Store, StoreExt as _, Stored,
};

/// Reads a store in pages.
pub(super) struct Pages<'s> {
    store: &'s dyn Store,
    size: usize,
    /// The damaged records that were found.
    pub(super) damaged: Mutex<Vec<DamagedRecord>>,
}

/// Maximum number of memories and standing instructions.
const MAX_STANDING: usize = 10_000;

impl<'s> Pages<'s> {
    pub(super) fn new(store: &'s dyn Store, size: usize) -> Self {
        Pages {
            store,
            size,
            damaged: Mutex::default(),
        }
    }

    async fn load(
        &self,
        pages: &mut store::Pages<'_, impl Store + ?Sized>,
    ) -> Result<Option<Loaded>, Error> {
        let loaded = pages.next().await?;
        // A store that never waits must not prevent cancellation.
        tokio::task::yield_now().await;
        let damaged = loaded.iter().flat_map(|loaded| loaded.damaged.clone());
        self.damaged.lock().extend(damaged);
        Ok(loaded)
    }

    /// Loads the record of this kind and id, if the store has it.
    pub(super) async fn get(
        &self,
        conversation_id: &ConversationId,
        kind: RecordKind,
        id: &str,
    ) -> Result<Option<Stored>, Error> {
        let query = of_kinds(&[kind]).ids([id]);
        let mut pages = self.store.pages(conversation_id, query);
        let page = self.load(&mut pages).await?;
        Ok(page.and_then(|mut page| page.records.pop()))
    }

    /// Loads all records of these kinds, in order.
    pub(super) async fn all(
        &self,
        conversation_id: &ConversationId,
        kinds: &[RecordKind],
    ) -> Result<Vec<Stored>, Error> {
        let mut all: Vec<Stored> = Vec::new();
        if kinds.is_empty() {
            return Ok(all);
        }
        let query = of_kinds(kinds).limit(self.size);
        let mut pages = self.store.pages(conversation_id, query);
        while let Some(page) = self.load(&mut pages).await? {
            all.extend(page.records);
            if all.len() > MAX_STANDING {
                let message = format!(
                    "the conversation has more than {MAX_STANDING} memories and standing instructions: they do not fit into a prompt. Set `.history(History::all().kinds([…]))` without them, and load what is needed in turn input middleware"
                );
                return Err(Error::new(ErrorCode::STORE_ERROR, message));
            }
        }
        Ok(all)
    }

    /// Reads records of these kinds in pages, backwards from a position. `take` receives the records of a page in order, and the
    /// first position of the page. It returns whether to continue.
    pub(super) async fn read_back(
        &self,
        conversation_id: &ConversationId,
        kinds: &[RecordKind],
        before: Option<Position>,
        mut take: impl FnMut(Vec<Stored>, Option<Position>) -> bool,
    ) -> Result<(), Error> {
        let mut query = of_kinds(kinds).newest(self.size);
        query.before = before;
        let mut pages = self.store.pages(conversation_id, query);
        while let Some(page) = self.load(&mut pages).await? {
            if !take(page.records, pages.query.before) {
                break;
            }
        }
        Ok(())
    }
}

fn of_kinds(kinds: &[RecordKind]) -> Query {
    kinds.iter().copied().fold(Query::all(), Query::kind)
}
