//! Where a conversation's records are kept.
//!
//! [`Store`] asks for a few methods, so that you can write one for your own database; what is comfortable stands in
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
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicU64, Ordering};
//! use turnwright_core::spool::Spool;
//! use turnwright_core::RecordKind;
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
//!     async fn holding(&self, kind: RecordKind, id: &str) -> Result<Vec<Scope>, StoreError> {
//!         self.0.holding(kind, id).await
//!     }
//!     fn is_persistent(&self) -> bool {
//!         self.0.is_persistent()
//!     }
//!     fn spool(&self) -> Option<Arc<dyn Spool>> {
//!         self.0.spool()
//!     }
//! }
//!
//! let store: Box<dyn Store> = Box::new(Counted(MemoryStore::default(), AtomicU64::new(0)));
//! ```
//!
//! # A conversation that outlives its process
//!
//! Three things must last, and be given to the runner that goes on with it: the **store**; the **spool** with large results and
//! media, the same one from which the store reopens records ([`Reopen`](crate::record::Reopen)); and the **secret**, if
//! prompts are to stay as they were, byte for byte, for a provider's cache. A runner uses the spool of its store
//! ([`Store::spool`]); only a store that has none needs one set here.
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
mod observed;
mod pages;
mod query;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::record::RecordKind;
use crate::spool::Spool;

pub use batch::{Batch, Change};
pub use error::StoreError;
pub use ext::StoreExt;
pub use memory::MemoryStore;
pub use observed::observe_lease;
pub use pages::Pages;
pub use query::{DamagedRecord, Loaded, Position, Query, ScopeFilter, Stored};

pub(crate) use ext::fence_of;
pub(crate) use observed::observe_damaged;

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
    /// A record that cannot be read does not make the others unreadable: it stands in [`Loaded::damaged`].
    ///
    /// # Errors
    /// Whatever the store says.
    async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError>;

    /// The scopes that hold records, in the order of their names' bytes.
    ///
    /// # Errors
    /// Whatever the store says.
    async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError>;

    /// The scopes that hold a record of this kind and id, damaged ones included, in the order of their names' bytes.
    ///
    /// [`TurnRunner::resume`](crate::TurnRunner::resume) finds the conversation of a turn with it. A store with an index on
    /// kind and id answers at once. One that has none can call [`holding_by_scan`]. A store around another passes this on.
    ///
    /// # Errors
    /// Whatever the store says.
    async fn holding(&self, kind: RecordKind, id: &str) -> Result<Vec<Scope>, StoreError>;

    /// Whether stored records survive the end of the process. A runner whose store is persistent needs a spool that is, too. A store
    /// that wraps another one returns what that one returns.
    fn is_persistent(&self) -> bool;

    /// The spool from which loaded records read their results and media, if the store has one: the spool of its
    /// [`Reopen`](crate::record::Reopen). Runners write results to it. `None` if records are never encoded, or if the runner is
    /// given the same spool separately. A store that wraps another one returns what that one returns.
    fn spool(&self) -> Option<Arc<dyn Spool>>;
}

/// Implements [`Store::holding`] without an index: reads from one scope after the other, so it takes time in proportion to
/// the number of scopes. For small stores.
///
/// # Errors
/// Whatever the store says.
pub async fn holding_by_scan<S: Store + ?Sized>(
    store: &S,
    kind: RecordKind,
    id: &str,
) -> Result<Vec<Scope>, StoreError> {
    let query = Query::all().kind(kind).ids([id]);
    let mut filter = ScopeFilter::all().limit(SCOPES_AT_ONCE);
    let mut found = Vec::new();
    loop {
        let scopes = store.scopes(&filter).await?;
        let more = scopes.len() >= SCOPES_AT_ONCE;
        filter.after = scopes.last().cloned();
        for scope in scopes {
            if store.load(&scope, &query).await?.count() > 0 {
                found.push(scope);
            }
        }
        if !more {
            return Ok(found);
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

            fn is_persistent(&self) -> bool {
                (**self).is_persistent()
            }

            fn spool(&self) -> Option<Arc<dyn Spool>> {
                (**self).spool()
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
