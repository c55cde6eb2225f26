//! Reading a conversation in pages.

use std::fmt;

use super::{ConversationId, Loaded, Query, Store, StoreError};

/// The default page size.
const DEFAULT_SIZE: usize = 256;

/// The records of a conversation in pages: forwards, or backwards if the query selects the newest records. See
/// [`StoreExt::pages`](super::StoreExt::pages).
///
/// Records that are put meanwhile come at the end. Records that are replaced or deleted before their page is loaded are seen in
/// that state.
#[must_use = "nothing is read until `next` is called"]
pub struct Pages<'s, S: ?Sized> {
    store: &'s S,
    conversation_id: ConversationId,
    pub(crate) query: Query,
    ended: bool,
}

impl<'s, S: Store + ?Sized> Pages<'s, S> {
    pub(super) fn new(store: &'s S, conversation_id: ConversationId, mut query: Query) -> Self {
        query.limit.get_or_insert(DEFAULT_SIZE);
        Pages {
            store,
            conversation_id,
            query,
            ended: false,
        }
    }

    /// Returns the next page with its damaged records, or `None` after the last.
    ///
    /// # Errors
    /// See [`Store::load`]; the next call loads the page again.
    pub async fn next(&mut self) -> Result<Option<Loaded>, StoreError> {
        if self.ended {
            return Ok(None);
        }
        let query = &mut self.query;
        let page = self.store.load(&self.conversation_id, query).await?;
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
        self.ended = query.limit.is_none_or(|most| page.count() < most.max(1));
        Ok(Some(page))
    }
}

impl<S: ?Sized> fmt::Debug for Pages<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (id, query) = (&self.conversation_id, &self.query);
        write!(f, "Pages({id}, {query:?})")
    }
}

fn honoured(part: &str, is_honoured: bool) -> Result<(), StoreError> {
    let why = || format!("it returned records that `Query::{part}` excludes");
    is_honoured
        .then_some(())
        .ok_or_else(|| StoreError::failed(why()))
}
