//! Interleaved timing: every round gives each subject one slice of time, so that what disturbs the machine disturbs them all.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use tokio::runtime::Runtime;

/// How much to measure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// The least time that a subject runs in one round.
    pub(crate) slice: Duration,
}

/// What stands in a row of the report; several subjects may share a label in different sections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Small,
    Large,
    Registry,
    Building,
}

/// Something that can be repeated.
pub(crate) struct Subject<'a> {
    pub(crate) section: Section,
    pub(crate) label: &'static str,
    repeat: Box<dyn FnMut(u64) + 'a>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new<T>(
        section: Section,
        label: &'static str,
        mut once: impl FnMut() -> T + 'a,
    ) -> Self {
        let repeat = move |times| {
            for _ in 0..times {
                black_box(once());
            }
        };
        Self {
            section,
            label,
            repeat: Box::new(repeat),
        }
    }

    /// A subject that is awaited, polled in place: the runtime is entered once around all repetitions.
    pub(crate) fn awaited<T>(
        section: Section,
        label: &'static str,
        runtime: &'a Runtime,
        mut once: impl AsyncFnMut() -> T + 'a,
    ) -> Self {
        let repeat = move |times| {
            runtime.block_on(async {
                for _ in 0..times {
                    black_box(once().await);
                }
            });
        };
        Self {
            section,
            label,
            repeat: Box::new(repeat),
        }
    }

    pub(crate) fn repeat(&mut self, times: u64) -> Duration {
        let start = Instant::now();
        (self.repeat)(times);
        start.elapsed()
    }

    /// How many repetitions fill a slice.
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

/// Nanoseconds for one repetition, over all rounds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timing {
    pub(crate) section: Section,
    pub(crate) label: &'static str,
    pub(crate) median: f64,
    pub(crate) min: f64,
    /// The middle half of the rounds lies within this share of the median.
    pub(crate) spread: f64,
}

/// Measures all subjects side by side. Each round starts with another one.
pub(crate) fn measure(subjects: &mut [Subject<'_>], plan: Plan) -> Vec<Timing> {
    let times: Vec<u64> = subjects
        .iter_mut()
        .map(|subject| subject.calibrate(plan.slice))
        .collect();
    let mut rounds = vec![Vec::with_capacity(plan.rounds); subjects.len()];
    for round in 0..plan.rounds {
        for turn in 0..subjects.len() {
            let at = (round + turn) % subjects.len();
            let elapsed = subjects[at].repeat(times[at]);
            rounds[at].push(elapsed.as_secs_f64() * 1e9 / times[at] as f64);
        }
    }
    subjects
        .iter()
        .zip(rounds)
        .map(|(subject, rounds)| summarise(subject, rounds))
        .collect()
}

fn summarise(subject: &Subject<'_>, mut rounds: Vec<f64>) -> Timing {
    rounds.sort_by(f64::total_cmp);
    let quantile = |share: f64| rounds[((rounds.len() - 1) as f64 * share).round() as usize];
    let median = quantile(0.5);
    Timing {
        section: subject.section,
        label: subject.label,
        median,
        min: quantile(0.0),
        spread: (quantile(0.75) - quantile(0.25)) / median,
    }
}
