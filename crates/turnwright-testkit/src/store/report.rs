//! The report of the checks.

use std::fmt;

use super::outcome::{Broken, Outcome};

/// The report of the checks.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The requirements that are met.
    pub passed: Vec<String>,
    /// The requirements that are not met.
    pub broken: Vec<Finding>,
}

/// A requirement that is not met.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The requirement.
    pub requirement: String,
    /// What was observed instead.
    pub observed: String,
}

impl Report {
    /// Returns `true` if every requirement is met.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.broken.is_empty()
    }

    #[expect(
        clippy::panic,
        reason = "documented: a test that calls this is meant to fail here"
    )]
    pub(super) fn expect_ok(self) -> Self {
        if !self.is_ok() {
            panic!("{self}");
        }
        self
    }

    pub(super) fn note(&mut self, requirement: String, outcome: Outcome) {
        match outcome {
            Ok(()) => self.passed.push(requirement),
            Err(Broken(observed)) => self.broken.push(Finding {
                requirement,
                observed,
            }),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (passed, all) = (self.passed.len(), self.passed.len() + self.broken.len());
        write!(f, "the store meets {passed} of {all} requirements")?;
        for Finding {
            requirement,
            observed,
        } in &self.broken
        {
            write!(f, "\n- broken: {requirement}\n  {observed}")?;
        }
        Ok(())
    }
}
