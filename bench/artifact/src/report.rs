//! The report, as Markdown.

use std::fmt::{self, Display, Formatter};

use turnwright_bench_measure::{Summary, header, rustc, verdict};

use crate::contenders::{RIPGREP, TURNWRIGHT, versions};

/// One side of a race.
pub(crate) struct Row {
    pub(crate) race: &'static str,
    pub(crate) side: &'static str,
    pub(crate) seconds: Summary,
}

pub(crate) struct Memory {
    pub(crate) file: &'static str,
    pub(crate) question: String,
    pub(crate) kib: u64,
}

pub(crate) struct Report {
    pub(crate) mib: u64,
    pub(crate) rounds: usize,
    pub(crate) searches: Vec<Row>,
    pub(crate) ends: Vec<Row>,
    pub(crate) memory: Vec<Memory>,
}

/// The goals.
const OF_RIPGREP: f64 = 1.5;
const OF_PROGRAM: f64 = 1.0;
const MAX_MIB: f64 = 16.0;

/// Returns our median divided by that of another side of the same race.
fn ratio(rows: &[Row], race: &str, side: &str) -> Option<f64> {
    let median = |side: &str| {
        let row = rows
            .iter()
            .find(|row| row.race == race && row.side == side)?;
        Some(row.seconds.median)
    };
    Some(median(TURNWRIGHT)? / median(side)?)
}

fn table(f: &mut Formatter<'_>, rows: &[Row], unit: &str, factor: f64) -> fmt::Result {
    writeln!(
        f,
        "| | | median {unit} | min {unit} | spread | Turnwright compared with it |"
    )?;
    writeln!(f, "| --- | --- | ---: | ---: | ---: | ---: |")?;
    for row in rows {
        let Row {
            race,
            side,
            seconds,
        } = row;
        let (median, min) = (seconds.median * factor, seconds.min * factor);
        let spread = seconds.spread * 100.0;
        let compared = ratio(rows, race, side).unwrap_or(f64::NAN);
        let name = if *side == TURNWRIGHT {
            format!("**{side}**")
        } else {
            format!("`{side}`")
        };
        writeln!(
            f,
            "| {race} | {name} | {median:.2} | {min:.2} | {spread:.0} % | {compared:.2} × |"
        )?;
    }
    Ok(())
}

impl Report {
    fn goals(&self, f: &mut Formatter<'_>) -> fmt::Result {
        header(f, "Goals", &["measured", "at most", ""])?;
        let mut goal = |text: String, measured: Option<f64>, bound: f64, unit: &str| {
            let Some(measured) = measured else {
                return writeln!(f, "| {text} | not measured | {bound} {unit} | |");
            };
            let met = verdict(measured <= bound);
            writeln!(
                f,
                "| {text} | {measured:.2} {unit} | {bound} {unit} | {met} |"
            )
        };
        let mut races: Vec<&str> = self.searches.iter().map(|row| row.race).collect();
        races.dedup();
        for race in races {
            let measured = ratio(&self.searches, race, RIPGREP);
            goal(
                format!("{race} compared with ripgrep"),
                measured,
                OF_RIPGREP,
                "×",
            )?;
        }
        for (race, side) in [
            ("first 10 lines", "head -n 10"),
            ("last 10 lines", "tail -n 10"),
        ] {
            let measured = ratio(&self.ends, race, side);
            goal(
                format!("{race} compared with `{side}`"),
                measured,
                OF_PROGRAM,
                "×",
            )?;
        }
        let most = self.memory.iter().map(|row| row.kib).max();
        let most = most.map(|kib| kib as f64 / 1024.0);
        goal(
            "the peak memory of any query".to_owned(),
            most,
            MAX_MIB,
            "MiB",
        )
    }
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Report { mib, rounds, .. } = self;
        writeln!(
            f,
            "{}; {}; a log of {mib} MiB; {rounds} rounds, the sides in turn.",
            rustc(),
            versions()
        )?;
        writeln!(f, "\n### Lines of the log that match, counted\n")?;
        table(f, &self.searches, "ms", 1e3)?;
        writeln!(f, "\n### First and last lines\n")?;
        table(f, &self.ends, "µs", 1e6)?;
        writeln!(f, "\n### Peak memory of a process with one query\n")?;
        writeln!(f, "| file | question | MiB |")?;
        writeln!(f, "| --- | --- | ---: |")?;
        for row in &self.memory {
            let Memory {
                file,
                question,
                kib,
            } = row;
            writeln!(f, "| {file} | `{question}` | {:.1} |", *kib as f64 / 1024.0)?;
        }
        self.goals(f)
    }
}
