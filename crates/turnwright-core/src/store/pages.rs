//! Reading a conversation in pages.

use std::fmt;
use std::vec;

use super::{ConversationId, Loaded, Query, Store, StoreError, Stored};

/// The default page size.
const DEFAULT_SIZE: usize = 256;

/// The records of a conversation, loaded in pages. See [`StoreExt::pages`](super::StoreExt::pages).
///
/// Records that are put meanwhile come at the end. Records that are replaced or deleted before their page is loaded are seen in
/// that state.
#[must_use = "nothing is read until `next` is called"]
pub struct Pages<'s, S: ?Sized> {
    store: &'s S,
    conversation_id: ConversationId,
    pager: Pager,
    size: usize,
    page: vec::IntoIter<Result<Stored, StoreError>>,
    left: usize,
}

impl<'s, S: Store + ?Sized> Pages<'s, S> {
    pub(super) fn new(store: &'s S, conversation_id: ConversationId, query: Query) -> Self {
        Pages {
            left: query.limit.unwrap_or(usize::MAX),
            store,
            conversation_id,
            pager: Pager::new(query),
            size: DEFAULT_SIZE,
            page: Vec::new().into_iter(),
        }
    }

    /// Sets the page size, at least 1.
    ///
    /// Default: 256.
    pub fn size(mut self, records: usize) -> Self {
        self.size = records.max(1);
        self
    }

    /// Returns the next record, or `None` after the last.
    ///
    /// # Errors
    /// Returns [`StoreError::damaged_record`] for a record that cannot be read; the next call returns the next record. For other
    /// errors see [`Store::load`]; the next call loads the page again.
    pub async fn next(&mut self) -> Option<Result<Stored, StoreError>> {
        if let Some(stored) = self.page.next() {
            return Some(stored);
        }
        self.pager.query.limit = Some(self.size.min(self.left));
        if self.left == 0 {
            return None;
        }
        let loaded = self.pager.next(self.store, &self.conversation_id).await;
        match loaded.transpose()? {
            Ok(loaded) => {
                self.left = self.left.saturating_sub(loaded.count());
                self.page = in_order(loaded).into_iter();
                self.page.next()
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// Loads what a query selects in pages of its limit: forwards, or backwards if it selects the newest records.
pub(crate) struct Pager {
    pub(crate) query: Query,
    ended: bool,
}

impl Pager {
    pub(crate) fn new(query: Query) -> Self {
        Pager {
            query,
            ended: false,
        }
    }

    /// Returns the next page, or `None` after the last. Damaged records count.
    pub(crate) async fn next(
        &mut self,
        store: &(impl Store + ?Sized),
        conversation_id: &ConversationId,
    ) -> Result<Option<Loaded>, StoreError> {
        if self.ended {
            return Ok(None);
        }
        let query = &mut self.query;
        let page = store.load(conversation_id, query).await?;
        if let Some((first, last)) = page.bounds() {
            // Without this, a store that ignores a part of the query would be read forever.
            honoured("before", query.before.is_none_or(|limit| last < limit))?;
            honoured("after", query.after.is_none_or(|limit| first > limit))?;
            if query.newest {
                query.before = Some(first);
            } else {
                query.after = Some(last);
            }
        }
        self.ended = query.limit.is_none_or(|most| page.count() < most);
        Ok(Some(page))
    }
}

fn honoured(part: &str, is_honoured: bool) -> Result<(), StoreError> {
    let why = || format!("it returned records that `Query::{part}` excludes");
    is_honoured
        .then_some(())
        .ok_or_else(|| StoreError::failed(why()))
}

/// Returns readable and damaged records together, by position.
fn in_order(loaded: Loaded) -> Vec<Result<Stored, StoreError>> {
    let Loaded {
        records, damaged, ..
    } = loaded;
    let mut all: Vec<_> = records
        .into_iter()
        .map(|stored| (stored.position, Ok(stored)))
        .collect();
    if !damaged.is_empty() {
        let damaged = damaged.into_iter();
        all.extend(damaged.map(|one| (one.position, Err(StoreError::damaged(one)))));
        all.sort_by_key(|(position, _)| *position);
    }
    all.into_iter().map(|(_, one)| one).collect()
}

impl<S: ?Sized> fmt::Debug for Pages<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages")
            .field("conversation", &self.conversation_id)
            .field("query", &self.pager.query)
            .finish_non_exhaustive()
    }
}
