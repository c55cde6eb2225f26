//! What a turn does with its state: stores records, keeps its lease, waits at gates, stops.

mod lease;
mod log;
mod media;
mod records;
mod replay;
mod state;
mod stop;
mod wait;

pub(crate) use records::{apply_once, in_time};
pub(crate) use wait::{Asked, REJECTED};
