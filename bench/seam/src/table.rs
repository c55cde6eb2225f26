//! The report, as Markdown.

use std::fmt::{self, Display, Formatter};

use crate::{
    conduct::Observation,
    goals::{MEDIAN, Timings, goals},
    measure::{Plan, Section, Timing},
    subjects::{parts, rig},
};

const LOCK: &str = include_str!("../Cargo.lock");

/// One whole run.
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
            "{}; {}, {}, {}, {}; {} rounds, each subject at least {} ms a round.",
            env!("BENCH_RUSTC"),
            locked("rig-agent"),
            locked("rmcp"),
            locked("jsonschema"),
            locked("serde_json"),
            self.plan.rounds,
            self.plan.slice.as_millis(),
        )
    }

    fn calls(&self, f: &mut Formatter<'_>, section: Section, title: &str) -> fmt::Result {
        writeln!(f, "\n### {title}\n")?;
        writeln!(
            f,
            "| | median ns | min ns | spread | of the parts | of rig |"
        )?;
        writeln!(f, "| --- | ---: | ---: | ---: | ---: | ---: |")?;
        let sum = self.timings.sum_of_parts(section, MEDIAN);
        let rig = self.timings.of(section, rig::declared::CALL, MEDIAN);
        for timing in self.timings.section(section) {
            row(f, timing)?;
            writeln!(
                f,
                " {:.2} | {:.2} |",
                timing.median / sum,
                timing.median / rig
            )?;
            if timing.label == parts::DESERIALISE {
                let (sum, share) = (grouped(sum), sum / rig);
                writeln!(
                    f,
                    "| **sum of the parts** | {sum} | | | 1.00 | {share:.2} |"
                )?;
            }
        }
        Ok(())
    }

    fn others(&self, f: &mut Formatter<'_>, section: Section, title: &str) -> fmt::Result {
        writeln!(f, "\n### {title}\n")?;
        writeln!(f, "| | median ns | min ns | spread |")?;
        writeln!(f, "| --- | ---: | ---: | ---: |")?;
        for timing in self.timings.section(section) {
            row(f, timing)?;
            writeln!(f)?;
        }
        Ok(())
    }

    fn conduct(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### What came of arguments that are not right\n")?;
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
        writeln!(f, "\n### Goals\n")?;
        writeln!(f, "| | by medians | by minima | at most | |")?;
        writeln!(f, "| --- | ---: | ---: | ---: | --- |")?;
        for goal in goals(&self.timings) {
            let verdict = if goal.is_met() { "met" } else { "**missed**" };
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
            Section::Small,
            &format!("Small call: 2 fields, {small} bytes of text"),
        )?;
        self.calls(
            f,
            Section::Large,
            &format!("Large call: 20 fields, nested, {large} bytes of text"),
        )?;
        self.others(f, Section::Registry, "Registry")?;
        self.others(f, Section::Building, "Building a tool")?;
        self.conduct(f)?;
        self.verdicts(f)
    }
}

fn row(f: &mut Formatter<'_>, timing: &Timing) -> fmt::Result {
    let Timing {
        label,
        median,
        min,
        spread,
        ..
    } = timing;
    let (median, min) = (grouped(*median), grouped(*min));
    write!(
        f,
        "| {label} | {median} | {min} | {:.0} % |",
        spread * 100.0
    )
}

/// `12,345`, or one decimal below a hundred.
fn grouped(nanoseconds: f64) -> String {
    if nanoseconds < 100.0 {
        return format!("{nanoseconds:.1}");
    }
    let digits = format!("{nanoseconds:.0}");
    let mut grouped = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Two decimals, more where they would all be zero.
fn significant(number: f64) -> String {
    if number < 0.01 {
        format!("{number:.4}")
    } else {
        format!("{number:.2}")
    }
}

/// A package's name with the versions of it that stand in the lock file.
fn locked(package: &str) -> String {
    let entry = format!("name = \"{package}\"\nversion = \"");
    let versions: Vec<&str> = LOCK
        .split(&entry)
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    format!("{package} {}", versions.join(" and "))
}
