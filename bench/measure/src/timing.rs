//! Interleaved timing: every round gives each subject one slice of time, so that disturbances affect all of them.

use std::fmt::{self, Debug, Formatter};
use std::hint::black_box;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use crate::options::Plan;

/// Work that can be repeated.
pub struct Subject<'a> {
    /// The section of the report.
    pub section: &'static str,
    /// The label of the row.
    pub label: &'static str,
    /// The number of work items in one repetition, for the cost per item.
    pieces: u64,
    repeat: Box<dyn FnMut(u64) -> Duration + 'a>,
}

impl<'a> Subject<'a> {
    /// Creates a subject that is measured by the time that `repeat` returns for a number of repetitions: wall time or
    /// CPU time.
    pub fn new(
        section: &'static str,
        label: &'static str,
        repeat: impl FnMut(u64) -> Duration + 'a,
    ) -> Self {
        Subject {
            section,
            label,
            pieces: 1,
            repeat: Box::new(repeat),
        }
    }

    /// Creates a subject that is measured by the wall time of `once`.
    pub fn once<T>(
        section: &'static str,
        label: &'static str,
        mut once: impl FnMut() -> T + 'a,
    ) -> Self {
        Subject::new(section, label, move |times| {
            let start = Instant::now();
            for _ in 0..times {
                black_box(once());
            }
            start.elapsed()
        })
    }

    /// Creates a subject that is measured by the wall time of awaiting `once`. The runtime is entered once for all
    /// repetitions.
    pub fn awaited<T>(
        section: &'static str,
        label: &'static str,
        runtime: &'a Runtime,
        mut once: impl AsyncFnMut() -> T + 'a,
    ) -> Self {
        Subject::new(section, label, move |times| {
            let start = Instant::now();
            runtime.block_on(async {
                for _ in 0..times {
                    black_box(once().await);
                }
            });
            start.elapsed()
        })
    }

    /// Sets the number of work items in one repetition. Default: 1.
    #[must_use]
    pub fn of_pieces(mut self, pieces: u64) -> Self {
        self.pieces = pieces;
        self
    }

    /// Repeats the work.
    pub fn repeat(&mut self, times: u64) -> Duration {
        (self.repeat)(times)
    }

    /// Returns `true` if its section and label contain a text.
    pub fn is_named(&self, text: &str) -> bool {
        format!("{}: {}", self.section, self.label).contains(text)
    }

    /// Returns how many repetitions fill a slice.
    fn calibrate(&mut self, slice: Duration) -> u64 {
        let mut times = 1;
        loop {
            let elapsed = self.repeat(times);
            if elapsed * 4 >= slice {
                let wanted = times as f64 * slice.as_secs_f64() / elapsed.as_secs_f64();
                return (wanted * 1.1).ceil() as u64;
            }
            times *= 2;
        }
    }
}

impl Debug for Subject<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "Subject({}: {})", self.section, self.label)
    }
}

/// Statistics over several rounds.
#[derive(Clone, Copy, Debug)]
pub struct Summary {
    /// The median.
    pub median: f64,
    /// The minimum.
    pub min: f64,
    /// The interquartile range, as a share of the median.
    pub spread: f64,
}

impl Summary {
    /// Summarises at least one number.
    pub fn of(mut numbers: Vec<f64>) -> Self {
        numbers.sort_by(f64::total_cmp);
        let quantile = |share: f64| numbers[((numbers.len() - 1) as f64 * share).round() as usize];
        let median = quantile(0.5);
        Summary {
            median,
            min: quantile(0.0),
            spread: (quantile(0.75) - quantile(0.25)) / median,
        }
    }
}

/// Nanoseconds per work item.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The subject's section.
    pub section: &'static str,
    /// The subject's label.
    pub label: &'static str,
    /// Over all rounds.
    pub summary: Summary,
}

/// Measures all subjects, interleaved. Each round starts with another one.
pub fn measure(subjects: &mut [Subject<'_>], plan: Plan) -> Vec<Timing> {
    let times: Vec<u64> = subjects
        .iter_mut()
        .map(|subject| subject.calibrate(plan.slice))
        .collect();
    let mut rounds = vec![Vec::with_capacity(plan.rounds); subjects.len()];
    for round in 0..plan.rounds {
        for place in 0..subjects.len() {
            let at = (round + place) % subjects.len();
            let elapsed = subjects[at].repeat(times[at]);
            let pieces = times[at] * subjects[at].pieces;
            rounds[at].push(elapsed.as_secs_f64() * 1e9 / pieces as f64);
        }
    }
    subjects
        .iter()
        .zip(rounds)
        .map(|(subject, rounds)| Timing {
            section: subject.section,
            label: subject.label,
            summary: Summary::of(rounds),
        })
        .collect()
}

/// A statistic of a timing.
pub type Statistic = fn(&Timing) -> f64;

/// The median of all rounds.
pub const MEDIAN: Statistic = |timing| timing.summary.median;
/// The fastest round, which a busy machine disturbs less.
pub const MIN: Statistic = |timing| timing.summary.min;

/// The timings of one run, by section and label.
#[derive(Debug)]
pub struct Timings(pub Vec<Timing>);

impl Timings {
    /// Returns the timings of a section.
    pub fn section(&self, section: &str) -> impl Iterator<Item = &Timing> {
        self.0
            .iter()
            .filter(move |timing| timing.section == section)
    }

    /// Returns the nanoseconds of a row; NaN if it was not measured.
    pub fn of(&self, section: &str, label: &str, statistic: Statistic) -> f64 {
        let mut rows = self.section(section);
        rows.find(|timing| timing.label == label)
            .map_or(f64::NAN, statistic)
    }

    /// Returns a row divided by another one of its section.
    pub fn ratio(&self, section: &str, of: &str, to: &str, statistic: Statistic) -> f64 {
        self.of(section, of, statistic) / self.of(section, to, statistic)
    }
}
