//! A turn of three calls: with records in memory, and with the database.

use std::error::Error;
use std::time::Instant;

use turnwright_bench_measure::Subject;
use turnwright_core::{Storage, TurnRunner};
use turnwright_sqlite::SqliteStorage as _;

use crate::folder::Folder;
use crate::runner::{Called, runner, runtime, turn};

pub(crate) const SECTION: &str = "a turn of three calls";
/// The number of turns per conversation.
const TURNS: u64 = 100;

pub(crate) const fn memory_label(called: Called) -> &'static str {
    match called {
        Called::Reads => "memory: calls that only read",
        Called::Writes => "memory: calls that may write",
    }
}

pub(crate) const fn store_label(called: Called) -> &'static str {
    match called {
        Called::Reads => "store: calls that only read",
        Called::Writes => "store: calls that may write (each flushed before it runs)",
    }
}

pub(crate) fn subjects(folder: &Folder) -> Result<Vec<Subject<'static>>, Box<dyn Error>> {
    let mut subjects = Vec::new();
    for called in Called::ALL {
        let in_memory = runner(called, Storage::memory())?;
        subjects.push(subject(memory_label(called), in_memory));
        let file = folder.file(&format!("turns-{called:?}"));
        let storage = runtime().block_on(Storage::sqlite(&file))?;
        subjects.push(subject(store_label(called), runner(called, storage)?));
    }
    Ok(subjects)
}

fn subject(label: &'static str, runner: TurnRunner) -> Subject<'static> {
    let runtime = runtime();
    let mut done = 0;
    Subject::new(SECTION, label, move |times| {
        let start = Instant::now();
        runtime.block_on(async {
            for _ in 0..times {
                let conversation = format!("chat-{}", done / TURNS);
                turn(&runner, &conversation).await;
                done += 1;
            }
        });
        start.elapsed()
    })
}
