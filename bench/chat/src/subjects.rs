//! The measured subjects.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use turnwright_bench_measure::Subject;

use crate::bare::Bare;
use crate::cost::cpu_time;
use crate::ours::{self, Ours};
use crate::script::{LONG, Script};
use crate::server::Server;

pub(crate) const THREE_CALLS: &str = "three calls";
pub(crate) const DELTAS: &str = "deltas in one write";
pub(crate) const DELTAS_APART: &str = "deltas in small writes";
pub(crate) const EIGHT_CALLS: &str = "eight calls at once";

pub(crate) const BARE: &str = "the loop by hand";
pub(crate) const RUN: &str = "Turnwright, `run`";
pub(crate) const READ: &str = "Turnwright, `start`, read";

/// The request sizes of a turn, including heads: ours, and the loop's.
pub(crate) struct Requests {
    pub(crate) ours: Vec<usize>,
    pub(crate) bare: Vec<usize>,
}

/// The clock that is used.
type Clock = fn() -> Duration;

pub(crate) fn by_section(server: &Server) -> Result<Vec<Vec<Subject<'static>>>, Box<dyn Error>> {
    let (processor, wall) = (cpu_time as Clock, on_the_wall as Clock);
    Ok(vec![
        section(server, THREE_CALLS, Script::ThreeCalls, 1, processor)?,
        section(server, DELTAS, Script::Long, LONG, processor)?,
        section(
            server,
            DELTAS_APART,
            Script::LongInSmallWrites,
            LONG,
            processor,
        )?,
        section(server, EIGHT_CALLS, Script::EightCalls, 1, wall)?,
    ])
}

pub(crate) fn all(server: &Server) -> Result<Vec<Subject<'static>>, Box<dyn Error>> {
    Ok(by_section(server)?.into_iter().flatten().collect())
}

/// Each with its own single-threaded runtime and connections.
fn section(
    server: &Server,
    name: &'static str,
    script: Script,
    pieces: usize,
    clock: Clock,
) -> Result<Vec<Subject<'static>>, Box<dyn Error>> {
    let url = server.url(script);
    let pieces = pieces as u64;
    let (bare, runtime) = (Arc::new(Bare::new(&url, &ours::tools()?)?), one_thread()?);
    let by_hand = move |times| {
        let bare = Arc::clone(&bare);
        taken(&runtime, clock, async move {
            for _ in 0..times {
                bare.run(script).await;
            }
        })
    };
    let (ours, runtime) = (Arc::new(Ours::new(&url)?), one_thread()?);
    let run = move |times| {
        let ours = Arc::clone(&ours);
        taken(
            &runtime,
            clock,
            async move { ours.run(times, script).await },
        )
    };
    let (ours, runtime) = (Arc::new(Ours::new(&url)?), one_thread()?);
    let read = move |times| {
        let ours = Arc::clone(&ours);
        taken(
            &runtime,
            clock,
            async move { ours.read(times, script).await },
        )
    };
    Ok(vec![
        Subject::new(name, BARE, by_hand).of_pieces(pieces),
        Subject::new(name, RUN, run).of_pieces(pieces),
        Subject::new(name, READ, read).of_pieces(pieces),
    ])
}

/// Runs work in a task, as in a real program. The runtime polls the network between two polls of the future it blocks
/// on, but only occasionally between tasks.
fn taken(
    runtime: &Runtime,
    clock: Clock,
    work: impl Future<Output = ()> + Send + 'static,
) -> Duration {
    let start = clock();
    runtime
        .block_on(runtime.spawn(work))
        .expect("nothing panics");
    clock() - start
}

fn on_the_wall() -> Duration {
    static BEGIN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    BEGIN.get_or_init(Instant::now).elapsed()
}

fn one_thread() -> Result<Runtime, Box<dyn Error>> {
    Ok(Builder::new_current_thread().enable_all().build()?)
}

/// Runs one turn of each side, to see the requests on the wire.
pub(crate) fn requests(server: &Server) -> Result<Requests, Box<dyn Error>> {
    let (runtime, script) = (one_thread()?, Script::ThreeCalls);
    let url = server.url(script);
    let runner = Ours::new(&url)?.runner()?;
    runtime.block_on(ours::run(&runner, script));
    let ours = server.sizes(&runtime)?;
    let bare = Bare::new(&url, &ours::tools()?)?;
    runtime.block_on(bare.run(script));
    let bare = server.sizes(&runtime)?;
    Ok(Requests { ours, bare })
}
