//! Where a conversation's records are kept.
//!
//! [`Store`] asks for three methods, so that you can write one for your own database; what is comfortable stands in
//! [`StoreExt`]. [`MemoryStore`] keeps records for as long as it lives:
//!
//! ```
//! use turnwright_core::record::{Memory, Message, RecordKind};
//! use turnwright_core::store::{Batch, MemoryStore, Query, Scope, Store as _, StoreExt as _};
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let (store, scope) = (MemoryStore::default(), Scope::new("chat-1"));
//! let revision = store
//!     .apply(&scope, Batch::new()
//!         .put(Message::user("Call me Ada.").build()?)
//!         .put(Memory::new("The user's name is Ada.").id("name").build()?))
//!     .await?;
//!
//! // Only if nobody has written since:
//! let forget = Batch::new().delete(RecordKind::Memory, "name").expect(revision);
//! let revision = store.apply(&scope, forget.clone()).await?;
//! let conflict = store.apply(&scope, forget).await.unwrap_err();
//! assert_eq!(conflict.found_revision(), Some(revision));
//!
//! let loaded = store.load(&scope, &Query::all().kind(RecordKind::Message).limit(10)).await?;
//! assert_eq!(loaded.records.len(), 1);
//! assert!(store.memories(&scope).await?.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
//! ```
//!
//! A store of your own writes each record with [`Record::to_value`](crate::record::Record::to_value) and reads it with
//! [`Record::from_value`](crate::record::Record::from_value); the testkit's `store::conformance` then says whether it keeps
//! all that is promised here. A store around another is a few lines, and whoever holds a `dyn Store` can be given it:
//!
//! ```
//! use async_trait::async_trait;
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use turnwright_core::store::{Batch, Loaded, MemoryStore, Query, Revision, Scope, ScopeFilter, Store, StoreError};
//!
//! struct Counted<S>(S, AtomicU64);
//!
//! #[async_trait]
//! impl<S: Store> Store for Counted<S> {
//!     async fn apply(&self, scope: &Scope, batch: Batch) -> Result<Revision, StoreError> {
//!         self.1.fetch_add(batch.changes.len() as u64, Ordering::Relaxed);
//!         self.0.apply(scope, batch).await
//!     }
//!     async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError> {
//!         self.0.load(scope, query).await
//!     }
//!     async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError> {
//!         self.0.scopes(filter).await
//!     }
//! }
//!
//! let store: Box<dyn Store> = Box::new(Counted(MemoryStore::default(), AtomicU64::new(0)));
//! ```
//!
//! # A conversation that outlives its process
//!
//! Three things must last, and be given to the runner that goes on with it: the **store**; the **spool** with the results
//! themselves, the same one by which the store reopens records ([`Reopen`](crate::record::Reopen)); and the **secret**, if
//! prompts are to stay as they were, byte for byte, for a provider's cache.
//!
//! ```no_run
//! use turnwright_core::spool::DiskSpool;
//! use turnwright_core::trust::ConversationSecret;
//! use turnwright_core::{Conversation, DispatchContext, Store, TurnRunner};
//!
//! # async fn go_on(store: impl Store + 'static, secret: [u8; 32]) -> Result<(), Box<dyn std::error::Error>> {
//! # let executor = |_: DispatchContext| async { Ok(()) };
//! let runner = TurnRunner::builder(executor)
//!     .store(store)
//!     .spool(DiskSpool::open("results").await?)
//!     .secret(ConversationSecret::from_bytes(secret))
//!     .build()?;
//! let mut chat = Conversation::new(&runner, "chat-1");
//! chat.say("Where were we?").await.into_answer()?;
//! # Ok(())
//! # }
//! ```

mod batch;
mod error;
mod ext;
mod memory;
mod pages;
mod query;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::record::RecordKind;

pub use batch::{Batch, Change};
pub use error::StoreError;
pub use ext::StoreExt;
pub use memory::MemoryStore;
pub use pages::Pages;
pub use query::{Loaded, Position, Query, ScopeFilter, Stored};

/// Keeps records by scope, kind and id.
///
/// A record's id is any text that is not empty. A scope's name is any text; a store that cannot keep one, such as one with
/// a NUL in it, refuses it with an error and never takes it for another.
#[async_trait]
pub trait Store: Send + Sync {
    /// Makes all changes of a batch, in their order, or none. Gives the revision of the scope after them, which is one more
    /// than before: for a batch without changes too, so that a fence can be set by one.
    ///
    /// A record that is put again replaces the one of its kind and id, and keeps its place. A new one comes after all that
    /// were ever there: no [`Position`] is given twice in a scope, also after the record that had it is gone. A
    /// scope's revision and fence stay when its last record goes.
    ///
    /// # Errors
    /// [`StoreError::fenced`] if somebody with a higher fence has written; else [`StoreError::conflict`] if the batch
    /// expects another revision than there is; else whatever the store itself says. Nothing was changed then, the fence
    /// neither.
    async fn apply(&self, scope: &Scope, batch: Batch) -> Result<Revision, StoreError>;

    /// Reads records of a scope, in the order in which they were first written. All conditions of the query must hold; an id
    /// that is asked for twice is given once. The revision is that of the scope, whatever was found; a scope that was
    /// never written has no records and revision 0.
    ///
    /// # Errors
    /// Whatever the store says.
    async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError>;

    /// The scopes that hold records, in the order of their names' bytes.
    ///
    /// # Errors
    /// Whatever the store says.
    async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError>;

    /// The scopes that hold a record of this kind and id, in the order of their names' bytes. Looks into one scope after
    /// the other unless you know a shorter way.
    ///
    /// # Errors
    /// Whatever the store says.
    async fn holding(&self, kind: RecordKind, id: &str) -> Result<Vec<Scope>, StoreError> {
        let query = Query::all().kind(kind).ids([id]);
        let mut filter = ScopeFilter::all().limit(SCOPES_AT_ONCE);
        let mut found = Vec::new();
        loop {
            let scopes = self.scopes(&filter).await?;
            let more = scopes.len() >= SCOPES_AT_ONCE;
            filter.after = scopes.last().cloned();
            for scope in scopes {
                if !self.load(&scope, &query).await?.records.is_empty() {
                    found.push(scope);
                }
            }
            if !more {
                return Ok(found);
            }
        }
    }
}

/// Scopes that are looked into before more are asked for.
const SCOPES_AT_ONCE: usize = 256;

/// What holds a store is one.
macro_rules! pass_on {
    ($($holder:ty),+) => {$(
        #[async_trait]
        impl<S: Store + ?Sized> Store for $holder {
            async fn apply(&self, scope: &Scope, batch: Batch) -> Result<Revision, StoreError> {
                (**self).apply(scope, batch).await
            }

            async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError> {
                (**self).load(scope, query).await
            }

            async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError> {
                (**self).scopes(filter).await
            }

            async fn holding(&self, kind: RecordKind, id: &str) -> Result<Vec<Scope>, StoreError> {
                (**self).holding(kind, id).await
            }
        }
    )+};
}

pass_on!(Arc<S>, Box<S>, &S);

/// What belongs together and changes together: a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope(Arc<str>);

impl Scope {
    /// The scope of this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Scope(name.into())
    }

    /// Its name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How often a scope was changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Revision(pub u64);
