//! Checksums: SHA-256 of canonical JSON.
//!
//! The checksum of a call identifies the request. Equal calls have equal checksums, on every machine and after every retry.
//!
//! ```
//! use turnwright_core::call::checksum;
//!
//! assert_eq!(checksum("find", r#"{"b": 1, "a": 2}"#), checksum("find", r#"{"a":2,"b":1}"#));
//! ```

pub(crate) mod canonical;
mod idempotency_key;
mod tool_call;

pub use tool_call::{checksum, digest_of};

pub(crate) use canonical::{HashSink, Hex, Sink};
pub(crate) use idempotency_key::idempotency_key;
pub(crate) use tool_call::{of_raw, of_unread, of_value};
