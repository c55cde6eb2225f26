//! Which leases are of this process.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;

use super::Lease;
use crate::ids::new_id;

/// The numbers of the turns of this process that hold a conversation. A number that is not in the set is gone.
static ALIVE: LazyLock<Mutex<HashSet<u64>>> = LazyLock::new(Mutex::default);
static LAST: AtomicU64 = AtomicU64::new(0);
/// The name of this process, which no other has.
static PROCESS: LazyLock<String> = LazyLock::new(new_id);

/// Who holds a conversation.
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

/// Whether the holder was a turn of this process that is gone: its runtime was shut down while the turn ran.
pub(crate) fn is_gone(lease: &Lease) -> bool {
    let number = lease.owner.strip_prefix(PROCESS.as_str());
    let number = number.and_then(|rest| rest.strip_prefix('-')?.parse().ok());
    number.is_some_and(|number: u64| !ALIVE.lock().contains(&number))
}
