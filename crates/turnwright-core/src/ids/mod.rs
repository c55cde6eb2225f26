//! Ids of records and calls.

mod call;

use uuid::Uuid;

pub(crate) use call::{CALL_ID_LEN, CallIds, Id};

/// Returns a new id: a UUID version 7, greater than all ids that this process generated before.
#[must_use]
pub fn new_id() -> String {
    Uuid::now_v7().to_string()
}

#[cfg(test)]
mod tests;
