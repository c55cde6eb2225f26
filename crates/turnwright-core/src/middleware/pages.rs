//! Reading a store page by page.

use crate::error::{Error, ErrorCode};
use crate::record::RecordKind;
use crate::store::{Position, Query, Scope, Store, Stored};

/// Reads a store so that it is never asked for everything at once.
pub(super) struct Pages<'s> {
    pub(super) store: &'s dyn Store,
    pub(super) size: usize,
}

/// Memories and standing instructions that are loaded at most.
const MOST_STANDING: usize = 10_000;

impl Pages<'_> {
    /// All records of these kinds, in order.
    pub(super) async fn all(
        &self,
        scope: &Scope,
        kinds: &[RecordKind],
    ) -> Result<Vec<Stored>, Error> {
        let mut all: Vec<Stored> = Vec::new();
        if kinds.is_empty() {
            return Ok(all);
        }
        let mut query = of_kinds(kinds).limit(self.size);
        loop {
            let page = self.store.load(scope, &query).await?.records;
            // A store that always has an answer at once is not to keep the turn from being called off.
            tokio::task::yield_now().await;
            let fresh = |one: &Stored| query.after.is_none_or(|place| one.position > place);
            if !page.iter().all(fresh) {
                return Err(not_honoured("after"));
            }
            let more = page.len() >= self.size;
            query.after = page.last().map(|one| one.position).or(query.after);
            all.extend(page);
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

    /// The newest page of these kinds before a place, in order. Nothing is before it if it is not full.
    pub(super) async fn newest(
        &self,
        scope: &Scope,
        kinds: &[RecordKind],
        before: Option<Position>,
    ) -> Result<Vec<Stored>, Error> {
        let mut query = of_kinds(kinds).newest(self.size);
        query.before = before;
        let page = self.store.load(scope, &query).await?.records;
        tokio::task::yield_now().await;
        let fresh = |one: &Stored| before.is_none_or(|place| one.position < place);
        match page.iter().all(fresh) {
            true => Ok(page),
            false => Err(not_honoured("before")),
        }
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
