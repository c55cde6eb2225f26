//! The result of a run.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use super::finding::Finding;

/// The number of values per keyword that a tool was tested with, and the violations.
///
/// `Display` prints a small table.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Report {
    /// The tool's name.
    #[serde(rename = "name")]
    pub tool: String,
    /// The seed. The same seed generates the same values.
    pub seed: u64,
    /// Values that should be accepted, and were.
    pub accepted: usize,
    /// The accepted values for which the document alone gives no certain verdict (an unsupported pattern, an unknown
    /// format). They were kept because the schema accepts them.
    pub by_trial: usize,
    /// Values that should be accepted, but were rejected.
    pub refused: usize,
    /// Values broken in one location, all of which must be rejected.
    pub broken: usize,
    /// Attempts that produced no value that the document accepts.
    pub missed: usize,
    /// Attempts to break a value that were dropped, because the value might have been accepted anyway.
    pub dropped: usize,
    /// The counts per keyword.
    #[serde(rename = "keywords")]
    pub per_keyword: BTreeMap<String, KeywordCount>,
    /// The keywords that got no accepted or no broken value, each with its location in the document.
    pub skipped: Vec<Skipped>,
    /// The violations.
    pub findings: Vec<Finding>,
}

/// The number of values that exercised a keyword.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeywordCount {
    /// How often the keyword occurs in the document.
    pub places: usize,
    /// Accepted values to which it applied, summed over its occurrences.
    pub accepted: usize,
    /// Values broken by it, or by a keyword inside it.
    pub broken: usize,
}

/// A keyword without accepted or without broken values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Skipped {
    /// The JSON pointer of the keyword in the document.
    pub pointer: String,
    /// The number of accepted values.
    pub accepted: usize,
    /// The number of broken values.
    pub broken: usize,
    /// The reason.
    pub reason: String,
}

impl Report {
    /// Returns `true` if at least a third of the values were accepted. With fewer, the run says little about the
    /// contract.
    pub fn accepted_enough(&self) -> bool {
        let all = self.accepted + self.refused + self.broken + self.missed;
        self.accepted > 0 && self.accepted * 3 >= all
    }

    /// Returns `true` if there are no violations and enough values were accepted.
    pub fn is_ok(&self) -> bool {
        self.findings.is_empty() && self.accepted_enough()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tool, accepted) = (&self.tool, self.accepted);
        write!(f, "contract of `{tool}`: {accepted} values accepted")?;
        if self.by_trial > 0 {
            write!(f, " ({} of them by trial)", self.by_trial)?;
        }
        if self.refused > 0 {
            write!(f, ", {} rejected that should be accepted", self.refused)?;
        }
        write!(f, ", {} broken in one location", self.broken)?;
        if self.missed > 0 {
            write!(f, ", {} attempts without a value", self.missed)?;
        }
        writeln!(f, " (seed {})", self.seed)?;
        let widths = self.per_keyword.keys().map(String::len);
        let width = widths.chain(["keyword".len()]).max().unwrap_or(0);
        let (places, accepted, broken) = ("places", "accepted", "broken");
        writeln!(f, "  {:width$}  {places}  {accepted}  {broken}", "keyword")?;
        for (keyword, count) in &self.per_keyword {
            let (places, accepted, broken) = (count.places, count.accepted, count.broken);
            writeln!(
                f,
                "  {keyword:width$}  {places:>6}  {accepted:>8}  {broken:>6}"
            )?;
        }
        if !self.skipped.is_empty() {
            writeln!(f, "not fully covered:")?;
        }
        for skipped in &self.skipped {
            let lacks = match (skipped.accepted, skipped.broken) {
                (0, 0) => "no values",
                (0, _) => "no accepted values",
                _ => "no broken values",
            };
            writeln!(f, "  {}: {lacks}: {}", skipped.pointer, skipped.reason)?;
        }
        Ok(())
    }
}

/// A contract that does not hold. `Display` and `Debug` show the value, the location and what to change.
#[derive(Clone)]
pub struct Failure {
    pub(crate) report: Box<Report>,
}

impl Failure {
    /// Returns the complete report, including the findings.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Returns the violations; empty if the only problem is that too few values were accepted.
    pub fn findings(&self) -> &[Finding] {
        &self.report.findings
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = &self.report;
        writeln!(f, "the contract of tool `{}` does not hold", report.tool)?;
        for (number, finding) in report.findings.iter().enumerate() {
            writeln!(f, "\n{}. {finding}", number + 1)?;
        }
        if !report.accepted_enough() {
            let all = report.accepted + report.refused + report.broken + report.missed;
            writeln!(
                f,
                "\nfewer than a third of the values were accepted ({} of {all}): too few to say that the contract \
                 holds. Look for rules that contradict each other; what was not reached is listed below.",
                report.accepted
            )?;
        }
        write!(f, "\n{report}")
    }
}

/// Same as `Display`, because `unwrap()` in a test prints `Debug`.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Failure {}
