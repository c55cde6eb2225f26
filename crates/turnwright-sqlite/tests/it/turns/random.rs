//! Reproducible random moments.

use std::time::{Duration, SystemTime};

use crate::say;

pub(crate) struct Random(u64);

impl Random {
    /// Uses `TURNWRIGHT_SEED`, or a new seed, which it prints.
    pub(crate) fn new() -> Self {
        let configured = std::env::var("TURNWRIGHT_SEED").ok();
        let seed = configured.map_or_else(
            || {
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
                now.unwrap().as_micros() as u64
            },
            |seed| seed.parse().unwrap(),
        );
        say(format!("TURNWRIGHT_SEED={seed}"));
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        // SplitMix64.
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        (self.next() % u64::from(bound)) as u32
    }

    pub(crate) fn within(&mut self, complete: Duration) -> Duration {
        let micros = u32::try_from(complete.as_micros()).unwrap();
        Duration::from_micros(self.below(micros.max(1)).into())
    }
}
