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

mod answer;
mod begin;
mod builder;
mod context;
mod conversation;
mod drive;
mod handle;
mod hold;
mod input;
mod kept;
mod media;
mod outcome;
mod outer;
mod records;
mod resume;
mod runner;
mod setup;
mod state;
mod stop;
mod stream;
mod tasks;
mod typed;

pub use answer::AnswerFormat;
pub use builder::{IntoTool, TurnRunnerBuilder};
pub use context::{TurnContext, WeakTurnContext};
pub use conversation::Conversation;
pub use handle::{Turn, TurnHandle, TurnStream};
pub use input::TurnInput;
pub use outcome::{Ended, TurnOutcome};
pub use runner::TurnRunner;
pub use stop::Limit;
pub use stream::{Delta, TurnEvent};
pub use typed::TypedOutcome;

pub(crate) use context::TurnParts;
pub(crate) use kept::{Seen, Unseen};
pub(crate) use setup::{Setup, setup_methods};
pub(crate) use tasks::Alive;
