//! The goals, evaluated from the measurements.

use turnwright_bench_measure::{MEDIAN, MIN, Statistic, Timings};

use crate::section;
use crate::subjects::{building, parts, registry, rig, turnwright};

/// Returns the sum of the parts that a call cannot do without.
pub(crate) fn sum_of_parts(timings: &Timings, section: &str, statistic: Statistic) -> f64 {
    let parts = parts::ALL.iter();
    parts.map(|part| timings.of(section, part, statistic)).sum()
}

/// One goal: the measured value must not exceed the bound.
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

/// Returns the goals that this run measured.
pub(crate) fn goals(timings: &Timings) -> Vec<Goal> {
    let goal = |text, bound, unit, measure: &dyn Fn(Statistic) -> f64| Goal {
        text,
        measured: measure(MEDIAN),
        at_best: measure(MIN),
        bound,
        unit,
    };
    let ratio = |section, label, to| move |of: Statistic| timings.ratio(section, label, to, of);
    let of_the_parts = |section| {
        move |of: Statistic| {
            timings.of(section, turnwright::CALL, of) / sum_of_parts(timings, section, of)
        }
    };
    let mut goals = vec![
        goal(
            "one small call, compared with the sum of the parts",
            1.5,
            "×",
            &of_the_parts(section::SMALL),
        ),
        goal(
            "one large call, compared with the sum of the parts",
            1.5,
            "×",
            &of_the_parts(section::LARGE),
        ),
        goal(
            "one small call, compared with rig's `ToolSet`",
            1.0,
            "×",
            &ratio(section::SMALL, turnwright::CALL, rig::declared::CALL),
        ),
        #[cfg(feature = "rig-newest")]
        goal(
            "one small call, compared with the `ToolSet` of the newest rig",
            1.0,
            "×",
            &ratio(section::SMALL, turnwright::CALL, rig::newest::CALL),
        ),
        goal(
            "`get` from 1,000 tools, compared with `get` from 10 (constant time)",
            2.0,
            "×",
            &ratio(
                section::REGISTRY,
                registry::GET_OF_MANY,
                registry::GET_OF_FEW,
            ),
        ),
        goal(
            "`visible()`, compared with cloning the schemas (it clones none)",
            0.2,
            "×",
            &ratio(
                section::REGISTRY,
                registry::VISIBLE,
                registry::CLONE_DOCUMENTS,
            ),
        ),
        goal("a tool built from a small document", 30.0, "µs", &|of| {
            timings.of(section::BUILDING, building::FROM_DOCUMENT, of) / 1e3
        }),
    ];
    goals.retain(|goal| !goal.measured.is_nan());
    goals
}
