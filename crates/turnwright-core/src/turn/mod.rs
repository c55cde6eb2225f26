//! Operations of a turn: storing records, holding the lease, waiting at gates, stopping.

mod budget;
mod lease;
mod log;
mod media;
mod settings;
mod state;
mod stop;
mod suspend;
mod wait;
mod watch_answers;
mod write;

pub(crate) use wait::Asked;
pub(crate) use write::{apply_once, in_time};
