//! The report, as Markdown.

use std::fmt::{self, Display, Formatter};

use turnwright_bench_measure::{MEDIAN, MIN, Plan, Row, Timings, header, locked, rustc, verdict};

use crate::calls::{self, at_once_label, bare_label};
use crate::loading::{self, COUNTS};
use crate::runner::Called;
use crate::turns::{self, memory_label};

const LOCK: &str = include_str!("../Cargo.lock");

/// The goals.
const OF_BARE_CALL: f64 = 1.5;
const OF_BARE_SELECT: f64 = 2.0;
/// Chosen here, to distinguish linear time from anything above it.
const OF_FEW_RECORDS: f64 = 1.5;

/// One complete run.
pub(crate) struct Report {
    pub(crate) plan: Plan,
    pub(crate) timings: Timings,
}

impl Report {
    /// Writes the rows of a section, in groups that start with the row that the others are compared with.
    fn section(&self, f: &mut Formatter<'_>, section: &str, firsts: &[&str]) -> fmt::Result {
        let columns = ["median ns", "min ns", "spread", "of the first"];
        header(f, &format!("What {section} costs"), &columns)?;
        let mut first = f64::NAN;
        for timing in self.timings.section(section) {
            let median = MEDIAN(timing);
            if firsts.contains(&timing.label) {
                first = median;
            }
            writeln!(f, "{} {:.2} × |", Row::new(timing), median / first)?;
        }
        Ok(())
    }

    fn goals(&self, f: &mut Formatter<'_>) -> fmt::Result {
        header(f, "Goals", &["by medians", "by minima", "at most", ""])?;
        let mut goal = |text: &str, section: &str, [of, to]: [&str; 2], bound: f64| {
            let ratio = |by| self.timings.ratio(section, of, to, by);
            let (median, min, verdict) =
                (ratio(MEDIAN), ratio(MIN), verdict(ratio(MEDIAN) <= bound));
            writeln!(
                f,
                "| {text} | {median:.2} × | {min:.2} × | {bound} × | {verdict} |"
            )
        };
        for called in Called::ALL {
            let bare = bare_label(called);
            for label in [calls::store_label(called), at_once_label(called)] {
                let text = format!("{label}, compared with bare SQLite");
                goal(&text, calls::SECTION, [label, bare], OF_BARE_CALL)?;
            }
        }
        let [(_, [_, _, few]), (_, [select, parse, many])] = COUNTS;
        let section = loading::SECTION;
        goal(
            "10,000 records, compared with a bare `SELECT`",
            section,
            [many, select],
            OF_BARE_SELECT,
        )?;
        let text =
            "for comparison, not a goal: compared with a bare `SELECT` whose texts are parsed";
        goal(text, section, [many, parse], OF_BARE_SELECT)?;
        let text = "a record of 10,000, compared with one of 1,000 (linear time)";
        goal(text, section, [many, few], OF_FEW_RECORDS)
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}; {}, {}; {}.",
            rustc(),
            locked(LOCK, "rusqlite"),
            locked(LOCK, "tokio"),
            self.plan,
        )?;
        self.section(f, calls::SECTION, &Called::ALL.map(bare_label))?;
        let selects = COUNTS.map(|(_, [select, ..])| select);
        self.section(f, loading::SECTION, &selects)?;
        self.section(f, turns::SECTION, &Called::ALL.map(memory_label))?;
        self.goals(f)
    }
}
