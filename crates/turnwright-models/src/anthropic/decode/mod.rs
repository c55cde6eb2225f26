//! Decodes messages and streams of events.

mod blocks;
mod event;
mod message_reader;
mod server_error;
mod stop_reason;
mod usage;

#[cfg(test)]
mod tests;

pub(super) use message_reader::{CONTAINER, MessageReader, STOP_SEQUENCE};
