//! Identifies the leases of this process.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;

use super::Lease;
use crate::ids::new_id;

/// The numbers of the turns of this process that hold a lease. A turn whose number is not in the set is gone.
static ALIVE: LazyLock<Mutex<HashSet<u64>>> = LazyLock::new(Mutex::default);
static LAST: AtomicU64 = AtomicU64::new(0);
/// The unique name of this process.
static PROCESS: LazyLock<String> = LazyLock::new(new_id);

/// The holder of a lease.
pub(crate) struct Owner(u64);

impl Owner {
    pub(crate) fn new() -> Self {
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        ALIVE.lock().insert(number);
        Owner(number)
    }

    pub(crate) fn name(&self) -> Arc<str> {
        format!("{}-{}", *PROCESS, self.0).into()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        ALIVE.lock().remove(&self.0);
    }
}

/// Returns whether the holder was a turn of this process that is gone, because its runtime was shut down during the turn.
pub(crate) fn is_gone(lease: &Lease) -> bool {
    let number = lease.owner.strip_prefix(PROCESS.as_str());
    let number = number.and_then(|rest| rest.strip_prefix('-')?.parse().ok());
    number.is_some_and(|number: u64| !ALIVE.lock().contains(&number))
}
