//! Where a conversation's records are kept.
//!
//! [`Store`] is small, so that you can write one for your own database; what is comfortable stands in [`StoreExt`]. The
//! testkit has a suite of checks that any store can run.

mod batch;
mod error;
mod ext;
mod memory;
mod query;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

pub use batch::{Batch, Change};
pub use error::StoreError;
pub use ext::StoreExt;
pub use memory::MemoryStore;
pub use query::{Loaded, Position, Query, ScopeFilter, Stored};

/// Keeps records by scope, kind and id.
#[async_trait]
pub trait Store: Send + Sync {
    /// Makes all changes of a batch, in their order, or none. Gives the revision of the scope after them.
    ///
    /// A record that is put again replaces the one of its kind and id, and keeps its place.
    ///
    /// # Errors
    /// [`StoreError::conflict`] if the batch expects another revision than there is, [`StoreError::fenced`] if somebody
    /// with a higher fence has written, or whatever the store itself says. Nothing was changed then.
    async fn apply(&self, scope: &Scope, batch: Batch) -> Result<Revision, StoreError>;

    /// Reads records of a scope, in the order in which they were first written.
    ///
    /// # Errors
    /// Whatever the store says.
    async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError>;

    /// The scopes that hold records, in the order of their names.
    ///
    /// # Errors
    /// Whatever the store says.
    async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError>;
}

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

#[async_trait]
impl<S: Store + ?Sized> Store for Arc<S> {
    async fn apply(&self, scope: &Scope, batch: Batch) -> Result<Revision, StoreError> {
        S::apply(self, scope, batch).await
    }

    async fn load(&self, scope: &Scope, query: &Query) -> Result<Loaded, StoreError> {
        S::load(self, scope, query).await
    }

    async fn scopes(&self, filter: &ScopeFilter) -> Result<Vec<Scope>, StoreError> {
        S::scopes(self, filter).await
    }
}
