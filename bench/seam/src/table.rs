//! The report, as Markdown.

use std::fmt::{self, Display, Formatter};

use turnwright_bench_measure::{
    MEDIAN, Plan, Row, Timings, grouped, header, locked, rustc, verdict,
};

use crate::{
    conduct::Observation,
    goals::{goals, sum_of_parts},
    section,
    subjects::{parts, rig},
};

const LOCK: &str = include_str!("../Cargo.lock");

/// One complete run.
pub(crate) struct Report {
    pub(crate) plan: Plan,
    pub(crate) timings: Timings,
    pub(crate) small: Vec<Observation>,
    pub(crate) large: Vec<Observation>,
    pub(crate) text_sizes: [usize; 2],
}

impl Report {
    fn facts(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}; {}, {}, {}, {}; {}.",
            rustc(),
            locked(LOCK, "rig-agent"),
            locked(LOCK, "rmcp"),
            locked(LOCK, "jsonschema"),
            locked(LOCK, "serde_json"),
            self.plan,
        )
    }

    fn calls(&self, f: &mut Formatter<'_>, section: &str, title: &str) -> fmt::Result {
        let columns = ["median ns", "min ns", "spread", "of the parts", "of rig"];
        header(f, title, &columns)?;
        let sum = sum_of_parts(&self.timings, section, MEDIAN);
        let rig = self.timings.of(section, rig::declared::CALL, MEDIAN);
        for timing in self.timings.section(section) {
            let median = MEDIAN(timing);
            let (of_parts, of_rig) = (median / sum, median / rig);
            writeln!(f, "{} {of_parts:.2} | {of_rig:.2} |", Row::new(timing))?;
            if timing.label == parts::DESERIALISE {
                let (sum, share) = (grouped(sum, 1), sum / rig);
                writeln!(
                    f,
                    "| **sum of the parts** | {sum} | | | 1.00 | {share:.2} |"
                )?;
            }
        }
        Ok(())
    }

    fn others(&self, f: &mut Formatter<'_>, section: &str, title: &str) -> fmt::Result {
        header(f, title, &["median ns", "min ns", "spread"])?;
        for timing in self.timings.section(section) {
            writeln!(f, "{}", Row::new(timing))?;
        }
        Ok(())
    }

    fn conduct(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### Invalid arguments\n")?;
        writeln!(f, "| call | given | Turnwright | rig | rmcp |")?;
        writeln!(f, "| --- | --- | --- | --- | --- |")?;
        for (call, seen) in [("small", &self.small), ("large", &self.large)] {
            for Observation {
                given,
                turnwright,
                rig,
                rmcp,
            } in seen
            {
                writeln!(f, "| {call} | {given} | {turnwright} | {rig} | {rmcp} |")?;
            }
        }
        Ok(())
    }

    fn verdicts(&self, f: &mut Formatter<'_>) -> fmt::Result {
        header(f, "Goals", &["by medians", "by minima", "at most", ""])?;
        for goal in goals(&self.timings) {
            let verdict = verdict(goal.is_met());
            let (text, unit) = (goal.text, goal.unit);
            let (measured, at_best, bound) = (goal.measured, goal.at_best, goal.bound);
            let (measured, at_best) = (significant(measured), significant(at_best));
            write!(f, "| {text} | {measured} {unit} | {at_best} {unit} ")?;
            writeln!(f, "| {bound} {unit} | {verdict} |")?;
        }
        Ok(())
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let [small, large] = self.text_sizes;
        self.facts(f)?;
        self.calls(
            f,
            section::SMALL,
            &format!("Small call: 2 fields, {small} bytes of text"),
        )?;
        self.calls(
            f,
            section::LARGE,
            &format!("Large call: 20 fields, nested, {large} bytes of text"),
        )?;
        self.others(f, section::REGISTRY, "Registry")?;
        self.others(f, section::BUILDING, "Building a tool")?;
        self.conduct(f)?;
        self.verdicts(f)
    }
}

/// Formats with two decimals, or more if they would all be zero.
fn significant(number: f64) -> String {
    if number < 0.01 {
        format!("{number:.4}")
    } else {
        format!("{number:.2}")
    }
}
