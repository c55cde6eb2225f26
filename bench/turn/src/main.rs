//! The cost of a turn: compared with its calls, per delta, per waiting turn, per second, and the memory that it
//! leaves behind.
//!
//! `cargo run --release` prints the report. `-- --rounds 5 --slice-ms 5 --turns 1000` makes it short. `-- --repeat
//! 10000 --only "turn: a handle"` runs the rows whose section or label contains that text this many times without
//! timing them, for a profiler.

mod deltas;
mod left_behind;
mod options;
mod report;
mod runner;
mod throughput;
mod turn_overhead;
mod waiting;

use std::error::Error;

use turnwright_bench_measure::{Plan, Subject, Timings, measure};

use self::left_behind::Case;
use self::options::What;
use self::report::Report;
use self::waiting::Crowd;

fn main() -> Result<(), Box<dyn Error>> {
    match What::from_command_line()? {
        What::Wait(crowd) => println!("{}", crowd.measure()?),
        What::Left(case) => println!("{}", case.measure()?),
        What::Repeat { times, only } => {
            let all = [
                turn_overhead::subjects()?,
                deltas::subjects()?,
                throughput::subjects()?,
            ];
            let wanted = |subject: &Subject<'_>| subject.is_named(&only);
            for mut subject in all.into_iter().flatten().filter(wanted) {
                subject.repeat(times);
            }
        }
        What::Report { plan, turns } => println!("{}", report(plan, turns)?),
    }
    Ok(())
}

fn report(plan: Plan, turns: usize) -> Result<Report, Box<dyn Error>> {
    let mut timings = measure(&mut turn_overhead::subjects()?, plan);
    timings.extend(measure(&mut deltas::subjects()?, plan));
    timings.extend(measure(&mut throughput::subjects()?, plan));
    let waiting: Result<Vec<(Crowd, f64)>, Box<dyn Error>> = Crowd::all(turns)
        .into_iter()
        .map(|crowd| Ok((crowd, crowd.in_a_child()?)))
        .collect();
    let left: Result<Vec<(Case, f64)>, Box<dyn Error>> = Case::ALL
        .into_iter()
        .map(|case| Ok((case, case.in_a_child()?)))
        .collect();
    Ok(Report {
        plan,
        timings: Timings(timings),
        waiting: waiting?,
        left: left?,
    })
}
