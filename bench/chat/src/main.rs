//! The cost of a turn over HTTP, compared with a hand-written loop on the same HTTP client.
//!
//! `cargo run --release` prints the report; `-- --quick` makes it short. `-- --repeat 1000 --only "three calls:
//! Turnwright"` runs the rows whose section and label contain that text this many times without timing them, for a
//! profiler.

mod bare;
mod cost;
mod crowd;
mod options;
mod ours;
mod report;
mod script;
mod server;
mod subjects;
mod tools;

use std::error::Error;

use turnwright_bench_measure::{Timings, measure};

use self::crowd::Crowds;
use self::options::{Plan, What};
use self::report::Report;
use self::server::Server;

fn main() -> Result<(), Box<dyn Error>> {
    match What::from_command_line()? {
        What::Serve => server::serve()?,
        What::Crowd(crowd) => println!("{}", crowd.measure()?),
        What::Repeat { times, only } => {
            let server = Server::start()?;
            for mut subject in subjects::all(&server)? {
                if subject.is_named(&only) {
                    subject.repeat(times);
                }
            }
        }
        What::Report(plan) => println!("{}", report(plan)?),
    }
    Ok(())
}

fn report(plan: Plan) -> Result<Report, Box<dyn Error>> {
    let server = Server::start()?;
    let requests = subjects::requests(&server)?;
    let mut timings = Vec::new();
    for mut section in subjects::by_section(&server)? {
        timings.extend(measure(&mut section, plan.timing));
    }
    Ok(Report {
        plan,
        requests,
        timings: Timings(timings),
        crowds: Crowds::measure(&server, plan)?,
    })
}
