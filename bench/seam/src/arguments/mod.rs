//! The two sets of arguments that every subject is called with, and what is wrong with the ones that should be refused.

mod forecast;
mod order;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

pub(crate) use self::{forecast::Forecast, order::Order};

/// What a tool takes, with samples of it as a model would write them.
pub(crate) trait Arguments: DeserializeOwned + JsonSchema + Send + Sync + 'static {
    const TOOL: &'static str;
    const DESCRIPTION: &'static str;
    /// What the handler answers to `VALID`, `COERCED` and `DEFAULTED`.
    const ANSWER: &'static str;

    /// Valid as it comes, nothing left out.
    const VALID: &'static str;
    /// `VALID` with one number given as text.
    const COERCED: &'static str;
    /// `VALID` without the field that has a default.
    const DEFAULTED: &'static str;
    /// `VALID` with one number above its maximum, which the type could still hold.
    const OUT_OF_BOUNDS: &'static str;
    /// `VALID` with one field given twice.
    const DUPLICATE_KEY: &'static str;

    /// The handler of every subject: proves that the arguments arrived, and does nothing else.
    fn answer(self) -> String;
}
