//! A turn in a growing conversation, of which each turn loads the last twenty exchanges.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::time::{Duration, Instant};

use turnwright_core::{BoxError, DispatchContext, History, Storage, TurnInput};
use turnwright_sqlite::SqliteStorage as _;

use crate::folder::Folder;
use crate::runner::runtime;

/// The number of turns for a median.
const WINDOW: usize = 200;
/// The numbers of earlier turns after which it is measured.
const AFTER: [usize; 5] = [200, 1_000, 2_500, 5_000, 10_000];

/// Median times of a turn, by the number of earlier turns.
pub(crate) struct Growth(Vec<(usize, [Duration; 2])>);

pub(crate) fn measure(folder: &Folder) -> Result<Growth, Box<dyn Error>> {
    let in_memory = medians(Storage::memory())?;
    let storage = runtime().block_on(Storage::sqlite(folder.file("growth")))?;
    let in_sqlite = medians(storage)?;
    let rows = AFTER.into_iter().zip(in_memory.into_iter().zip(in_sqlite));
    let rows = rows.map(|(after, (memory, sqlite))| (after, [memory, sqlite]));
    Ok(Growth(rows.collect()))
}

async fn answer(ctx: DispatchContext) -> Result<(), BoxError> {
    ctx.answer("That is all.").await?;
    Ok(())
}

fn medians(storage: Storage) -> Result<Vec<Duration>, Box<dyn Error>> {
    let runner = turnwright_core::runner(answer)
        .storage(storage)
        .history(History::last(20))
        .build()?;
    let mut window = Vec::with_capacity(WINDOW);
    let mut medians = Vec::new();
    runtime().block_on(async {
        for turn in 1..=AFTER.into_iter().max().unwrap_or_default() {
            let input = TurnInput::new("What is known of it?").conversation("chat");
            let start = Instant::now();
            let outcome = runner.run(input).await;
            window.push(start.elapsed());
            assert!(outcome.is_answered(), "{outcome:?}");
            if window.len() > WINDOW {
                window.remove(0);
            }
            if AFTER.contains(&turn) {
                let mut sorted = window.clone();
                sorted.sort_unstable();
                medians.push(sorted[sorted.len() / 2]);
            }
        }
    });
    Ok(medians)
}

impl Display for Growth {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "\n### What a turn costs in a conversation that grows\n")?;
        writeln!(
            f,
            "| turns before it | memory, median µs | SQLite, median µs |"
        )?;
        writeln!(f, "| ---: | ---: | ---: |")?;
        for (after, [memory, sqlite]) in &self.0 {
            let (memory, sqlite) = (memory.as_micros(), sqlite.as_micros());
            writeln!(f, "| {after} | {memory} | {sqlite} |")?;
        }
        Ok(())
    }
}
