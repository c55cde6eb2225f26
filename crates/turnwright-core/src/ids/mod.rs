//! Ids of records and calls.

mod call;

use std::time::{SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;
use uuid::{Builder, Uuid};

pub(crate) use call::{CallIds, Id};

/// A new id: a UUID of version 7, which is greater than all that this process made before.
#[must_use]
pub fn new_id() -> String {
    new_uuid().to_string()
}

/// A new UUID of version 7, greater than all that this process made before.
pub(crate) fn new_uuid() -> Uuid {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.map_or(0, |it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX));
    // Where there is no randomness, let those say so who know best.
    IDS.lock().next(millis).unwrap_or_else(Uuid::now_v7)
}

static IDS: Mutex<Ids> = Mutex::new(Ids {
    millis: 0,
    last: 0,
    random: [0; STOCK],
    used: STOCK,
});

/// How many random bytes are asked for at once: asking costs far more than the bytes.
const STOCK: usize = 512;

struct Ids {
    /// The time of the last id. It does not go back where the clock does.
    millis: u64,
    last: u128,
    random: [u8; STOCK],
    used: usize,
}

impl Ids {
    fn next(&mut self, millis: u64) -> Option<Uuid> {
        if millis > self.millis {
            let mut random: [u8; 10] = self.random()?;
            // The bytes from the third on are counted up within a millisecond: with the uppermost bit after those of the
            // variant unset there is room for that.
            if let Some(third) = random.get_mut(2) {
                *third &= 0b0001_1111;
            }
            let id = Builder::from_unix_timestamp_millis(millis, &random).into_uuid();
            (self.millis, self.last) = (millis, id.as_u128());
        } else {
            // By a random step: what is made next cannot be told from what was made last.
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
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn ids_are_of_version_7_and_grow_across_threads() {
        let made = || -> Vec<String> { (0..2_000).map(|_| new_id()).collect() };
        let threads: Vec<_> = (0..4).map(|_| std::thread::spawn(made)).collect();
        let lists = threads.into_iter().map(|it| it.join().unwrap());
        let mut all = HashSet::new();
        for list in lists {
            assert!(list.is_sorted());
            for id in list {
                let read = Uuid::parse_str(&id).unwrap();
                let sort = (read.get_version_num(), read.get_variant());
                assert_eq!(sort, (7, uuid::Variant::RFC4122));
                assert!(all.insert(id));
            }
        }
        assert_eq!(all.len(), 8_000);
    }

    #[test]
    fn a_clock_that_goes_back_does_not_take_ids_back() {
        let mut ids = Ids {
            millis: 0,
            last: 0,
            random: [0; STOCK],
            used: STOCK,
        };
        let times = [5, 5, 4, 6, 6, 1];
        let made: Vec<u128> = times
            .iter()
            .map(|at| ids.next(*at).unwrap().as_u128())
            .collect();
        assert!(made.is_sorted_by(|one, next| one < next));
        let millis: Vec<u128> = made.iter().map(|id| id >> 80).collect();
        assert_eq!(millis, [5, 5, 5, 6, 6, 6]);
    }
}
