//! Answers in many deltas.

use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use turnwright_bench_measure::Subject;
use turnwright_core::{BoxError, DispatchContext, Error, EventKind, TurnRunner};

pub(crate) const SECTION: &str = "deltas";
const PIECE: &str = "a token ";

/// The number of deltas, and the labels of the rows: read as they arrive, and run without a reader.
pub(crate) const COUNTS: [(u64, &str, &str); 3] = [
    (1_000, "1,000, read", "1,000, `run`"),
    (10_000, "10,000, read", "10,000, `run`"),
    (100_000, "100,000, read", "100,000, `run`"),
];

pub(crate) fn subjects() -> Result<Vec<Subject<'static>>, Error> {
    let mut subjects = Vec::new();
    for (count, read, run) in COUNTS {
        let made = turnwright_core::runner(move |ctx| talk(ctx, count)).build()?;
        let (runner, runtime) = (made.clone(), one_thread());
        let reading =
            move |times| runtime.block_on(repeat(times, async || read_turn(&runner, count).await));
        subjects.push(Subject::new(SECTION, read, reading).of_pieces(count));
        let (runner, runtime) = (made, one_thread());
        let running = move |times| {
            runtime.block_on(repeat(times, async || {
                let outcome = runner.run("Tell me a story.").await;
                assert_eq!(outcome.text.len() as u64, count * PIECE.len() as u64);
            }))
        };
        subjects.push(Subject::new(SECTION, run, running).of_pieces(count));
    }
    Ok(subjects)
}

async fn talk(ctx: DispatchContext, count: u64) -> Result<(), BoxError> {
    let mut message = ctx.reporter().message();
    for _ in 0..count {
        message.push(PIECE).await;
    }
    message.finish().await?;
    ctx.ack()?;
    Ok(())
}

/// Reads a turn to its end, and checks the offset of every delta. A reader that lags gets several pieces as one delta.
async fn read_turn(runner: &TurnRunner, count: u64) {
    let mut turn = runner.start("Tell me a story.");
    let mut heard = 0;
    while let Some(event) = turn.next().await {
        if let EventKind::MessageDelta(delta) = event.kind {
            assert_eq!(delta.offset, heard);
            heard += delta.text.len();
        }
    }
    assert_eq!(heard as u64, count * PIECE.len() as u64);
    assert!(turn.await.is_answered());
}

async fn repeat(times: u64, mut once: impl AsyncFnMut()) -> Duration {
    let start = Instant::now();
    for _ in 0..times {
        once().await;
    }
    start.elapsed()
}

fn one_thread() -> Runtime {
    let built = Builder::new_current_thread().enable_time().build();
    built.expect("a runtime can be made")
}
