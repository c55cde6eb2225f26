//! What this process has used.

use std::error::Error;
use std::fs;
use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// Processor time of all threads, in the program and in the system.
pub(crate) fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID);
    now.map(Duration::from).expect("every Linux has this clock")
}

/// The most memory that was resident at once so far, in KiB.
pub(crate) fn peak_memory() -> Result<u64, Box<dyn Error>> {
    of_status("VmHWM:")
}

/// Resident memory, in KiB.
pub(crate) fn memory() -> Result<u64, Box<dyn Error>> {
    of_status("VmRSS:")
}

fn of_status(name: &str) -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    let number = number.ok_or("this system does not say how much memory is held")?;
    Ok(number.parse()?)
}
