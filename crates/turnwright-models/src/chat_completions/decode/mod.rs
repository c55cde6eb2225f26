//! What a response of the Chat Completions protocol says: bytes to [`Delta`]s, and those to a [`Reply`]. Nothing here
//! knows of the network.
//!
//! Servers differ. A stream or a body, any line ending, comments, no `[DONE]`; calls without an index or an id, in pieces
//! or at once, with arguments that are an object; content in parts; thoughts under several names; usage wherever: all of
//! that is read. What is not of the protocol at all is an error that says what came.
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
//! assert!(reply.is_whole());
//! # Ok::<(), turnwright_core::Error>(())
//! ```

mod chunk;
mod collect;
mod complaint;
mod counts;
mod decoder;
mod delta;
mod details;
mod reader;
mod reply;
mod shape;
mod slots;
mod sniff;

#[cfg(test)]
mod tests;

use turnwright_core::Error;

pub use collect::Collector;
pub use complaint::error_message;
pub(super) use complaint::shown;
pub use decoder::{Decoder, MAX_BODY};
pub use delta::{Delta, ReasoningField};
pub use reply::{Cut, Reply, ReplyCall};

/// What a response says whose body is all there.
///
/// # Errors
/// As for [`Decoder::push`].
pub fn decode(content_type: Option<&str>, body: &[u8]) -> Result<Reply, Error> {
    let mut decoder = Decoder::new(content_type);
    let mut collector = Collector::new();
    let mut deltas = Vec::new();
    // In slices: the pieces of a long stream need not all be there at once.
    for bytes in body.chunks(64 * 1024) {
        decoder.push(bytes, &mut deltas)?;
        collector.extend(deltas.drain(..));
    }
    decoder.finish(&mut deltas)?;
    collector.extend(deltas);
    Ok(collector.into_reply())
}
