//! What a run found, for people to read.

use std::collections::BTreeMap;
use std::fmt;

use super::finding::Finding;

/// How many values a tool's contract was tried with, keyword by keyword, and what did not hold.
///
/// Its `Display` is a small table.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Report {
    /// The tool's name.
    pub tool: String,
    /// The seed: the same seed makes the same values.
    pub seed: u64,
    /// Values made to be accepted, and accepted.
    pub accepted: usize,
    /// Those among the accepted for which the document alone did not settle the matter (an unreadable pattern, an
    /// unknown format): they were kept because the schema's own verdict was yes.
    pub by_trial: usize,
    /// Values made to be accepted, and refused.
    pub refused: usize,
    /// Values broken in one place, all of which had to be refused.
    pub broken: usize,
    /// Attempts that ended without a value which the document accepts.
    pub missed: usize,
    /// Attempts to break a value that were given up, because it might have been accepted all the same.
    pub dropped: usize,
    /// What each keyword got.
    pub per_keyword: BTreeMap<String, KeywordCount>,
    /// The keywords that got no accepted or no broken value, each by its place in the document.
    pub skipped: Vec<Skipped>,
    /// What did not hold.
    pub findings: Vec<Finding>,
}

/// How many values exercised a keyword.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeywordCount {
    /// How often the keyword stands in the document.
    pub places: usize,
    /// Accepted values about which it had a say, summed over its places.
    pub accepted: usize,
    /// Values broken by it, or by a keyword inside it.
    pub broken: usize,
}

/// A keyword that went without accepted or without broken values.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// The keyword's JSON pointer in the document.
    pub pointer: String,
    /// How many accepted values it got.
    pub accepted: usize,
    /// How many broken values it got.
    pub broken: usize,
    /// Why not more.
    pub reason: String,
}

impl Report {
    /// Whether at least a third of the values were accepted. With fewer, the run says little about the contract.
    pub fn accepted_enough(&self) -> bool {
        let all = self.accepted + self.refused + self.broken + self.missed;
        self.accepted > 0 && self.accepted * 3 >= all
    }

    /// Whether everything held.
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
            write!(f, ", {} refused that should be accepted", self.refused)?;
        }
        write!(f, ", {} broken in one place", self.broken)?;
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
            writeln!(f, "not fully tried:")?;
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

/// A contract that does not hold. Its `Display` and its `Debug` say which value, where, and what to change.
#[derive(Clone)]
pub struct Failure {
    pub(crate) report: Box<Report>,
}

impl Failure {
    /// The whole report, findings included.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// What did not hold; empty if the only trouble is that too few values were accepted.
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

/// The same text: `unwrap()` in a test shows `Debug`.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Failure {}
