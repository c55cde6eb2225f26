//! What the checks found.

use std::fmt;

use super::outcome::Broken;

/// What the checks found.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Report {
    /// The promises that were kept.
    pub kept: Vec<&'static str>,
    /// Those that were broken.
    pub broken: Vec<Finding>,
}

/// A promise that was broken.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// The promise.
    pub promise: &'static str,
    /// What was seen instead.
    pub seen: String,
}

impl Report {
    /// Whether every promise was kept.
    #[must_use]
    pub fn is_ok(&self) -> bool {
        self.broken.is_empty()
    }

    pub(super) fn note(&mut self, promise: &'static str, outcome: Result<(), Broken>) {
        match outcome {
            Ok(()) => self.kept.push(promise),
            Err(Broken(seen)) => self.broken.push(Finding { promise, seen }),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kept, broken) = (self.kept.len(), self.broken.len());
        write!(f, "the store keeps {kept} of {} promises", kept + broken)?;
        for Finding { promise, seen } in &self.broken {
            write!(f, "\n- broken: {promise}\n  {seen}")?;
        }
        Ok(())
    }
}
