//! Tests that a tool enforces the schema that the model sees.
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
//! [`fuzz`] generates values from the published document: values that must be accepted, and values that are broken in
//! exactly one location. The former must pass the check, unchanged except for defaults, and deserialise into the
//! argument type of a typed tool. The latter must be rejected with a fault at the broken location (or at the
//! enclosing union). The handler is never run.
//!
//! The typical finding is a type that accepts less than its schema promises: a `#[serde(try_from = …)]` with a rule
//! that is missing in the schema, or a `#[schemars(with = …)]` that describes another type.
//!
//! The expected verdict comes from [`boon`](https://docs.rs/boon), a validator that shares no code with the check.
//! Where JSON Schema validators disagree (pattern dialects, rare texts of a format, decimal fractions), there is no
//! expected verdict: a value that should be accepted is then kept if the schema accepts it, and counted as "by
//! trial"; a broken one is dropped. The report lists every keyword that got no accepted or no broken values, with the
//! reason.

mod coverage;
mod document;
mod finding;
mod format;
mod generator;
mod mutation;
mod pattern;
mod repair;
mod report;
mod run;
mod shrink;
mod validator;

#[cfg(test)]
mod tests;

use turnwright_core::Tool;

pub use finding::{Finding, FindingKind};
pub use report::{Failure, KeywordCount, Report, Skipped};

/// Tests a tool's contract with the default number of cases and the default seed.
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
/// Panics if the contract does not hold, or if fewer than a third of the values were accepted. The message has the
/// value, the location, what happened and what to change. [`Fuzz::run`] returns an error instead.
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

/// A fuzz run with options.
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
    /// Creates a run with 1,000 cases and a fixed seed.
    pub fn new() -> Self {
        Self {
            cases: 1_000,
            seed: 0x7475_726e,
        }
    }

    /// Sets the number of values to generate. For each accepted value a broken one is generated. Default: 1,000.
    #[must_use]
    pub fn cases(mut self, cases: usize) -> Self {
        self.cases = cases;
        self
    }

    /// Sets the random seed. The same seed generates the same values.
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Tests the contract.
    ///
    /// # Errors
    ///
    /// Fails if the contract does not hold, or if fewer than a third of the values were accepted.
    pub fn run(&self, tool: &Tool) -> Result<Report, Failure> {
        let report = run::run(tool, self.cases, self.seed);
        if report.is_ok() {
            return Ok(report);
        }
        let report = Box::new(report);
        Err(Failure { report })
    }
}

impl Default for Fuzz {
    fn default() -> Self {
        Self::new()
    }
}
