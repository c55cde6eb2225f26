//! Records as a model reads them, in an order that a provider's prompt cache holds.
//!
//! The order: what always holds (the system prompt, standing instructions, memories as they were when the turn began), then
//! what happened, as it happened. What arrives during a turn stands where it arrived, and what was once sent is sent again as
//! it was: a [`Transcript`] writes each record once, and each prompt begins with the one before wherever nobody took
//! something away or changed it on purpose.
//!
//! A protocol brings a [`Writer`], which knows what an [`Entry`] looks like on its wire.

mod entry;
mod standing;
mod state;
mod transcript;

#[cfg(test)]
mod tests;

pub use entry::{Entry, ModelResponse};
pub use standing::Standing;
pub use state::ResponseState;
pub use transcript::{Transcript, Writer};
