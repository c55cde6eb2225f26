//! What this process has used.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Processor time of all threads, in the program and in the system.
pub(crate) fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID);
    now.map(Duration::from).expect("every Linux has this clock")
}
