//! Checksums: SHA-256 of canonical JSON.
//!
//! The checksum of a call says what was asked for. Equal calls have equal checksums, on every machine and after every retry.

pub(crate) mod canonical;
mod idempotency_key;
mod tool_call;

pub use tool_call::checksum;

pub(crate) use canonical::{HashSink, Hex, Sink};
pub(crate) use idempotency_key::idempotency_key;
pub(crate) use tool_call::{digest_of, of_raw, of_unread, of_value};
