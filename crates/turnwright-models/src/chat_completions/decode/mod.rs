//! Decodes chunks of the Chat Completions protocol.
//!
//! Servers differ, and the decoder accepts all common variants: no `[DONE]`; calls without an index or an id, in pieces
//! or complete, with arguments as an object; content in parts; reasoning under several names; usage in any chunk.

mod call_matching;
mod chunk;
mod chunk_reader;
mod content;
mod finish_reason;
mod reasoning;
mod reasoning_details;
mod usage;

#[cfg(test)]
mod tests;

pub(super) use chunk_reader::ChunkReader;
pub(super) use reasoning::{DETAILS, FIELD, REASONING_CONTENT, THINKING};
