//! Turns: from what a user says to an answer, with everything in between.
//!
//! ```text
//! TurnRunner ─ turn-input ─▶ dispatch ─ loop { forge → dispatch-input → Executor → dispatch-output } ─▶ turn-output ─▶ TurnOutcome
//! ```
//!
//! ```
//! use turnwright_core::{DispatchContext, TurnRunner};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! // An executor decides. A model is one; so is this closure.
//! let runner = TurnRunner::builder(|ctx: DispatchContext| async move {
//!     let said = ctx.messages().last().map(|message| message.text().to_uppercase());
//!     ctx.answer(said.unwrap_or_default()).await?;
//!     Ok(())
//! })
//! .build()?;
//! let outcome = runner.run("hello").await;
//! assert_eq!(outcome.into_answer()?, "HELLO");
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```

mod acquire;
mod builder;
mod conversation;
mod handle;
mod input;
mod resume;
mod run_loop;
mod turn_runner;
mod typed;

pub use builder::{IntoTool, TurnRunnerBuilder};
pub use conversation::Conversation;
pub use handle::{Turn, TurnHandle, TurnStream};
pub use input::TurnInput;
pub use turn_runner::TurnRunner;
pub use typed::TypedOutcome;
