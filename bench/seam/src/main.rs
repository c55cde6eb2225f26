//! Nanoseconds per tool call, in one run: Turnwright, the parts that it cannot do without, and other libraries.
//!
//! `cargo run --release` prints the report. `-- --rounds 5 --slice-ms 5` makes it short. `-- --only "Turnwright"`
//! times only the rows whose label contains that text. `-- --repeat 100000 --only "valid without changes"` runs the
//! matching rows of the small call that many times without timing them, for a profiler; add `--large` for the large
//! call.

mod arguments;
mod conduct;
mod goals;
mod options;
mod section;
mod subjects;
mod table;

use std::error::Error;

use tokio::runtime::{Builder, Runtime};
use turnwright_bench_measure::{Subject, Timings, measure};

use self::{
    arguments::{Arguments, Forecast, Order},
    conduct::Callable,
    options::{Mode, Options},
    subjects::{
        building, parts, registry, rig,
        rmcp::{Connection, Rmcp},
        turnwright::Turnwright,
    },
    table::Report,
};

fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::from_command_line()?;
    let runtime = Builder::new_current_thread().enable_time().build()?;
    let connection = Connection::open(&runtime);
    let small = callable::<Forecast>(&connection)?;
    let large = callable::<Order>(&connection)?;

    let seen_small = runtime.block_on(small.observe())?;
    let seen_large = runtime.block_on(large.observe())?;

    let mut subjects = calls(section::SMALL, &small, &runtime)?;
    subjects.extend(calls(section::LARGE, &large, &runtime)?);
    subjects.extend(registry::subjects()?);
    subjects.extend(building::subjects()?);
    subjects.retain(|subject| options.wants(subject));

    match options.mode {
        Mode::Repeat(times) => {
            for subject in &mut subjects {
                subject.repeat(times);
            }
        }
        Mode::Measure(plan) => {
            let report = Report {
                plan,
                timings: Timings(measure(&mut subjects, plan)),
                small: seen_small,
                large: seen_large,
                text_sizes: [Forecast::VALID.len(), Order::VALID.len()],
            };
            println!("{report}");
        }
    }
    Ok(())
}

fn callable<A: Arguments>(connection: &Connection) -> Result<Callable<A>, Box<dyn Error>> {
    let turnwright = Turnwright::new()?;
    Ok(Callable {
        rig: rig::declared::Rig::new(turnwright.document()),
        #[cfg(feature = "rig-newest")]
        rig_newest: rig::newest::Rig::new(turnwright.document()),
        rmcp: Rmcp::new(turnwright.document(), connection)?,
        turnwright,
    })
}

fn calls<'a, A: Arguments>(
    section: &'static str,
    callable: &'a Callable<A>,
    runtime: &'a Runtime,
) -> Result<Vec<Subject<'a>>, Box<dyn Error>> {
    let mut subjects = parts::subjects::<A>(section, callable.turnwright.document())?;
    subjects.extend(callable.turnwright.subjects(section, runtime));
    subjects.push(callable.rig.subject(section, runtime));
    #[cfg(feature = "rig-newest")]
    subjects.push(callable.rig_newest.subject(section, runtime));
    subjects.push(callable.rmcp.subject(section, runtime));
    Ok(subjects)
}
