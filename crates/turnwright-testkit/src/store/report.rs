//! What the checks found.

use std::fmt;

use super::outcome::{Broken, Outcome};

/// What the checks found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The promises that were kept.
    pub passed: Vec<String>,
    /// Those that were broken.
    pub broken: Vec<Finding>,
}

/// A promise that was broken.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The promise.
    pub promise: String,
    /// What was seen instead.
    pub seen: String,
}

impl Report {
    /// Whether every promise was kept.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.broken.is_empty()
    }

    #[expect(
        clippy::panic,
        reason = "documented: a test that calls this is meant to fail here"
    )]
    pub(super) fn expect_ok(self) -> Self {
        match self.is_ok() {
            true => self,
            false => panic!("{self}"),
        }
    }

    pub(super) fn note(&mut self, promise: String, outcome: Outcome) {
        match outcome {
            Ok(()) => self.passed.push(promise),
            Err(Broken(seen)) => self.broken.push(Finding { promise, seen }),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (passed, all) = (self.passed.len(), self.passed.len() + self.broken.len());
        write!(f, "the store keeps {passed} of {all} promises")?;
        for Finding { promise, seen } in &self.broken {
            write!(f, "\n- broken: {promise}\n  {seen}")?;
        }
        Ok(())
    }
}
