//! The report, as Markdown.

use std::fmt::{self, Display, Formatter};

use crate::beside_calls::{MANY_THREADS, ONE_THREAD, bare_label, turn_label};
use crate::deltas::{self, COUNTS};
use crate::left_behind::Case;
use crate::measure::{Plan, Timing};
use crate::runner::Called;
use crate::throughput::{self, CALLERS, ONE};
use crate::waiting::Crowd;

const LOCK: &str = include_str!("../Cargo.lock");

/// The bounds that were set for this.
const OF_BARE_CALLS: f64 = 5.0;
const KIB_A_TURN: f64 = 20.0;
/// Chosen here, to tell linear time from anything above it.
const OF_FEW_DELTAS: f64 = 1.5;

/// One whole run.
pub(crate) struct Report {
    pub(crate) plan: Plan,
    pub(crate) timings: Timings,
    pub(crate) waiting: Vec<(Crowd, f64)>,
    pub(crate) left: Vec<(Case, f64)>,
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
    fn beside_calls(&self, f: &mut Formatter<'_>, section: &str) -> fmt::Result {
        writeln!(f, "\n### A turn beside its three calls, {section}\n")?;
        writeln!(f, "| | median ns | min ns | spread | of the bare calls |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: |")?;
        for called in Called::ALL {
            let bare = self.timings.of(section, bare_label(called), MEDIAN);
            for label in [bare_label(called), turn_label(called)] {
                for timing in self.timings.section(section).filter(|it| it.label == label) {
                    row(f, timing)?;
                    writeln!(f, " {:.2} × |", timing.median / bare)?;
                }
            }
        }
        Ok(())
    }

    fn deltas(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### Deltas: what one costs among so many\n")?;
        writeln!(f, "| | median ns | min ns | spread |")?;
        writeln!(f, "| --- | ---: | ---: | ---: |")?;
        for timing in self.timings.section(deltas::SECTION) {
            row(f, timing)?;
            writeln!(f)?;
        }
        Ok(())
    }

    fn throughput(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### Turns by the second, {CALLERS} at once\n")?;
        writeln!(f, "| | median | best | spread | of one thread |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: |")?;
        let one = self.timings.of(throughput::SECTION, ONE, MEDIAN);
        for timing in self.timings.section(throughput::SECTION) {
            let (label, spread) = (timing.label, timing.spread * 100.0);
            let (median, best) = (grouped(1e9 / timing.median), grouped(1e9 / timing.min));
            let share = one / timing.median;
            writeln!(
                f,
                "| {label} | {median} | {best} | {spread:.0} % | {share:.2} × |"
            )?;
        }
        Ok(())
    }

    fn waiting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let turns = self.waiting.first().map_or(0, |(crowd, _)| crowd.turns);
        let turns = grouped(turns as f64);
        writeln!(
            f,
            "\n### Resident memory of a turn that waits, {turns} at once\n"
        )?;
        writeln!(f, "| | KiB a turn |")?;
        writeln!(f, "| --- | ---: |")?;
        for (crowd, bytes) in &self.waiting {
            writeln!(f, "| {} | {:.1} |", crowd.name(), bytes / 1024.0)?;
        }
        Ok(())
    }

    fn left(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### Memory that is left behind\n")?;
        writeln!(f, "| | MB |")?;
        writeln!(f, "| --- | ---: |")?;
        for (case, bytes) in &self.left {
            writeln!(f, "| {} | {:.1} |", case.name(), bytes / 1e6)?;
        }
        Ok(())
    }

    fn goals(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### Goals\n")?;
        writeln!(f, "| | by medians | by minima | at most | |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | --- |")?;
        let mut goal = |text: &str, measured: [f64; 2], bound: f64| {
            let [median, min] = measured;
            let verdict = if median <= bound { "met" } else { "**missed**" };
            writeln!(
                f,
                "| {text} | {median:.2} × | {min:.2} × | {bound} × | {verdict} |"
            )
        };
        for section in [ONE_THREAD, MANY_THREADS] {
            for called in Called::ALL {
                let ratio = |of| {
                    self.timings.of(section, turn_label(called), of)
                        / self.timings.of(section, bare_label(called), of)
                };
                let text = format!("a turn beside its bare calls, {}, {section}", called.what());
                goal(&text, [ratio(MEDIAN), ratio(MIN)], OF_BARE_CALLS)?;
            }
        }
        let [(_, read, run), .., (_, most_read, most_run)] = COUNTS;
        for (few, many) in [(read, most_read), (run, most_run)] {
            let ratio = |of| {
                self.timings.of(deltas::SECTION, many, of)
                    / self.timings.of(deltas::SECTION, few, of)
            };
            let text = format!("a delta of {many}, beside one of {few} (linear time)");
            goal(&text, [ratio(MEDIAN), ratio(MIN)], OF_FEW_DELTAS)?;
        }
        for (crowd, bytes) in &self.waiting {
            let kib = bytes / 1024.0;
            let verdict = if kib < KIB_A_TURN {
                "met"
            } else {
                "**missed**"
            };
            let name = crowd.name();
            writeln!(
                f,
                "| a turn that waits: {name} | {kib:.1} KiB | | {KIB_A_TURN} KiB | {verdict} |"
            )?;
        }
        Ok(())
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}; {}, {}; {} rounds, each subject at least {} ms a round.",
            env!("BENCH_RUSTC"),
            locked("tokio"),
            locked("uuid"),
            self.plan.rounds,
            self.plan.slice.as_millis(),
        )?;
        self.beside_calls(f, ONE_THREAD)?;
        self.beside_calls(f, MANY_THREADS)?;
        self.deltas(f)?;
        self.throughput(f)?;
        self.waiting(f)?;
        self.left(f)?;
        self.goals(f)
    }
}

fn row(f: &mut Formatter<'_>, timing: &Timing) -> fmt::Result {
    let (median, min) = (grouped(timing.median), grouped(timing.min));
    let (label, spread) = (timing.label, timing.spread * 100.0);
    write!(f, "| {label} | {median} | {min} | {spread:.0} % |")
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
