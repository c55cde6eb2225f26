//! Turns per second, many concurrently.

use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use turnwright_bench_measure::Subject;
use turnwright_core::Error;

use crate::runner::{Called, full, tools, turn};

pub(crate) const SECTION: &str = "throughput";
pub(crate) const ONE: &str = "1 thread";
const TWO: &str = "2 threads";

/// The number of concurrent callers. Each runs one turn after the other.
pub(crate) const CALLERS: u64 = 16;
/// The number of turns per repetition. They share one store, which is new for each repetition.
const TURNS: u64 = 1_024;

pub(crate) fn subjects() -> Result<Vec<Subject<'static>>, Error> {
    let tools = tools()?;
    let rows = [(ONE, 1), (TWO, 2)].map(|(label, threads)| {
        let tools = tools.clone();
        let mut builder = Builder::new_multi_thread();
        let built = builder.worker_threads(threads).enable_time().build();
        let runtime = built.expect("a runtime can be made");
        let repeat = move |times| {
            let mut taken = Duration::ZERO;
            for _ in 0..times {
                let runner = full(Called::ShortText, &tools).expect("the runner is well defined");
                let start = Instant::now();
                runtime.block_on(async {
                    let callers: Vec<_> = (0..CALLERS)
                        .map(|_| {
                            let runner = runner.clone();
                            tokio::spawn(async move {
                                for _ in 0..TURNS / CALLERS {
                                    turn(&runner).await;
                                }
                            })
                        })
                        .collect();
                    for caller in callers {
                        caller.await.expect("nothing panics");
                    }
                });
                taken += start.elapsed();
            }
            taken
        };
        Subject::new(SECTION, label, repeat).of_pieces(TURNS)
    });
    Ok(rows.into())
}
