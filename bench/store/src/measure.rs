//! Interleaved timing: every round gives each subject one slice of time, so that what disturbs the machine disturbs them all.

use std::time::Duration;

/// How much to measure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) rounds: usize,
    /// The least time that a subject runs in one round.
    pub(crate) slice: Duration,
}

/// Something that can be repeated.
pub(crate) struct Subject {
    pub(crate) section: &'static str,
    pub(crate) label: &'static str,
    /// How many pieces of work one repetition is, for a cost by the piece.
    pieces: u64,
    repeat: Box<dyn FnMut(u64) -> Duration>,
}

impl Subject {
    /// What `repeat` gives is the time that counts.
    pub(crate) fn new(
        section: &'static str,
        label: &'static str,
        repeat: impl FnMut(u64) -> Duration + 'static,
    ) -> Self {
        Subject {
            section,
            label,
            pieces: 1,
            repeat: Box::new(repeat),
        }
    }

    pub(crate) fn of_pieces(mut self, pieces: u64) -> Self {
        self.pieces = pieces;
        self
    }

    pub(crate) fn repeat(&mut self, times: u64) -> Duration {
        (self.repeat)(times)
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

/// Nanoseconds for one piece of work, over all rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) section: &'static str,
    pub(crate) label: &'static str,
    pub(crate) median: f64,
    pub(crate) min: f64,
    /// The middle half of the rounds lies within this share of the median.
    pub(crate) spread: f64,
}

/// Measures all subjects side by side. Each round starts with another one.
pub(crate) fn measure(subjects: &mut [Subject], plan: Plan) -> Vec<Timing> {
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
        .map(|(subject, rounds)| summarise(subject, rounds))
        .collect()
}

fn summarise(subject: &Subject, mut rounds: Vec<f64>) -> Timing {
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
