//! Prove that a tool keeps its contract: what the model is shown is what the handler gets.
//!
//! ```
//! use turnwright_core::{Tool, ToolContext};
//! use turnwright_testkit::contract;
//!
//! #[derive(serde::Deserialize, schemars::JsonSchema)]
//! struct Args {
//!     /// The city's name.
//!     #[schemars(length(min = 1, max = 80))]
//!     city: String,
//!     #[schemars(range(min = 1, max = 14))]
//!     days: u8,
//! }
//!
//! let tool = Tool::typed::<Args>("get_weather")
//!     .description("The weather of the days to come.")
//!     .handler(|args: Args, _ctx: ToolContext| async move { format!("{} days in {}", args.days, args.city) })
//!     .build()?;
//!
//! let report = contract::fuzz(&tool);
//! assert!(report.per_keyword["maxLength"].broken > 0);
//! # Ok::<(), turnwright_core::Error>(())
//! ```
//!
//! From the published document alone, [`fuzz`] makes values that must be accepted, and values that are broken in exactly
//! one place. The first must pass the check and, for a typed tool, become its argument type; the others must stop at
//! the check with a fault at the broken place (or at the union around it). The handler is never run.
//!
//! The typical find is a type that takes less than its schema promises: a `#[serde(try_from = …)]` with a rule that
//! the schema does not know, a `#[schemars(with = …)]` that says something else than the field is.
//!
//! What may be expected is decided by a small reading of JSON Schema in this module, which says "unknown" where it
//! would have to guess. An accepted value that stays unknown is kept if the schema itself accepts it, and counted as
//! "by trial"; a broken one is dropped. The report names every keyword that got no accepted or no broken values, with
//! the reason.

mod breaking;
mod document;
mod finding;
mod format;
mod generate;
mod judge;
mod number;
mod pattern;
mod place;
mod report;
mod rng;
mod run;
mod shrink;
mod tally;
mod tour;
mod verdict;

#[cfg(test)]
mod tests;

use turnwright_core::Tool;

pub use finding::{Finding, FindingKind};
pub use report::{Failure, KeywordCount, Report, Skipped};

/// Tries a tool's contract with the usual number of values and the usual seed.
///
/// ```
/// # use serde_json::json;
/// # use turnwright_core::{Tool, ToolContext};
/// let tool = Tool::dynamic("roll", json!({
///     "type": "object",
///     "properties": { "sides": { "type": "integer", "minimum": 2, "maximum": 100 } },
///     "required": ["sides"],
///     "additionalProperties": false,
/// }))
/// .description("Rolls one die.")
/// .handler(|args: serde_json::Value, _ctx: ToolContext| async move { args.to_string() })
/// .build()?;
///
/// println!("{}", turnwright_testkit::contract::fuzz(&tool));
/// # Ok::<(), turnwright_core::Error>(())
/// ```
///
/// # Panics
///
/// If the contract does not hold, or if fewer than a third of the values were accepted. The text says which value, at
/// which place, what happened and what to change. [`Fuzz::run`] returns it instead.
#[track_caller]
#[expect(
    clippy::panic,
    reason = "documented: a test that calls this is meant to fail here"
)]
pub fn fuzz(tool: &Tool) -> Report {
    match Fuzz::new().run(tool) {
        Ok(report) => report,
        Err(failure) => panic!("{failure}"),
    }
}

/// A run with options.
///
/// ```
/// # use serde_json::json;
/// # use turnwright_core::{Tool, ToolContext};
/// # let tool = Tool::dynamic("roll", json!({ "type": "object", "additionalProperties": false }))
/// #     .description("Rolls one die.")
/// #     .handler(|args: serde_json::Value, _ctx: ToolContext| async move { args.to_string() })
/// #     .build()?;
/// use turnwright_testkit::contract::Fuzz;
///
/// let report = Fuzz::new().cases(200).seed(7).run(&tool)?;
/// assert_eq!(report.seed, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Fuzz {
    cases: usize,
    seed: u64,
}

impl Fuzz {
    /// 1,000 cases, always the same.
    pub fn new() -> Self {
        Self {
            cases: 1_000,
            seed: 0x7475_726e,
        }
    }

    /// How many values to make; to each that is accepted comes a broken one.
    #[must_use]
    pub fn cases(mut self, cases: usize) -> Self {
        self.cases = cases;
        self
    }

    /// Another seed makes other values; the same seed makes the same.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Tries the contract.
    ///
    /// # Errors
    ///
    /// If something did not hold, or if fewer than a third of the values were accepted.
    pub fn run(&self, tool: &Tool) -> Result<Report, Failure> {
        let report = run::run(tool, self.cases, self.seed);
        if report.is_ok() {
            Ok(report)
        } else {
            Err(Failure::new(report))
        }
    }
}

impl Default for Fuzz {
    fn default() -> Self {
        Self::new()
    }
}
