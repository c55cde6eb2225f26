//! Decodes messages and streams of events.

mod blocks;
mod message_reader;
mod usage;

#[cfg(test)]
mod tests;

pub(super) use message_reader::{CONTAINER, MessageReader};
