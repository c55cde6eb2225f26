//! A complete turn compared with the calls that it makes.

use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use turnwright_bench_measure::Subject;
use turnwright_core::{Error, Tool};

use crate::runner::{Called, bare, bare_calls, full, tools, turn};

pub(crate) const ONE_THREAD: &str = "current-thread runtime";
pub(crate) const MANY_THREADS: &str = "multi-thread runtime";

/// The number of turns per runner, and of calls per dispatch. Their records are then freed, so that memory stays
/// constant however long the measurement takes. Freeing them counts.
const BATCH: u64 = 256;

pub(crate) const fn turn_label(called: Called) -> &'static str {
    match called {
        Called::ShortText => "turn: a short text",
        Called::ShortTextNoted => "turn: a short text, noted in the ledger",
        Called::Handle => "turn: a handle",
    }
}

pub(crate) const fn bare_label(called: Called) -> &'static str {
    match called {
        Called::ShortText => "three bare calls: a short text",
        Called::ShortTextNoted => {
            "three bare calls: a short text (nothing is noted without a store)"
        }
        Called::Handle => "three bare calls: a handle",
    }
}

pub(crate) fn subjects() -> Result<Vec<Subject<'static>>, Error> {
    let tools = tools()?;
    let mut subjects = Vec::new();
    for section in [ONE_THREAD, MANY_THREADS] {
        for called in Called::ALL {
            let own = tools.clone();
            subjects.push(Subject::new(section, bare_label(called), move |times| {
                let tools = own.clone();
                timed(section, move || repeat_bare(called, tools, times))
            }));
            let own = tools.clone();
            subjects.push(Subject::new(section, turn_label(called), move |times| {
                let tools = own.clone();
                timed(section, move || repeat_turns(called, tools, times))
            }));
        }
    }
    Ok(subjects)
}

/// Runs work in a task of a runtime of this kind, as in a real program.
fn timed<F>(section: &str, work: impl FnOnce() -> F) -> Duration
where
    F: Future<Output = Duration> + Send + 'static,
{
    let runtime = runtime(section);
    runtime
        .block_on(async { runtime.spawn(work()).await })
        .expect("nothing panics")
}

fn runtime(section: &str) -> Runtime {
    let mut builder = match section {
        ONE_THREAD => Builder::new_current_thread(),
        _ => Builder::new_multi_thread(),
    };
    let built = builder.worker_threads(2).enable_time().build();
    built.expect("a runtime can be made")
}

async fn repeat_bare(called: Called, tools: Vec<Tool>, times: u64) -> Duration {
    let start = Instant::now();
    for batch in batches(times) {
        let ctx = bare(&tools).expect("the tools are well defined");
        for _ in 0..batch {
            bare_calls(&ctx, called).await;
        }
    }
    start.elapsed()
}

async fn repeat_turns(called: Called, tools: Vec<Tool>, times: u64) -> Duration {
    let start = Instant::now();
    for batch in batches(times) {
        let runner = full(called, &tools).expect("the runner is well defined");
        for _ in 0..batch {
            turn(&runner).await;
        }
    }
    start.elapsed()
}

fn batches(times: u64) -> impl Iterator<Item = u64> {
    let complete = std::iter::repeat_n(BATCH, (times / BATCH) as usize);
    complete.chain((!times.is_multiple_of(BATCH)).then_some(times % BATCH))
}
