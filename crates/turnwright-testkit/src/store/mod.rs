//! The conformance suite for stores, and a store that fails on purpose.
//!
//! [`conformance`] checks every requirement of [`Store`] against your implementation, each on a new store:
//!
//! ```
//! use turnwright_core::store::MemoryStore;
//! use turnwright_testkit::store::conformance;
//!
//! // In your project: #[tokio::test]
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! conformance(async || MemoryStore::default()).await;
//! # });
//! ```
//!
//! [`damage_conformance`] checks how it handles a record that it cannot read.
//!
//! [`FailingStore`] wraps a store and fails on request. [`storage_of`] creates a storage from a store, for a runner.

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
pub use failing::{Fail, FailingStore};
pub use report::{Finding, Report};
pub use storage::{storage_of, storage_with};

/// Runs all checks against a store. `make` returns a new, empty store for each check. Must run inside a Tokio
/// runtime; some checks write from several threads.
///
/// The store does not need a spool: the artifacts in the written records are small enough to be inlined.
///
/// # Panics
///
/// Panics if the store fails a check. The message lists the failed checks, with what was observed.
/// [`try_conformance`] returns the report instead.
pub async fn conformance<S: Store + 'static>(make: impl AsyncFn() -> S) -> Report {
    try_conformance(make).await.expect_ok()
}

/// Runs all checks against a store and returns the report. See [`conformance`].
pub async fn try_conformance<S: Store + 'static>(make: impl AsyncFn() -> S) -> Report {
    let mut report = Report::default();
    for check in checks::ALL {
        let chat = Chat::new(Arc::new(make().await), "s");
        report.note(check.requirement.to_owned(), (check.run)(chat).await);
    }
    report
}
