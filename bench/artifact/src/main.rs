//! The cost of querying a large artifact: time compared with `rg`, `grep`, `head` and `tail`, and memory.
//!
//! `cargo run --release` creates a log of 1 GiB, a line of 100 MB and 100 MB of JSON lines in the temporary folder,
//! prints the report and removes them. `-- --mib 64 --rounds 3` makes it short. With `TURNWRIGHT_BENCH_KEEP=1` the
//! files are kept and reused. `-- --ask count ERROR <file>` runs one query, for a profiler.

mod contenders;
mod files;
mod options;
mod questions;
mod report;

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};

use turnwright_bench_measure::{Summary, peak_memory_kib};

use self::contenders::{Race, Side};
use self::files::Files;
use self::options::{Options, What};
use self::questions::{Question, ask};
use self::report::{Memory, Report, Row};

fn main() -> Result<(), Box<dyn Error>> {
    match Options::from_command_line()?.what {
        What::Ask { question, file } => {
            let answer = ask(&question, &file)?;
            println!("{answer}\n{}", peak_memory_kib()?);
            Ok(())
        }
        What::Report { mib, rounds } => {
            let files = Files::make(mib)?;
            let report = Report {
                mib,
                rounds,
                searches: race(&contenders::searches(files.log()), rounds)?,
                ends: race(&contenders::ends(files.log()), rounds)?,
                memory: memory(&files)?,
            };
            println!("{report}");
            Ok(())
        }
    }
}

/// Runs the sides of each race alternately, round by round, so that disturbances affect all of them.
fn race(races: &[Race], rounds: usize) -> Result<Vec<Row>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for race in races {
        let sides: Vec<&Side> = race
            .sides
            .iter()
            .filter(|side| side.is_installed())
            .collect();
        let mut times = vec![Vec::new(); sides.len()];
        let mut answers = Vec::new();
        // The first round warms caches and is not counted.
        for round in 0..=rounds {
            for (side, times) in sides.iter().zip(&mut times) {
                let (answer, time) = side.run()?;
                answers.push(answer);
                if round > 0 {
                    times.push(time.as_secs_f64());
                }
            }
        }
        answers.dedup();
        if answers.len() != 1 {
            return Err(format!("{}: the sides do not agree: {answers:?}", race.name).into());
        }
        for (side, times) in sides.iter().zip(times) {
            rows.push(Row {
                race: race.name,
                side: side.name,
                seconds: Summary::of(times),
            });
        }
    }
    Ok(rows)
}

/// Returns the peak memory of a new process that runs one query.
fn memory(files: &Files) -> Result<Vec<Memory>, Box<dyn Error>> {
    let mut rows = Vec::new();
    for (name, file) in files.all() {
        for question in Question::all(name) {
            rows.push(Memory {
                file: name,
                question: question.name(),
                kib: peak_of_child(&question, file)?,
            });
        }
    }
    Ok(rows)
}

fn peak_of_child(question: &Question, file: &Path) -> Result<u64, Box<dyn Error>> {
    let mut most = 0;
    for _ in 0..3 {
        let output = Command::new(std::env::current_exe()?)
            .arg("--ask")
            .args(question.words())
            .arg(file)
            .stderr(Stdio::inherit())
            .output()?;
        let text = String::from_utf8(output.stdout)?;
        let peak = text.lines().last().ok_or("the child printed nothing")?;
        most = most.max(peak.parse::<u64>()?);
    }
    Ok(most)
}
