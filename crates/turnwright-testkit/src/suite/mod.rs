//! What conformance suites share: the outcome of a check, and the report.

mod outcome;
mod report;

pub(crate) use outcome::{Broken, Outcome, ensure, same};
#[cfg(feature = "server")]
pub(crate) use report::Subject;
pub use report::{Finding, Report};
