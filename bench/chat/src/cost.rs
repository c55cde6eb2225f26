//! Resource usage of this process.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Returns the CPU time of all threads, in user and kernel mode.
pub(crate) fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID);
    // `clock_gettime` fails only for a clock that the system does not have, and Linux always has this one.
    now.map(Duration::from).expect("every Linux has this clock")
}
