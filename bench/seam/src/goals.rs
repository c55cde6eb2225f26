//! What the numbers should show, judged from the numbers.

use crate::{
    measure::{Section, Timing},
    subjects::{building, parts, registry, rig, turnwright},
};

/// The timings of one run, by section and label.
pub(crate) struct Timings(Vec<Timing>);

/// What of a row is looked at.
pub(crate) type Statistic = fn(&Timing) -> f64;

pub(crate) const MEDIAN: Statistic = |timing| timing.median;
pub(crate) const MIN: Statistic = |timing| timing.min;

impl Timings {
    pub(crate) fn new(timings: Vec<Timing>) -> Self {
        Self(timings)
    }

    pub(crate) fn section(&self, section: Section) -> impl Iterator<Item = &Timing> {
        self.0
            .iter()
            .filter(move |timing| timing.section == section)
    }

    /// Nanoseconds of a row, not a number if it was not measured.
    pub(crate) fn of(&self, section: Section, label: &str, statistic: Statistic) -> f64 {
        self.section(section)
            .find(|timing| timing.label == label)
            .map_or(f64::NAN, statistic)
    }

    pub(crate) fn sum_of_parts(&self, section: Section, statistic: Statistic) -> f64 {
        parts::ALL
            .iter()
            .map(|part| self.of(section, part, statistic))
            .sum()
    }
}

/// One goal: what was measured for it may be at most the bound.
pub(crate) struct Goal {
    pub(crate) text: &'static str,
    pub(crate) measured: f64,
    /// The same from the fastest rounds, which a busy machine disturbs less.
    pub(crate) at_best: f64,
    pub(crate) bound: f64,
    pub(crate) unit: &'static str,
}

impl Goal {
    pub(crate) fn is_met(&self) -> bool {
        self.measured <= self.bound
    }
}

/// The goals for which this run measured something.
pub(crate) fn goals(timings: &Timings) -> Vec<Goal> {
    let goal = |text, bound, unit, measure: &dyn Fn(Statistic) -> f64| Goal {
        text,
        measured: measure(MEDIAN),
        at_best: measure(MIN),
        bound,
        unit,
    };
    let ratio = |section, label, to| {
        move |of: Statistic| timings.of(section, label, of) / timings.of(section, to, of)
    };
    let of_the_parts = |section| {
        move |of: Statistic| {
            timings.of(section, turnwright::CALL, of) / timings.sum_of_parts(section, of)
        }
    };
    let mut goals = vec![
        goal(
            "one small call, beside the sum of the parts",
            1.5,
            "×",
            &of_the_parts(Section::Small),
        ),
        goal(
            "one large call, beside the sum of the parts",
            1.5,
            "×",
            &of_the_parts(Section::Large),
        ),
        goal(
            "one small call, beside rig's `ToolSet`",
            1.0,
            "×",
            &ratio(Section::Small, turnwright::CALL, rig::declared::CALL),
        ),
        #[cfg(feature = "rig-newest")]
        goal(
            "one small call, beside the `ToolSet` of the newest rig",
            1.0,
            "×",
            &ratio(Section::Small, turnwright::CALL, rig::newest::CALL),
        ),
        goal(
            "`get` from 1,000 tools, beside `get` from 10 (constant time)",
            2.0,
            "×",
            &ratio(
                Section::Registry,
                registry::GET_OF_MANY,
                registry::GET_OF_FEW,
            ),
        ),
        goal(
            "`visible()`, beside cloning the schemas (it clones none)",
            0.2,
            "×",
            &ratio(
                Section::Registry,
                registry::VISIBLE,
                registry::CLONE_DOCUMENTS,
            ),
        ),
        goal("a tool built from a small document", 30.0, "µs", &|of| {
            timings.of(Section::Building, building::FROM_DOCUMENT, of) / 1e3
        }),
    ];
    goals.retain(|goal| !goal.measured.is_nan());
    goals
}
