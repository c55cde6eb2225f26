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
    subject: Subject,
}

/// What was checked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Subject {
    #[default]
    Store,
    #[cfg(feature = "server")]
    Model(&'static str),
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
    #[cfg(feature = "server")]
    pub(crate) fn of(subject: Subject) -> Self {
        Report {
            subject,
            ..Report::default()
        }
    }

    /// Returns `true` if every requirement is met.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.broken.is_empty()
    }

    #[expect(
        clippy::panic,
        reason = "documented: a test that calls this is meant to fail here"
    )]
    pub(crate) fn expect_ok(self) -> Self {
        match self.is_ok() {
            true => self,
            false => panic!("{self}"),
        }
    }

    pub(crate) fn note(&mut self, requirement: String, outcome: Outcome) {
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
        let subject = self.subject;
        write!(f, "{subject} meets {passed} of {all} requirements")?;
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

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Store => f.write_str("the store"),
            #[cfg(feature = "server")]
            Subject::Model(protocol) => write!(f, "the model ({protocol})"),
        }
    }
}
