//! Retries while another connection holds a lock.

use std::thread;
use std::time::{Duration, Instant};

use super::error::Failure;

/// The maximum pause. SQLite's own pauses grow to 100 ms, in which a busy writer releases and takes its lock a
/// hundred times.
const MAX_PAUSE: Duration = Duration::from_millis(3);

/// Repeats `work` while it fails because of a lock, until the timeout.
pub(super) fn retry_while_busy<T>(
    timeout: Duration,
    mut work: impl FnMut() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let begun = Instant::now();
    let mut pause = Duration::from_micros(50);
    loop {
        match work() {
            Err(failure) if failure.is_busy() && begun.elapsed() < timeout => {
                thread::sleep(pause);
                pause = (pause * 2).min(MAX_PAUSE);
            }
            done => return done,
        }
    }
}
