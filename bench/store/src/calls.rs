//! A stored call: the batches that a turn writes for it.

use std::error::Error;
use std::path::Path;
use std::time::Instant;

use turnwright_bench_measure::Subject;
use turnwright_core::store::{Batch, BatchId, ConversationId, Store as _};
use turnwright_sqlite::SqliteStore;

use crate::bare::{Bare, Rows};
use crate::folder::Folder;
use crate::runner::{Called, calls, runtime};

pub(crate) const SECTION: &str = "a stored call";
/// The number of calls per conversation, so that rows are always new.
const TURNS: usize = 100;
/// The number of concurrent calls, in separate conversations.
const AT_ONCE: usize = 16;

pub(crate) const fn bare_label(called: Called) -> &'static str {
    match called {
        Called::Reads => "bare: a call that only reads (two transactions)",
        Called::Writes => "bare: a call that may write (two transactions, the first flushed)",
    }
}

pub(crate) const fn store_label(called: Called) -> &'static str {
    match called {
        Called::Reads => "store: a call that only reads",
        Called::Writes => "store: a call that may write",
    }
}

pub(crate) const fn at_once_label(called: Called) -> &'static str {
    match called {
        Called::Reads => "store: one of 16 calls at once that only read",
        Called::Writes => "store: one of 16 calls at once that may write",
    }
}

pub(crate) fn subjects(folder: &Folder) -> Result<Vec<Subject<'static>>, Box<dyn Error>> {
    let mut subjects = Vec::new();
    for called in Called::ALL {
        let calls = calls(called, TURNS)?;
        let name = format!("{called:?}");
        subjects.push(bare(called, &folder.file(&format!("bare-{name}")), &calls)?);
        let file = folder.file(&format!("store-{name}"));
        subjects.push(store(called, &file, calls.clone())?);
        let file = folder.file(&format!("at-once-{name}"));
        subjects.push(at_once(called, &file, calls)?);
    }
    Ok(subjects)
}

fn bare(
    called: Called,
    file: &Path,
    calls: &[Vec<Batch>],
) -> Result<Subject<'static>, Box<dyn Error>> {
    // The store creates the tables.
    let runtime = runtime();
    runtime.block_on(async { SqliteStore::open(file).await?.close().await })?;
    let mut bare = Bare::open(file)?;
    let mut rows = Vec::new();
    for call in calls {
        rows.push(call.iter().map(Rows::of).collect::<Result<Vec<_>, _>>()?);
    }
    let mut done = 0;
    Ok(Subject::new(SECTION, bare_label(called), move |times| {
        let start = Instant::now();
        for _ in 0..times {
            if done % rows.len() == 0 {
                let made = bare.conversation_id(&format!("chat-{done}"));
                made.expect("a conversation can be made");
            }
            for transaction in &rows[done % rows.len()] {
                bare.write(transaction).expect("rows can be written");
            }
            done += 1;
        }
        start.elapsed()
    }))
}

fn store(
    called: Called,
    file: &Path,
    calls: Vec<Vec<Batch>>,
) -> Result<Subject<'static>, Box<dyn Error>> {
    let runtime = runtime();
    let store = runtime.block_on(SqliteStore::open(file))?;
    let mut done = 0;
    let mut conversation_id = ConversationId::new("");
    Ok(Subject::new(SECTION, store_label(called), move |times| {
        let start = Instant::now();
        runtime.block_on(async {
            for _ in 0..times {
                if done % calls.len() == 0 {
                    conversation_id = ConversationId::new(format!("chat-{done}"));
                }
                for batch in &calls[done % calls.len()] {
                    let stored = store
                        .apply(&conversation_id, batch.clone().id(BatchId::random()))
                        .await;
                    stored.expect("a batch can be stored");
                }
                done += 1;
            }
        });
        start.elapsed()
    }))
}

fn at_once(
    called: Called,
    file: &Path,
    calls: Vec<Vec<Batch>>,
) -> Result<Subject<'static>, Box<dyn Error>> {
    let runtime = runtime();
    let store = runtime.block_on(SqliteStore::open(file))?;
    let mut done = 0;
    let subject = Subject::new(SECTION, at_once_label(called), move |times| {
        let start = Instant::now();
        runtime.block_on(async {
            for _ in 0..times {
                let (call, pass) = (&calls[done % calls.len()], done / calls.len());
                let writers = (0..AT_ONCE).map(|writer| {
                    let (store, call) = (store.clone(), call.clone());
                    let conversation_id = ConversationId::new(format!("chat-{pass}-{writer}"));
                    tokio::spawn(async move {
                        for batch in call {
                            let stored = store
                                .apply(&conversation_id, batch.id(BatchId::random()))
                                .await;
                            stored.expect("a batch can be stored");
                        }
                    })
                });
                for writer in writers.collect::<Vec<_>>() {
                    writer.await.expect("nothing panics");
                }
                done += 1;
            }
        });
        start.elapsed()
    });
    Ok(subject.of_pieces(AT_ONCE as u64))
}
