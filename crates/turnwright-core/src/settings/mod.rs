//! Settings of a runner or a turn: instructions, [`ModelSettings`] and the [`Budget`].
//!
//! Set them on the runner for every turn, or on a [`TurnInput`](crate::TurnInput) for one turn. Values of the turn take
//! precedence over the runner, and those of the runner over the defaults of the model, field by field.
//!
//! ```
//! use std::time::Duration;
//! use turnwright_core::{Budget, DispatchContext, ModelSettings, TurnInput};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
//! // Any executor can read them; the models in `turnwright-models` send them to their servers.
//! let runner = turnwright_core::runner(|ctx: DispatchContext| async move {
//!     let (instructions, settings) = (ctx.instructions().unwrap_or_default(), ctx.settings());
//!     ctx.answer(format!("{instructions} {:?} {:?}", settings.temperature, settings.seed)).await?;
//!     Ok(())
//! })
//! .instructions("Be brief.")
//! .settings(ModelSettings::new().temperature(0.2).seed(7))
//! .budget(Budget::new().tokens(50_000).tool_calls(20).time(Duration::from_secs(120)))
//! .build()?;
//! let input = TurnInput::new("Hello").settings(ModelSettings::new().temperature(0.9));
//! assert_eq!(runner.run(input).await.text, "Be brief. Some(0.9) Some(7)");
//! # Ok::<(), turnwright_core::Error>(()) }).unwrap();
//! ```

mod budget;
mod choice;
mod model;
mod turn;

#[cfg(test)]
mod tests;

pub use budget::Budget;
pub use choice::{ReasoningEffort, ToolChoice};
pub use model::ModelSettings;

pub(crate) use turn::TurnSettings;
