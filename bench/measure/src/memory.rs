//! Memory of this process, as Linux reports it.

use std::error::Error;
use std::fs;

/// Returns the resident memory, in KiB.
///
/// # Errors
/// Fails if the system does not report it.
pub fn resident_memory_kib() -> Result<u64, Box<dyn Error>> {
    status("VmRSS:")
}

/// Returns the peak resident memory, in KiB.
///
/// # Errors
/// Fails if the system does not report it.
pub fn peak_memory_kib() -> Result<u64, Box<dyn Error>> {
    status("VmHWM:")
}

fn status(name: &str) -> Result<u64, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    let number = number.ok_or("this system does not report the memory of a process")?;
    Ok(number.parse()?)
}
