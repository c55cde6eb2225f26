//! Reading a scope piece by piece.

use std::fmt;
use std::vec;

use super::{Loaded, Query, Scope, Store, StoreError, Stored};

/// The most records that are held at once, unless told.
const USUAL: usize = 256;

/// The records of a scope, one after the other, without holding all of them: see [`StoreExt::pages`](super::StoreExt::pages).
///
/// What is put while it is read comes at the end; what is deleted or replaced before its page is read is seen as it is
/// then.
#[must_use = "nothing is read until `next` is called"]
pub struct Pages<'s, S: ?Sized> {
    store: &'s S,
    scope: &'s Scope,
    query: Query,
    size: usize,
    page: vec::IntoIter<Result<Stored, StoreError>>,
    left: usize,
}

impl<'s, S: Store + ?Sized> Pages<'s, S> {
    pub(super) fn new(store: &'s S, scope: &'s Scope, query: Query) -> Self {
        Pages {
            left: query.limit.unwrap_or(usize::MAX),
            store,
            scope,
            query,
            size: USUAL,
            page: Vec::new().into_iter(),
        }
    }

    /// Holding so many at once, at least one. 256 unless told.
    pub fn size(mut self, records: usize) -> Self {
        self.size = records.max(1);
        self
    }

    /// The next record, or `None` after the last.
    ///
    /// # Errors
    /// [`StoreError::damaged_record`] for a record that cannot be read: asked again, it goes on with the next one. Else as
    /// [`Store::load`]: asked again, it tries again from the same place.
    pub async fn next(&mut self) -> Option<Result<Stored, StoreError>> {
        if let Some(stored) = self.page.next() {
            return Some(stored);
        }
        self.query.limit = Some(self.size.min(self.left));
        if self.left == 0 {
            return None;
        }
        let loaded = match self.store.load(self.scope, &self.query).await {
            Ok(loaded) => loaded,
            Err(error) => return Some(Err(error)),
        };
        self.turn(&loaded);
        self.page = in_order(loaded).into_iter();
        self.page.next()
    }

    /// Goes on after what was read. A page that is not full was the last.
    fn turn(&mut self, loaded: &Loaded) {
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

/// Readable and damaged records together, by their places.
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
        all.extend(damaged.map(|it| (it.position, Err(StoreError::damaged(it)))));
        all.sort_by_key(|(place, _)| *place);
    }
    all.into_iter().map(|(_, one)| one).collect()
}

impl<S: ?Sized> fmt::Debug for Pages<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pages")
            .field("scope", &self.scope)
            .field("query", &self.query)
            .finish_non_exhaustive()
    }
}
