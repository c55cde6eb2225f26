//! The Gemini API: `generateContent` and `streamGenerateContent`.
//!
//! ```no_run
//! use turnwright_models::Gemini;
//!
//! # async fn run() -> Result<(), turnwright_core::Error> {
//! // The key is in `GEMINI_API_KEY`.
//! let model = Gemini::from_env().model("gemini-2.5-flash").build()?;
//! let runner = turnwright_core::runner(model).build()?;
//! println!("{}", runner.run("What is the capital of France?").await.into_answer()?);
//! # Ok(()) }
//! ```

mod body;
mod codec;
mod contents;
mod decode;
mod options;

#[cfg(test)]
mod tests;

pub use codec::GeminiCodec;

use crate::engine::Model;

/// The name of the protocol. Used for its [`Options`] in
/// [`ModelSettings::provider`](turnwright_core::ModelSettings::provider), and for its state in records.
pub const PROTOCOL: &str = "gemini";

/// An executor for a Gemini model.
pub type Gemini = Model<GeminiCodec>;

/// Parameters of a request that only Gemini has.
pub type Options = crate::Options<GeminiCodec>;

/// The field with the signature of a part.
const SIGNATURE: &str = "thoughtSignature";
