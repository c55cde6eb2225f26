//! Runs turns, from user input to answer.
//!
//! ```text
//! TurnRunner ─ history ─ turn-input ─▶ dispatch ─ loop { artifact tools → dispatch-input → Executor → dispatch-output } ─▶ turn-output ─▶ TurnOutcome
//! ```
//!
//! ```
//! use turnwright_core::{DispatchContext, Message};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! // An executor decides. A model is an executor, and so is this closure.
//! let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
//!     let said = ctx.records().all::<Message>().last().map(|message| message.text().to_uppercase());
//!     ctx.answer(said.unwrap_or_default()).await?;
//!     Ok(())
//! })
//! .build()?;
//! let outcome = runner.run("hello").await;
//! assert_eq!(outcome.into_answer()?, "HELLO");
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```

mod acquire;
mod answer_gate;
mod answers;
mod attach;
mod builder;
mod conversation;
mod follow;
mod history;
mod input;
mod partial_answers;
mod resume;
mod run_loop;
mod stored_turn;
mod turn;
mod turn_runner;

pub use crate::answer::AnswerFormat;
pub use crate::event::TurnStream;
pub use crate::outcome::{Limit, TurnHeld, TurnOutcome, TurnStatus};
pub use builder::{TurnRunnerBuilder, runner};
pub use conversation::Conversation;
pub use history::History;
pub use input::{ResumeInput, TurnInput};
pub use partial_answers::PartialAnswers;
pub use turn::Turn;
pub use turn_runner::TurnRunner;
