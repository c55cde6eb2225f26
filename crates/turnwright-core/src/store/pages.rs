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
    query: Query,
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
            query,
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
        self.query.limit = Some(self.size.min(self.left));
        if self.left == 0 {
            return None;
        }
        let loaded = match self.store.load(&self.conversation_id, &self.query).await {
            Ok(loaded) => loaded,
            Err(error) => return Some(Err(error)),
        };
        self.advance(&loaded);
        self.page = in_order(loaded).into_iter();
        self.page.next()
    }

    /// A page that is not full is the last one.
    fn advance(&mut self, loaded: &Loaded) {
        let last = loaded.bounds().map(|(_, last)| last);
        self.query.after = last.or(self.query.after);
        let read = loaded.count();
        let full = self.query.limit.is_some_and(|limit| read >= limit);
        self.left = if full {
            self.left.saturating_sub(read)
        } else {
            0
        };
    }
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
            .field("query", &self.query)
            .finish_non_exhaustive()
    }
}
