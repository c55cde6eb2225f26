//! The conformance suite for stores, and a store that fails on purpose.
//!
//! [`conformance`] checks every promise of [`Store`] against your implementation, each on a new store:
//!
//! ```
//! use turnwright_core::store::MemoryStore;
//! use turnwright_testkit::store::conformance;
//!
//! // In your project: #[tokio::test]
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! conformance(async || MemoryStore::default()).await;
//! # });
//! ```
//!
//! [`damage_conformance`] checks what it does with a record that it cannot read.
//!
//! [`FailingStore`] wraps a store and fails on request. [`storage_of`] makes a storage of a store, for a runner.

mod chat;
mod checks;
mod damage;
mod failing;
mod outcome;
mod report;
mod sample;
mod storage;

use std::sync::Arc;

use turnwright_core::store::Store;

use chat::Chat;
pub use damage::damage_conformance;
pub use failing::{Fail, Failing, FailingStore};
pub use report::{Finding, Report};
pub use storage::{storage_of, storage_with};

/// Runs all checks against a store: `make` gives a fresh, empty one for each. Must run inside of a Tokio runtime; some
/// checks write from several threads at once.
///
/// The store need not know a spool for it: the artifacts in the records that are written are small enough to be kept within
/// them.
///
/// # Panics
///
/// If the store breaks a promise. The text names each that was broken, and what was seen instead. [`try_conformance`] returns
/// it.
pub async fn conformance<S: Store + 'static>(make: impl AsyncFn() -> S) -> Report {
    try_conformance(make).await.expect_ok()
}

/// Runs all checks against a store, and says what came of it: see [`conformance`].
pub async fn try_conformance<S: Store + 'static>(make: impl AsyncFn() -> S) -> Report {
    let mut report = Report::default();
    for check in checks::ALL {
        let chat = Chat::new(Arc::new(make().await), "s");
        report.note(check.promise.to_owned(), (check.run)(chat).await);
    }
    report
}
