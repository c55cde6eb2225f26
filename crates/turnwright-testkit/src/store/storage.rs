//! Storages for tests.

use std::sync::Arc;

use turnwright_core::Storage;
use turnwright_core::spool::{MemorySpool, Spool};
use turnwright_core::store::Store;
use turnwright_core::trust::ConversationSecret;

/// The secret of these storages.
const SECRET: [u8; 32] = [7; 32];

/// Creates a storage from a store: with the store's own spool if it has one, otherwise in memory, and with a fixed
/// secret.
///
/// ```
/// use turnwright_core::store::MemoryStore;
/// use turnwright_testkit::store::storage_of;
///
/// let store = MemoryStore::default();
/// let storage = storage_of(store.clone());
/// assert!(!storage.is_persistent());
/// ```
///
/// # Panics
/// Panics if the store and its spool do not fit together: see [`Storage::new`].
pub fn storage_of(store: impl Store + 'static) -> Storage {
    let spool = store.spool();
    let spool = spool.unwrap_or_else(|| Arc::new(MemorySpool::transient()));
    built(store, spool)
}

/// Like [`storage_of`], with another spool, for a store that has none.
///
/// # Panics
/// See [`storage_of`].
pub fn storage_with(store: impl Store + 'static, spool: impl Spool + 'static) -> Storage {
    built(store, Arc::new(spool))
}

#[expect(clippy::panic, reason = "documented: fails the test")]
fn built(store: impl Store + 'static, spool: Arc<dyn Spool>) -> Storage {
    let secret = ConversationSecret::from_bytes(SECRET);
    match Storage::new(store, spool, secret) {
        Ok(storage) => storage,
        Err(error) => panic!("{error}"),
    }
}
