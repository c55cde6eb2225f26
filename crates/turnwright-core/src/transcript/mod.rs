//! Records as the parts of a prompt, in an order that a provider's prompt cache holds.
//!
//! The order: what always holds (the system prompt, standing instructions, memories as they were when the turn began), then
//! what happened, as it happened. What arrives during a turn stands where it arrived: an instruction that changes after a tool
//! result follows that result. What was once sent is sent again as it was: a [`Transcript`] writes each record once, and each
//! prompt begins with the one before wherever nobody took something away or changed it on purpose.
//!
//! A protocol brings a [`Writer`], which knows what an [`Entry`] looks like on its wire:
//!
//! ```
//! use turnwright_core::{DispatchContext, Error, Message};
//! use turnwright_core::transcript::{Entry, Standing, Transcript, Writer};
//!
//! struct Plain;
//!
//! impl Writer for Plain {
//!     type Wire = String;
//!
//!     fn protocol(&self) -> &str {
//!         "plain"
//!     }
//!
//!     fn standing(&mut self, standing: &Standing) -> Result<Vec<String>, Error> {
//!         Ok(vec![standing.text()])
//!     }
//!
//!     async fn entry(&mut self, entry: &Entry) -> Result<Vec<String>, Error> {
//!         Ok(match entry {
//!             Entry::Message(said) => vec![format!("> {}", said.text())],
//!             _ => Vec::new(),
//!         })
//!     }
//!
//!     fn again(&mut self, _wire: &[String]) {}
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
//! let ctx = DispatchContext::standalone();
//! ctx.records().add(Message::user("Hello").build()?);
//! let mut transcript = Transcript::default();
//! let system = || Standing::new("Be brief.").explain_fences(false);
//! transcript.update(&ctx.records().timeline(), system, &mut Plain).await?;
//! assert_eq!(transcript.messages().collect::<Vec<_>>(), ["Be brief.", "> Hello"]);
//! # Ok::<(), Error>(()) }).unwrap();
//! ```

mod entry;
mod prompt;
mod standing;
mod state;

#[cfg(test)]
mod tests;

pub use entry::{Entry, ModelResponse};
pub use prompt::{Transcript, Writer};
pub use standing::{Standing, indented};
pub use state::ResponseState;
