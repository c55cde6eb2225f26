//! Reading a store page by page.

use parking_lot::Mutex;

use crate::error::{Error, ErrorCode};
use crate::record::RecordKind;
use crate::store::{ConversationId, DamagedRecord, Loaded, Position, Query, Store, Stored};

/// Reads a store so that it is never asked for everything at once.
pub(super) struct Pages<'s> {
    store: &'s dyn Store,
    pub(super) size: usize,
    /// What cannot be read, as far as it was come upon.
    pub(super) damaged: Mutex<Vec<DamagedRecord>>,
}

/// Some records, in order.
pub(super) struct Page {
    pub(super) records: Vec<Stored>,
    /// Whether there may be more.
    pub(super) more: bool,
    /// Its first place. Damaged records count.
    pub(super) first: Option<Position>,
}

/// Memories and standing instructions that are loaded at most.
const MOST_STANDING: usize = 10_000;

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
        // A store that always has an answer at once is not to keep the turn from being called off.
        tokio::task::yield_now().await;
        let bounds = loaded.bounds();
        let before = |place: Position| query.before.is_none_or(|limit| place < limit);
        let after = |place: Position| query.after.is_none_or(|limit| place > limit);
        if !bounds.is_none_or(|(_, last)| before(last)) {
            return Err(not_honoured("before"));
        }
        if !bounds.is_none_or(|(first, _)| after(first)) {
            return Err(not_honoured("after"));
        }
        self.damaged.lock().extend(loaded.damaged.iter().cloned());
        Ok(loaded)
    }

    /// All records of these kinds, in order.
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
            if all.len() > MOST_STANDING {
                let message = format!(
                    "the conversation has more than {MOST_STANDING} memories and standing instructions: no prompt holds them, load what is needed by a layer of yours"
                );
                return Err(Error::new(ErrorCode::Store, message));
            }
            if !more {
                return Ok(all);
            }
        }
    }

    /// The newest page of these kinds before a place, in order.
    pub(super) async fn newest(
        &self,
        conversation_id: &ConversationId,
        kinds: &[RecordKind],
        before: Option<Position>,
    ) -> Result<Page, Error> {
        let mut query = of_kinds(kinds).newest(self.size);
        query.before = before;
        let loaded = self.load(conversation_id, &query).await?;
        Ok(Page {
            more: loaded.count() >= self.size,
            first: loaded.bounds().map(|(first, _)| first),
            records: loaded.records,
        })
    }
}

fn of_kinds(kinds: &[RecordKind]) -> Query {
    kinds.iter().copied().fold(Query::all(), Query::kind)
}

/// Without this a store that passes over a part of the query would be read for ever.
fn not_honoured(part: &str) -> Error {
    let message = format!("the store gave records that `Query::{part}` leaves out");
    Error::new(ErrorCode::Store, message)
}
