//! Ids of records and calls.

mod call;

use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use uuid::{Builder, Uuid};

pub(crate) use call::{CALL_ID_LEN, CallIds, Id};

/// Returns a new id: a UUID version 7, greater than all ids that this process generated before.
#[must_use]
pub fn new_id() -> String {
    new_uuid().to_string()
}

/// Returns a new UUID version 7, greater than all that this process generated before.
pub(crate) fn new_uuid() -> Uuid {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    });
    // Without a random source, fall back to the implementation of the `uuid` crate.
    IDS.lock().next(millis).unwrap_or_else(Uuid::now_v7)
}

static IDS: Mutex<Ids> = Mutex::new(Ids {
    millis: 0,
    last: 0,
    random: [0; STOCK],
    used: STOCK,
});

/// Number of random bytes requested at once. The request costs far more than the bytes.
const STOCK: usize = 512;

struct Ids {
    /// The time of the last id. Does not go back when the clock does.
    millis: u64,
    last: u128,
    random: [u8; STOCK],
    used: usize,
}

impl Ids {
    fn next(&mut self, millis: u64) -> Option<Uuid> {
        if millis > self.millis {
            let mut random: [u8; 10] = self.random()?;
            // The bytes from the third on are incremented within a millisecond. Clearing the uppermost bit after the variant
            // leaves room for that.
            if let Some(third) = random.get_mut(2) {
                *third &= 0b0001_1111;
            }
            let id = Builder::from_unix_timestamp_millis(millis, &random).into_uuid();
            (self.millis, self.last) = (millis, id.as_u128());
        } else {
            // Increment by a random step, so that the next id cannot be predicted from the last one.
            self.last += 1 + u128::from(u32::from_le_bytes(self.random()?));
        }
        Some(Uuid::from_u128(self.last))
    }

    fn random<const COUNT: usize>(&mut self) -> Option<[u8; COUNT]> {
        if STOCK - self.used < COUNT {
            getrandom::fill(&mut self.random).ok()?;
            self.used = 0;
        }
        let bytes = self.random.get(self.used..)?.first_chunk()?;
        self.used += COUNT;
        Some(*bytes)
    }
}

#[cfg(test)]
mod tests;
