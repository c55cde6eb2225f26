//! What is comfortable about a store.

use async_trait::async_trait;

use super::{Batch, Query, Revision, Scope, Store, StoreError};
use crate::record::Record;

/// What every [`Store`] can do besides.
#[async_trait]
pub trait StoreExt: Store {
    /// Puts one record.
    ///
    /// # Errors
    /// As [`Store::apply`].
    async fn put(&self, scope: &Scope, record: Record) -> Result<Revision, StoreError> {
        self.apply(scope, Batch::new().put(record)).await
    }

    /// All records of a scope, in order.
    ///
    /// # Errors
    /// As [`Store::load`].
    async fn records(&self, scope: &Scope) -> Result<Vec<Record>, StoreError> {
        let loaded = self.load(scope, &Query::all()).await?;
        Ok(loaded.records.into_iter().map(|it| it.record).collect())
    }
}

impl<S: Store + ?Sized> StoreExt for S {}
