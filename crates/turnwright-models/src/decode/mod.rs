//! Decodes responses of model servers: bytes to [`Delta`]s, and deltas to a [`Reply`]. Independent of the network.
//!
//! [`Protocol::decode`](crate::Protocol::decode) decodes a complete response, and
//! [`Protocol::decoder`](crate::Protocol::decoder) one that arrives in pieces:
//!
//! ```
//! use turnwright_models::Protocol;
//! use turnwright_models::decode::Collector;
//!
//! let mut decoder = Protocol::Anthropic.decoder(Some("text/event-stream"));
//! let (mut collector, mut deltas) = (Collector::new(), Vec::new());
//! for piece in [
//!     "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_",
//!     "block\":{\"type\":\"text\",\"text\":\"Hello\"}}\n\n",
//! ] {
//!     decoder.push(piece.as_bytes(), &mut deltas)?;
//!     collector.extend(deltas.drain(..));
//! }
//! assert_eq!(collector.partial().text, "Hello");
//! assert!(!collector.partial().is_complete());
//! # Ok::<(), turnwright_core::Error>(())
//! ```
//!
//! Servers differ, and the decoder accepts all common variants: a stream or a body, any line ending, comments, a
//! missing end mark, a wrong content type. A response that does not follow its protocol is an error that quotes its
//! beginning and names the protocol that it looks like.

mod collector;
mod decoder;
mod delta;
mod extent;
mod fields;
mod finish;
mod format;
mod lenient;
mod lines;
mod reply;
mod server_error;
pub(crate) mod sse;
mod usage;

pub use collector::Collector;
pub(crate) use decoder::FrameReader;
pub use decoder::{Decoder, MAX_BODY};
pub use delta::Delta;
pub(crate) use delta::{cited, provider_content, provider_tier};
pub(crate) use extent::Extent;
pub(crate) use fields::Fields;
pub use finish::{Cut, Finish};
pub(crate) use format::Framing;
pub(crate) use lenient::{Any, Field, Object, parse};
pub use reply::{Reply, ReplyCall};
pub use server_error::error_message;
pub(crate) use server_error::{
    EXCERPT, at_most, excerpt, looks_like, reported, too_large, unreadable, wrong_protocol,
};
pub use usage::ReportedUsage;
pub(crate) use usage::count;
