//! Reproducible random moments.

use std::time::Duration;

use crate::say;

pub(crate) struct Random(fastrand::Rng);

impl Random {
    /// Uses `TURNWRIGHT_SEED`, or a new seed, which it prints.
    pub(crate) fn new() -> Self {
        let configured = std::env::var("TURNWRIGHT_SEED").ok();
        let seed = configured.map_or_else(|| fastrand::u64(..), |seed| seed.parse().unwrap());
        say(format!("TURNWRIGHT_SEED={seed}"));
        Random(fastrand::Rng::with_seed(seed))
    }

    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        self.0.u32(..bound)
    }

    pub(crate) fn within(&mut self, complete: Duration) -> Duration {
        let micros = u32::try_from(complete.as_micros()).unwrap();
        Duration::from_micros(self.below(micros.max(1)).into())
    }
}
