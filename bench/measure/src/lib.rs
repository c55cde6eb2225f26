//! Shared by the benchmarks: command-line options, interleaved timing, process memory, Markdown tables.

mod memory;
mod options;
mod table;
mod timing;

pub use memory::{peak_memory_kib, resident_memory_kib};
pub use options::{Plan, number};
pub use table::{Row, grouped, header, locked, rustc, verdict};
pub use timing::{MEDIAN, MIN, Statistic, Subject, Summary, Timing, Timings, measure};
