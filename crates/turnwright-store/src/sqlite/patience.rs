//! Waiting for a lock that another connection holds.

use std::thread;
use std::time::{Duration, Instant};

use super::failure::{Failure, is_busy};

/// The longest nap. SQLite's own grow to a tenth of a second, in which a busy writer lets go of its lock a hundred times
/// and is never caught at it.
const NAP: Duration = Duration::from_millis(3);

/// Tries until it is done, fails for another reason than a lock, or the time is over.
pub(super) fn patiently<T>(
    most: Duration,
    mut work: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let begun = Instant::now();
    let mut nap = Duration::from_micros(50);
    loop {
        match work() {
            Err(Failure::Sql(error)) if is_busy(&error) && begun.elapsed() < most => {
                thread::sleep(nap);
                nap = (nap * 2).min(NAP);
            }
            done => return done,
        }
    }
}
