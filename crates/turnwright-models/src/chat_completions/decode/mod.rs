//! Decodes responses of the Chat Completions protocol: bytes to [`Delta`]s, and deltas to a [`Reply`]. This module
//! does not use the network.
//!
//! Servers differ, and the decoder accepts all common variants: a stream or a body; any line ending; comments; no
//! `[DONE]`; calls without an index or an id, in pieces or complete, with arguments as an object; content in parts;
//! reasoning under several names; usage in any chunk. A response that does not follow the protocol is an error that
//! quotes its beginning.
//!
//! ```
//! use turnwright_models::chat_completions::decode::decode;
//!
//! let stream = concat!(
//!     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n",
//!     "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},\"finish_reason\":\"stop\"}]}\n\n",
//!     "data: [DONE]\n\n",
//! );
//! let reply = decode(Some("text/event-stream"), stream.as_bytes())?;
//! assert_eq!(reply.text, "Hello");
//! assert!(reply.is_complete());
//! # Ok::<(), turnwright_core::Error>(())
//! ```

mod call_matching;
mod chunk;
mod chunk_reader;
mod collector;
mod content;
mod decoder;
mod delta;
mod format;
mod lenient;
mod reasoning_details;
mod reply;
mod server_error;
mod usage;

#[cfg(test)]
mod tests;

use turnwright_core::Error;

pub use collector::Collector;
pub use decoder::{Decoder, MAX_BODY};
pub use delta::{Delta, ReasoningField};
pub(super) use reply::neutral;
pub use reply::{Cut, Reply, ReplyCall};
pub use server_error::error_message;
pub(super) use server_error::excerpt;

/// Decodes a complete response.
///
/// # Errors
/// Like [`Decoder::push`] and [`Decoder::finish`].
pub fn decode(content_type: Option<&str>, body: &[u8]) -> Result<Reply, Error> {
    let mut decoder = Decoder::new(content_type);
    let mut collector = Collector::new();
    let mut deltas = Vec::new();
    // In slices, so that the deltas of a long stream are not all in memory at once.
    for bytes in body.chunks(64 * 1024) {
        decoder.push(bytes, &mut deltas)?;
        collector.extend(deltas.drain(..));
    }
    decoder.finish(&mut deltas)?;
    collector.extend(deltas);
    Ok(collector.into_reply())
}
