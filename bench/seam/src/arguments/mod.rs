//! The two sets of arguments that every subject is called with, and the invalid ones.

mod forecast;
mod order;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub(crate) use self::{forecast::Forecast, order::Order};

/// The arguments of a tool, with samples as a model would write them.
pub(crate) trait Arguments: DeserializeOwned + JsonSchema + Send + Sync + 'static {
    const TOOL: &'static str;
    const DESCRIPTION: &'static str;
    /// The answer of the handler to `VALID`, `COERCED` and `DEFAULTED`.
    const ANSWER: &'static str;

    /// Valid without changes, with all fields.
    const VALID: &'static str;
    /// `VALID` with one number as a string.
    const COERCED: &'static str;
    /// `VALID` without the field that has a default.
    const DEFAULTED: &'static str;
    /// `VALID` with one number above its maximum that still fits into the type.
    const OUT_OF_BOUNDS: &'static str;
    /// `VALID` with one repeated field.
    const DUPLICATE_KEY: &'static str;

    /// The handler of every subject: proves that the arguments arrived, and does nothing else.
    fn answer(self) -> String;
}
