//! Reading a store in pages.

use parking_lot::Mutex;

use crate::error::{Error, ErrorCode};
use crate::record::RecordKind;
use crate::store::{ConversationId, DamagedRecord, Loaded, Position, Query, Store, Stored};

/// Reads a store in pages.
pub(super) struct Pages<'s> {
    store: &'s dyn Store,
    pub(super) size: usize,
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

    async fn load(&self, conversation_id: &ConversationId, query: &Query) -> Result<Loaded, Error> {
        let loaded = self.store.load(conversation_id, query).await?;
        // A store that never waits must not prevent cancellation.
        tokio::task::yield_now().await;
        let bounds = loaded.bounds();
        let before = |place: Position| query.before.is_none_or(|limit| place < limit);
        let after = |place: Position| query.after.is_none_or(|limit| place > limit);
        if let Some((first, last)) = bounds {
            // Without this, a store that ignores a part of the query would be read forever.
            honoured("before", before(last))?;
            honoured("after", after(first))?;
        }
        self.damaged.lock().extend(loaded.damaged.iter().cloned());
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
        let mut page = self.load(conversation_id, &query).await?;
        Ok(page.records.pop())
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
        let mut query = of_kinds(kinds).limit(self.size);
        loop {
            let page = self.load(conversation_id, &query).await?;
            let more = page.count() >= self.size;
            query.after = page.bounds().map(|(_, last)| last).or(query.after);
            all.extend(page.records);
            if all.len() > MAX_STANDING {
                let message = format!(
                    "the conversation has more than {MAX_STANDING} memories and standing instructions: they do not fit into a prompt. Set `.history(History::all().kinds([…]))` without them, and load what is needed in turn input middleware"
                );
                return Err(Error::new(ErrorCode::STORE_ERROR, message));
            }
            if !more {
                return Ok(all);
            }
        }
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
        loop {
            let page = self.load(conversation_id, &query).await?;
            let more = page.count() >= self.size;
            // Damaged records count.
            query.before = page.bounds().map(|(first, _)| first);
            if !take(page.records, query.before) || !more {
                return Ok(());
            }
        }
    }
}

fn of_kinds(kinds: &[RecordKind]) -> Query {
    kinds.iter().copied().fold(Query::all(), Query::kind)
}

fn honoured(part: &str, is_honoured: bool) -> Result<(), Error> {
    if is_honoured {
        return Ok(());
    }
    let message = format!("the store returned records that `Query::{part}` excludes");
    Err(Error::new(ErrorCode::STORE_ERROR, message))
}
