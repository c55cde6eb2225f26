//! Decodes responses: the events of a stream, or a body.

mod entries;
mod item;
mod items;
mod open_call;
mod places;
mod reader;
mod streamed_text;

#[cfg(test)]
mod tests;

pub(super) use reader::EventReader;

/// The keys of what is attached to a block of text: the fields of its message, on its first block.
pub(super) const MESSAGE: &str = "message";
/// Marks a further block of the same message.
pub(super) const MORE: &str = "more";
/// Marks a block that is a refusal.
pub(super) const REFUSAL: &str = "refusal";
pub(super) const ANNOTATIONS: &str = "annotations";
/// The keys of what is attached to a block of reasoning: the lengths of its parts.
pub(super) const SUMMARY: &str = "summary";
pub(super) const CONTENT: &str = "content";
pub(super) const ENCRYPTED_CONTENT: &str = "encrypted_content";
/// The key of the id of a stored response, in the state of the response.
pub(super) const RESPONSE_ID: &str = "response_id";
