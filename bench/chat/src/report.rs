//! The report, as Markdown.

use std::fmt::{self, Display, Formatter};

use turnwright_bench_measure::{
    MEDIAN, MIN, Row, Summary, Timings, header, locked, rustc, verdict,
};

use crate::crowd::{CALLERS, Crowds, THREADS, Taken};
use crate::options::Plan;
use crate::script::LONG;
use crate::subjects::{
    BARE, BY_PROTOCOL, DELTAS, DELTAS_APART, EIGHT_CALLS, PROTOCOLS, READ, RUN, Requests,
    THREE_CALLS,
};

const LOCK: &str = include_str!("../Cargo.lock");

/// The goals.
const OF_THE_LOOP: f64 = 1.5;
const OF_THE_LOOPS_WALL: f64 = 1.15;
const OF_CHAT_COMPLETIONS: f64 = 1.2;

/// One complete run.
pub(crate) struct Report {
    pub(crate) plan: Plan,
    pub(crate) requests: Requests,
    pub(crate) timings: Timings,
    pub(crate) crowds: Crowds,
}

impl Report {
    fn requests(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let listed = |sizes: &[usize]| {
            // The latest is first.
            let sizes = sizes.iter().rev().map(|size| grouped(*size as f64));
            sizes.collect::<Vec<_>>().join(", ")
        };
        let (ours, bare) = (listed(&self.requests.ours), listed(&self.requests.bare));
        let title = "The four requests of a turn with three calls";
        header(f, title, &["bytes, heads included"])?;
        writeln!(f, "| {BARE} | {bare} |")?;
        writeln!(f, "| Turnwright | {ours} |")
    }

    fn section(
        &self,
        f: &mut Formatter<'_>,
        title: &str,
        unit: &str,
        section: &str,
    ) -> fmt::Result {
        let nanoseconds = match unit {
            "ms" => 1e6,
            "µs" => 1e3,
            _ => 1.0,
        };
        let (median, min) = (format!("median {unit}"), format!("min {unit}"));
        header(f, title, &[&median, &min, "spread", "of the loop"])?;
        for timing in self.timings.section(section) {
            let share = self.timings.ratio(section, timing.label, BARE, MEDIAN);
            let row = Row {
                timing,
                unit: nanoseconds,
                decimals: 2,
            };
            writeln!(f, "{row} {share:.2} × |")?;
        }
        Ok(())
    }

    fn crowds(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let title = format!("Turns with three calls, {CALLERS} at once, {THREADS} threads");
        let columns = [
            "turns per second",
            "spread",
            "CPU µs a turn",
            "spread",
            "MiB after one turn",
            "MiB at most",
        ];
        header(f, &title, &columns)?;
        for (label, runs) in [(BARE, &self.crowds.bare), (RUN, &self.crowds.ours)] {
            let (rate, cpu) = (summary(runs, |run| run.rate), summary(runs, |run| run.cpu));
            let before = summary(runs, |run| run.before).median;
            let peak = summary(runs, |run| run.peak).median;
            let (rate_spread, cpu_spread) = (rate.spread * 100.0, cpu.spread * 100.0);
            let (rate, cpu) = (grouped(rate.median), grouped(cpu.median));
            writeln!(
                f,
                "| {label} | {rate} | {rate_spread:.0} % | {cpu} | {cpu_spread:.0} % | {before:.1} | {peak:.1} |"
            )?;
        }
        let ratio_of = |of: fn(&Taken) -> f64| {
            summary(&self.crowds.ours, of).median / summary(&self.crowds.bare, of).median
        };
        let (rate, cpu) = (ratio_of(|run| run.rate), ratio_of(|run| run.cpu));
        let (before, peak) = (ratio_of(|run| run.before), ratio_of(|run| run.peak));
        writeln!(
            f,
            "| of the loop | {rate:.2} × | | {cpu:.2} × | | {before:.2} × | {peak:.2} × |"
        )
    }

    fn protocols(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let columns = [
            "median µs",
            "min µs",
            "spread",
            "of the loop",
            "of Chat Completions",
        ];
        header(f, "A turn with three calls by protocol, CPU", &columns)?;
        let [(_, first), ..] = BY_PROTOCOL;
        for (_, labels) in BY_PROTOCOL {
            for (label, first) in labels.into_iter().zip(first) {
                let mut rows = self.timings.section(PROTOCOLS);
                let Some(timing) = rows.find(|timing| timing.label == label) else {
                    continue;
                };
                let row = Row {
                    timing,
                    unit: 1e3,
                    decimals: 2,
                };
                let of_loop = self.timings.ratio(PROTOCOLS, label, labels[0], MEDIAN);
                let of_first = self.timings.ratio(PROTOCOLS, label, first, MEDIAN);
                writeln!(f, "{row} {of_loop:.2} × | {of_first:.2} × |")?;
            }
        }
        Ok(())
    }

    fn goals(&self, f: &mut Formatter<'_>) -> fmt::Result {
        header(f, "Goals", &["by medians", "by minima", "at most", ""])?;
        let delta = format!("a delta of {}, CPU", grouped(LONG as f64));
        let goals = [
            (
                "a turn with three calls, CPU",
                THREE_CALLS,
                RUN,
                OF_THE_LOOP,
            ),
            (
                "a turn with three calls, CPU",
                THREE_CALLS,
                READ,
                OF_THE_LOOP,
            ),
            (&delta, DELTAS, RUN, OF_THE_LOOP),
            (&delta, DELTAS, READ, OF_THE_LOOP),
            (&delta, DELTAS_APART, RUN, OF_THE_LOOP),
            (&delta, DELTAS_APART, READ, OF_THE_LOOP),
            (
                "eight calls at once, wall time",
                EIGHT_CALLS,
                RUN,
                OF_THE_LOOPS_WALL,
            ),
            (
                "eight calls at once, wall time",
                EIGHT_CALLS,
                READ,
                OF_THE_LOOPS_WALL,
            ),
        ];
        for (what, section, label, bound) in goals {
            let median = self.timings.ratio(section, label, BARE, MEDIAN);
            let min = self.timings.ratio(section, label, BARE, MIN);
            let verdict = verdict(median <= bound);
            let how = match section {
                DELTAS => ", in one write",
                DELTAS_APART => ", in small writes",
                _ => "",
            };
            writeln!(
                f,
                "| {what}{how}: {label} | {median:.2} × | {min:.2} × | {bound} × | {verdict} |"
            )?;
        }
        let [(_, [_, first]), others @ ..] = BY_PROTOCOL;
        for (_, [_, label]) in others {
            let median = self.timings.ratio(PROTOCOLS, label, first, MEDIAN);
            let min = self.timings.ratio(PROTOCOLS, label, first, MIN);
            let verdict = verdict(median <= OF_CHAT_COMPLETIONS);
            writeln!(
                f,
                "| {label}, compared with {first} | {median:.2} × | {min:.2} × | {OF_CHAT_COMPLETIONS} × | {verdict} |"
            )?;
        }
        Ok(())
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Plan {
            timing,
            crowds,
            turns,
        } = self.plan;
        writeln!(
            f,
            "{}; {}, {}, {}; {timing}; {crowds} crowds of {} turns on each side.",
            rustc(),
            locked(LOCK, "reqwest"),
            locked(LOCK, "hyper"),
            locked(LOCK, "tokio"),
            grouped(turns as f64),
        )?;
        self.requests(f)?;
        self.section(f, "A turn with three calls, CPU", "µs", THREE_CALLS)?;
        self.crowds(f)?;
        let deltas = grouped(LONG as f64);
        let title = |how: &str| format!("One of {deltas} deltas, {how}, CPU");
        self.section(f, &title("the response in one write"), "ns", DELTAS)?;
        self.section(
            f,
            &title("each event in a separate write"),
            "ns",
            DELTAS_APART,
        )?;
        let title = "Eight calls at once that wait 20 ms each, wall time of the turn";
        self.section(f, title, "ms", EIGHT_CALLS)?;
        self.protocols(f)?;
        self.goals(f)
    }
}

fn summary(runs: &[Taken], of: impl Fn(&Taken) -> f64) -> Summary {
    Summary::of(runs.iter().map(of).collect())
}

fn grouped(number: f64) -> String {
    turnwright_bench_measure::grouped(number, 2)
}
