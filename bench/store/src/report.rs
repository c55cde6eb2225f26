//! The report, as Markdown.

use std::fmt::{self, Display, Formatter};

use crate::calls::{self, at_once_label, bare_label};
use crate::loading::{self, COUNTS};
use crate::measure::{Plan, Timing};
use crate::runner::Called;
use crate::turns::{self, memory_label};

const LOCK: &str = include_str!("../Cargo.lock");

/// The bounds that were set for this.
const OF_BARE_CALL: f64 = 1.5;
const OF_BARE_SELECT: f64 = 2.0;
/// Chosen here, to tell linear time from anything above it.
const OF_FEW_RECORDS: f64 = 1.5;

/// One whole run.
pub(crate) struct Report {
    pub(crate) plan: Plan,
    pub(crate) timings: Timings,
}

/// The timings of one run, by section and label.
pub(crate) struct Timings(Vec<Timing>);

type Statistic = fn(&Timing) -> f64;
const MEDIAN: Statistic = |timing| timing.median;
const MIN: Statistic = |timing| timing.min;

impl Timings {
    pub(crate) fn new(timings: Vec<Timing>) -> Self {
        Timings(timings)
    }

    fn section(&self, section: &str) -> impl Iterator<Item = &Timing> {
        self.0
            .iter()
            .filter(move |timing| timing.section == section)
    }

    /// Nanoseconds of a row, not a number if it was not measured.
    fn of(&self, section: &str, label: &str, statistic: Statistic) -> f64 {
        let mut rows = self.section(section);
        rows.find(|timing| timing.label == label)
            .map_or(f64::NAN, statistic)
    }
}

impl Report {
    /// The rows of a section, in groups that each begin with the row which the others are compared with.
    fn section(&self, f: &mut Formatter<'_>, section: &str, firsts: &[&str]) -> fmt::Result {
        writeln!(f, "\n### What {section} costs\n")?;
        writeln!(f, "| | median ns | min ns | spread | of the first |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: |")?;
        let mut first = f64::NAN;
        for timing in self.timings.section(section) {
            if firsts.contains(&timing.label) {
                first = timing.median;
            }
            let (median, min) = (grouped(timing.median), grouped(timing.min));
            let (label, spread) = (timing.label, timing.spread * 100.0);
            let share = timing.median / first;
            writeln!(
                f,
                "| {label} | {median} | {min} | {spread:.0} % | {share:.2} × |"
            )?;
        }
        Ok(())
    }

    fn goals(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### Goals\n")?;
        writeln!(f, "| | by medians | by minima | at most | |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | --- |")?;
        let mut goal = |text: &str, section: &str, [of, to]: [&str; 2], bound: f64| {
            let ratio = |by| self.timings.of(section, of, by) / self.timings.of(section, to, by);
            let (median, min) = (ratio(MEDIAN), ratio(MIN));
            let verdict = if median <= bound { "met" } else { "**missed**" };
            writeln!(
                f,
                "| {text} | {median:.2} × | {min:.2} × | {bound} × | {verdict} |"
            )
        };
        for called in Called::ALL {
            let bare = bare_label(called);
            for label in [calls::store_label(called), at_once_label(called)] {
                let text = format!("{label}, beside bare SQLite");
                goal(&text, calls::SECTION, [label, bare], OF_BARE_CALL)?;
            }
        }
        let [(_, [_, _, few]), (_, [select, parse, many])] = COUNTS;
        let section = loading::SECTION;
        goal(
            "10,000 records, beside a bare `SELECT`",
            section,
            [many, select],
            OF_BARE_SELECT,
        )?;
        let text = "for comparison, not the goal that was set: beside a bare `SELECT` whose texts are parsed";
        goal(text, section, [many, parse], OF_BARE_SELECT)?;
        let text = "a record of 10,000, beside one of 1,000 (linear time)";
        goal(text, section, [many, few], OF_FEW_RECORDS)
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}; {}, {}; {} rounds, each subject at least {} ms a round.",
            env!("BENCH_RUSTC"),
            locked("rusqlite"),
            locked("tokio"),
            self.plan.rounds,
            self.plan.slice.as_millis(),
        )?;
        self.section(f, calls::SECTION, &Called::ALL.map(bare_label))?;
        let selects = COUNTS.map(|(_, [select, ..])| select);
        self.section(f, loading::SECTION, &selects)?;
        self.section(f, turns::SECTION, &Called::ALL.map(memory_label))?;
        self.goals(f)
    }
}

/// `12,345`, or one decimal below a hundred.
fn grouped(number: f64) -> String {
    if number < 100.0 {
        return format!("{number:.1}");
    }
    let digits = format!("{number:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A package's name with its version in the lock file.
fn locked(package: &str) -> String {
    let entry = format!("name = \"{package}\"\nversion = \"");
    let version = LOCK.split(&entry).nth(1);
    let version = version.and_then(|rest| rest.split('"').next());
    format!("{package} {}", version.unwrap_or("of unknown version"))
}
