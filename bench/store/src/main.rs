//! The cost of the embedded database: a stored call and a loaded conversation compared with bare SQLite, and a turn
//! compared with one in memory.
//!
//! `cargo run --release` prints the report. `-- --rounds 5 --slice-ms 5` makes it short. `-- --repeat 10000 --only
//! "store: a call"` runs the rows whose section or label contains that text this many times without timing them, for
//! a profiler. `-- --growth` measures only a conversation that grows to 10,000 turns.

mod bare;
mod calls;
mod folder;
mod growth;
mod loading;
mod options;
mod report;
mod runner;
mod turns;

use std::error::Error;

use turnwright_bench_measure::{Plan, Subject, Timings, measure};

use self::folder::Folder;
use self::options::What;
use self::report::Report;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = Folder::new()?;
    match What::from_command_line()? {
        What::Repeat { times, only } => {
            let all = [
                calls::subjects(&folder)?,
                loading::subjects(&folder)?,
                turns::subjects(&folder)?,
            ];
            let wanted = |subject: &Subject<'_>| subject.is_named(&only);
            for mut subject in all.into_iter().flatten().filter(wanted) {
                subject.repeat(times);
            }
        }
        What::Growth => println!("{}", growth::measure(&folder)?),
        What::Report(plan) => {
            println!("{}", report(plan, &folder)?);
            println!("{}", growth::measure(&folder)?);
        }
    }
    Ok(())
}

fn report(plan: Plan, folder: &Folder) -> Result<Report, Box<dyn Error>> {
    let mut timings = measure(&mut calls::subjects(folder)?, plan);
    timings.extend(measure(&mut loading::subjects(folder)?, plan));
    timings.extend(measure(&mut turns::subjects(folder)?, plan));
    Ok(Report {
        plan,
        timings: Timings(timings),
    })
}
