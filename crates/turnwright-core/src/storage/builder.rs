//! Builds a storage.

use std::fmt;
use std::sync::Arc;

use super::Storage;
use crate::error::{Error, ErrorCode};
use crate::spool::Spool;
use crate::store::Store;
use crate::trust::ConversationSecret;

/// Builds a [`Storage`] and checks that the store, the spool and the secret fit together. See [`Storage::builder`].
///
/// ```
/// use std::sync::Arc;
/// use turnwright_core::Storage;
/// use turnwright_core::spool::MemorySpool;
/// use turnwright_core::store::MemoryStore;
/// use turnwright_core::trust::ConversationSecret;
///
/// let secret = ConversationSecret::from_bytes([7; 32]);
/// let storage = Storage::builder(MemoryStore::default(), Arc::new(MemorySpool::default()), secret).build()?;
/// assert!(!storage.is_persistent());
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[must_use = "a builder does nothing until `build` is called"]
pub struct StorageBuilder {
    store: Arc<dyn Store>,
    spool: Arc<dyn Spool>,
    secret: ConversationSecret,
}

impl StorageBuilder {
    pub(super) fn new(
        store: Arc<dyn Store>,
        spool: Arc<dyn Spool>,
        secret: ConversationSecret,
    ) -> Self {
        StorageBuilder {
            store,
            spool,
            secret,
        }
    }

    /// Builds the storage.
    ///
    /// # Errors
    /// Returns `E_INVALID_STORAGE` if the store reads results from another spool ([`Store::spool`]), or if it is persistent and
    /// the spool is not.
    pub fn build(self) -> Result<Storage, Error> {
        let own = self.store.spool();
        if let Some(own) = &own
            && !is_same(own, &self.spool)
        {
            return Err(invalid(
                "the store reads results from a spool of its own, and this is another one: pass the `Arc` that the store \
                 was made with, which `store.spool()` returns",
            ));
        }
        if self.store.is_persistent() && !self.spool.is_persistent() {
            return Err(invalid(match own {
                Some(_) => {
                    "the store is persistent but its spool is not, so results would be lost on restart: open the store with \
                     a persistent spool, such as `DiskSpool::open(\"results\").await?`"
                }
                None => {
                    "the store is persistent but the spool is not, so results would be lost on restart: pass a persistent \
                     spool, such as `DiskSpool::open(\"results\").await?`, and make the store with the same one"
                }
            }));
        }
        Ok(Storage {
            store: self.store,
            spool: self.spool,
            secret: Some(self.secret),
            live: Arc::default(),
        })
    }
}

/// Returns whether both are the same value. The vtable may differ between crates, so only the address is compared.
fn is_same(own: &Arc<dyn Spool>, given: &Arc<dyn Spool>) -> bool {
    std::ptr::addr_eq(Arc::as_ptr(own), Arc::as_ptr(given))
}

fn invalid(why: &str) -> Error {
    Error::new(
        ErrorCode::INVALID_STORAGE,
        format!("invalid storage: {why}"),
    )
}

impl fmt::Debug for StorageBuilder {
    /// Omits the secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StorageBuilder").finish_non_exhaustive()
    }
}
