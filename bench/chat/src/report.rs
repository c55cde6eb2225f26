//! The report, as Markdown.

use std::fmt::{self, Display, Formatter};

use crate::crowd::{CALLERS, Crowds, THREADS, Taken};
use crate::measure::Timed;
use crate::options::Plan;
use crate::script::LONG;
use crate::subjects::{BARE, DELTAS, DELTAS_APART, EIGHT_CALLS, READ, RUN, Requests, THREE_CALLS};

const LOCK: &str = include_str!("../Cargo.lock");

/// The bounds that were set for this.
const OF_THE_LOOP: f64 = 1.5;
const OF_THE_LOOPS_WALL: f64 = 1.15;

/// One whole run.
pub(crate) struct Report {
    pub(crate) plan: Plan,
    pub(crate) requests: Requests,
    pub(crate) timings: Timings,
    pub(crate) crowds: Crowds,
}

/// The timings of one run, by section and label.
pub(crate) struct Timings(Vec<Timed>);

type Statistic = fn(&Timed) -> f64;
const MEDIAN: Statistic = |timed| timed.median;
const MIN: Statistic = |timed| timed.min;

impl Timings {
    pub(crate) fn new(timings: Vec<Timed>) -> Self {
        Timings(timings)
    }

    fn section(&self, section: &str) -> impl Iterator<Item = &Timed> {
        self.0.iter().filter(move |timed| timed.section == section)
    }

    /// A row beside the loop; not a number if it was not measured.
    fn beside(&self, section: &str, label: &str, statistic: Statistic) -> f64 {
        let of = |label: &str| {
            let mut rows = self.section(section);
            let row = rows.find(|timed| timed.label == label);
            row.map_or(f64::NAN, statistic)
        };
        of(label) / of(BARE)
    }
}

impl Report {
    fn requests(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let listed = |sizes: &[usize]| {
            // The latest comes first.
            let sizes = sizes.iter().rev().map(|size| grouped(*size as f64));
            sizes.collect::<Vec<_>>().join(", ")
        };
        let (ours, bare) = (listed(&self.requests.ours), listed(&self.requests.bare));
        writeln!(f, "\n### The four requests of a turn with three calls\n")?;
        writeln!(f, "| | bytes, heads included |")?;
        writeln!(f, "| --- | ---: |")?;
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
        let scale = match unit {
            "ms" => 1e6,
            "µs" => 1e3,
            _ => 1.0,
        };
        writeln!(f, "\n### {title}\n")?;
        writeln!(f, "| | median {unit} | min {unit} | spread | of the loop |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: |")?;
        for timed in self.timings.section(section) {
            let (median, min) = (grouped(timed.median / scale), grouped(timed.min / scale));
            let (label, spread) = (timed.label, timed.spread * 100.0);
            let share = self.timings.beside(section, label, MEDIAN);
            writeln!(
                f,
                "| {label} | {median} | {min} | {spread:.0} % | {share:.2} × |"
            )?;
        }
        Ok(())
    }

    fn crowds(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n### Turns with three calls, {CALLERS} at once, {THREADS} threads\n"
        )?;
        writeln!(
            f,
            "| | turns a second | spread | CPU µs a turn | spread | MiB after one turn | MiB at most |"
        )?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: | ---: | ---: |")?;
        for (label, runs) in [(BARE, &self.crowds.bare), (RUN, &self.crowds.ours)] {
            let (rate, rate_spread) = middle(runs, |it| it.rate);
            let (cpu, cpu_spread) = middle(runs, |it| it.cpu);
            let ((before, _), (peak, _)) =
                (middle(runs, |it| it.before), middle(runs, |it| it.peak));
            let (rate, cpu) = (grouped(rate), grouped(cpu));
            writeln!(
                f,
                "| {label} | {rate} | {rate_spread:.0} % | {cpu} | {cpu_spread:.0} % | {before:.1} | {peak:.1} |"
            )?;
        }
        let beside = |of: fn(&Taken) -> f64| {
            middle(&self.crowds.ours, of).0 / middle(&self.crowds.bare, of).0
        };
        let (rate, cpu) = (beside(|it| it.rate), beside(|it| it.cpu));
        let (before, peak) = (beside(|it| it.before), beside(|it| it.peak));
        writeln!(
            f,
            "| of the loop | {rate:.2} × | | {cpu:.2} × | | {before:.2} × | {peak:.2} × |"
        )
    }

    fn goals(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### Goals\n")?;
        writeln!(f, "| | by medians | by minima | at most | |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | --- |")?;
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
            let median = self.timings.beside(section, label, MEDIAN);
            let min = self.timings.beside(section, label, MIN);
            let verdict = if median <= bound { "PASS" } else { "**over**" };
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
            "{}; {}, {}, {}; {} rounds, each subject at least {} ms a round; {crowds} crowds of {} turns on each side.",
            env!("BENCH_RUSTC"),
            locked("reqwest"),
            locked("hyper"),
            locked("tokio"),
            timing.rounds,
            timing.slice.as_millis(),
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
            &title("each event in a write of its own"),
            "ns",
            DELTAS_APART,
        )?;
        let title = "Eight calls at once that wait 20 ms each, wall time of the turn";
        self.section(f, title, "ms", EIGHT_CALLS)?;
        self.goals(f)
    }
}

/// The median, and how far the middle half of the runs lies apart, in percent of it.
fn middle(runs: &[Taken], of: impl Fn(&Taken) -> f64) -> (f64, f64) {
    let mut numbers: Vec<f64> = runs.iter().map(of).collect();
    numbers.sort_by(f64::total_cmp);
    let quantile = |share: f64| numbers[((numbers.len() - 1) as f64 * share).round() as usize];
    let median = quantile(0.5);
    (median, (quantile(0.75) - quantile(0.25)) / median * 100.0)
}

/// `12,345`, or two decimals below a hundred.
fn grouped(number: f64) -> String {
    if number < 100.0 {
        return format!("{number:.2}");
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
