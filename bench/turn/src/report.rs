//! The report, as Markdown.

use std::fmt::{self, Display, Formatter};

use turnwright_bench_measure::{
    MEDIAN, MIN, Plan, Row, Timings, grouped, header, locked, rustc, verdict,
};

use crate::deltas::{self, COUNTS};
use crate::left_behind::Case;
use crate::runner::Called;
use crate::throughput::{self, CALLERS, ONE};
use crate::turn_overhead::{MANY_THREADS, ONE_THREAD, bare_label, turn_label};
use crate::waiting::Crowd;

const LOCK: &str = include_str!("../Cargo.lock");

/// The goals.
const OF_BARE_CALLS: f64 = 5.0;
const KIB_A_TURN: f64 = 20.0;
/// Chosen here, to distinguish linear time from anything above it.
const OF_FEW_DELTAS: f64 = 1.5;

/// One complete run.
pub(crate) struct Report {
    pub(crate) plan: Plan,
    pub(crate) timings: Timings,
    pub(crate) waiting: Vec<(Crowd, f64)>,
    pub(crate) left: Vec<(Case, f64)>,
}

impl Report {
    fn turn_overhead(&self, f: &mut Formatter<'_>, section: &str) -> fmt::Result {
        let title = format!("A turn compared with its three calls, {section}");
        header(
            f,
            &title,
            &["median ns", "min ns", "spread", "of the bare calls"],
        )?;
        for called in Called::ALL {
            let bare = self.timings.of(section, bare_label(called), MEDIAN);
            for label in [bare_label(called), turn_label(called)] {
                for timing in self
                    .timings
                    .section(section)
                    .filter(|timing| timing.label == label)
                {
                    writeln!(f, "{} {:.2} × |", Row::new(timing), MEDIAN(timing) / bare)?;
                }
            }
        }
        Ok(())
    }

    fn deltas(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let title = "Deltas: cost of one, by their number";
        header(f, title, &["median ns", "min ns", "spread"])?;
        for timing in self.timings.section(deltas::SECTION) {
            writeln!(f, "{}", Row::new(timing))?;
        }
        Ok(())
    }

    fn throughput(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let title = format!("Turns per second, {CALLERS} at once");
        header(f, &title, &["median", "best", "spread", "of one thread"])?;
        let one = self.timings.of(throughput::SECTION, ONE, MEDIAN);
        for timing in self.timings.section(throughput::SECTION) {
            let (label, spread) = (timing.label, timing.summary.spread * 100.0);
            let rate = |nanoseconds: f64| grouped(1e9 / nanoseconds, 1);
            let (median, best) = (rate(MEDIAN(timing)), rate(MIN(timing)));
            let share = one / MEDIAN(timing);
            writeln!(
                f,
                "| {label} | {median} | {best} | {spread:.0} % | {share:.2} × |"
            )?;
        }
        Ok(())
    }

    fn waiting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let turns = self.waiting.first().map_or(0, |(crowd, _)| crowd.turns);
        let turns = grouped(turns as f64, 1);
        let title = format!("Resident memory of a waiting turn, {turns} at once");
        header(f, &title, &["KiB a turn"])?;
        for (crowd, bytes) in &self.waiting {
            writeln!(f, "| {} | {:.1} |", crowd.name(), bytes / 1024.0)?;
        }
        Ok(())
    }

    fn left(&self, f: &mut Formatter<'_>) -> fmt::Result {
        header(f, "Memory left behind", &["MB"])?;
        for (case, bytes) in &self.left {
            writeln!(f, "| {} | {:.1} |", case.name(), bytes / 1e6)?;
        }
        Ok(())
    }

    fn goals(&self, f: &mut Formatter<'_>) -> fmt::Result {
        header(f, "Goals", &["by medians", "by minima", "at most", ""])?;
        let mut goal = |text: &str, measured: [f64; 2], bound: f64| {
            let [median, min] = measured;
            let verdict = verdict(median <= bound);
            writeln!(
                f,
                "| {text} | {median:.2} × | {min:.2} × | {bound} × | {verdict} |"
            )
        };
        for section in [ONE_THREAD, MANY_THREADS] {
            for called in Called::ALL {
                let labels = (turn_label(called), bare_label(called));
                let ratio = |of| self.timings.ratio(section, labels.0, labels.1, of);
                let text = format!(
                    "a turn compared with its bare calls, {}, {section}",
                    called.what()
                );
                goal(&text, [ratio(MEDIAN), ratio(MIN)], OF_BARE_CALLS)?;
            }
        }
        let [(_, read, run), .., (_, most_read, most_run)] = COUNTS;
        for (few, many) in [(read, most_read), (run, most_run)] {
            let ratio = |of| self.timings.ratio(deltas::SECTION, many, few, of);
            let text = format!("a delta of {many}, compared with one of {few} (linear time)");
            goal(&text, [ratio(MEDIAN), ratio(MIN)], OF_FEW_DELTAS)?;
        }
        for (crowd, bytes) in &self.waiting {
            let kib = bytes / 1024.0;
            let verdict = verdict(kib < KIB_A_TURN);
            let name = crowd.name();
            writeln!(
                f,
                "| a waiting turn: {name} | {kib:.1} KiB | | {KIB_A_TURN} KiB | {verdict} |"
            )?;
        }
        Ok(())
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}; {}, {}; {}.",
            rustc(),
            locked(LOCK, "tokio"),
            locked(LOCK, "uuid"),
            self.plan,
        )?;
        self.turn_overhead(f, ONE_THREAD)?;
        self.turn_overhead(f, MANY_THREADS)?;
        self.deltas(f)?;
        self.throughput(f)?;
        self.waiting(f)?;
        self.left(f)?;
        self.goals(f)
    }
}
