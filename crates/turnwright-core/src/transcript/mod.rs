//! Turns records into a prompt that keeps a provider's prompt cache valid.
//!
//! A prompt starts with what is constant: the system prompt, standing instructions, and memories as of the start of the turn. The
//! history follows in order. Changes during a turn appear where they happened: an instruction that changes after a tool result
//! follows that result. A [`Transcript`] renders each record once and sends it unchanged afterwards. So each prompt starts with
//! the previous one, unless records were removed or changed on purpose.
//!
//! A protocol implements [`Writer`], which renders an [`Entry`] for its wire format:
//!
//! ```
//! use turnwright_core::{DispatchContext, Error, Message};
//! use turnwright_core::transcript::{Entry, SystemPrompt, Transcript, Writer};
//!
//! struct Plain;
//!
//! impl Writer for Plain {
//!     type Wire = String;
//!
//!     fn system_prompt(&mut self, system: &SystemPrompt) -> Result<Vec<String>, Error> {
//!         Ok(vec![system.text()])
//!     }
//!
//!     async fn entry(&mut self, entry: &Entry) -> Result<Vec<String>, Error> {
//!         Ok(match entry {
//!             Entry::Message(message) => vec![format!("> {}", message.text())],
//!             _ => Vec::new(),
//!         })
//!     }
//!
//!     fn reuse(&mut self, _wire: &[String]) {}
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! let ctx = DispatchContext::standalone();
//! ctx.records().add(Message::user("Hello").build()?);
//! let mut transcript = Transcript::default();
//! let system = || SystemPrompt::new("Be brief.").explain_envelopes(false);
//! transcript.update(&ctx.records().timeline(), system, &mut Plain).await?;
//! assert_eq!(transcript.messages().collect::<Vec<_>>(), ["Be brief.", "> Hello"]);
//! # Ok::<(), Error>(()) }).unwrap();
//! ```

mod entry;
mod prompt;
mod system_prompt;

#[cfg(test)]
mod tests;

pub use entry::{Entry, ModelResponse};
pub(crate) use entry::{Grouped, group};
pub use prompt::{Transcript, Writer};
pub use system_prompt::{SystemPrompt, indented};
