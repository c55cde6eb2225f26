//! Concurrent writers, each on its own thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::runtime::Handle;
use tokio::task::{JoinHandle, spawn_blocking};
use turnwright_core::record::{Memory, Record, RecordKind};
use turnwright_core::store::{Batch, Loaded, Query, Revision};

use crate::store::chat::Chat;
use crate::store::outcome::{Broken, Outcome, ensure, same};
use crate::store::sample::note;

const WRITERS: usize = 4;
const ROUNDS: usize = 25;

/// Runs work on a separate thread, whatever the runtime.
pub(super) fn on_thread<T: Send + 'static>(
    work: impl Future<Output = Result<T, Broken>> + Send + 'static,
) -> JoinHandle<Result<T, Broken>> {
    let runtime = Handle::current();
    spawn_blocking(move || runtime.block_on(work))
}

pub(super) async fn join<T>(all: Vec<JoinHandle<Result<T, Broken>>>) -> Result<Vec<T>, Broken> {
    let mut done = Vec::new();
    for one in all {
        let panicked = |error| Broken(format!("a writer did not finish: {error}"));
        done.push(one.await.map_err(panicked)??);
    }
    Ok(done)
}

/// Applies a batch. Returns `false` if another writer was first.
async fn wins(chat: &Chat, batch: Batch) -> Result<bool, Broken> {
    match chat.apply(batch).await {
        Ok(_) => Ok(true),
        Err(error) if error.found_revision().is_some() => Ok(false),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn one_winner(chat: Chat) -> Outcome {
    for round in 0..ROUNDS as u64 {
        let writers = (0..WRITERS).map(|writer| {
            let chat = chat.clone();
            on_thread(async move {
                let record = note(&format!("{round}-{writer}"), "x")?;
                wins(&chat, Batch::new().put(record).expect(Revision(round))).await
            })
        });
        let won = join(writers.collect()).await?;
        let won = won.into_iter().filter(|won| *won).count();
        same("writers who won", won, 1)?;
    }
    let loaded = chat.all().await?;
    same("records of the winners", loaded.records.len(), ROUNDS)?;
    same("revision", loaded.revision, Revision(ROUNDS as u64))
}

fn counted(loaded: &Loaded) -> usize {
    let counter = loaded.records.first().map(|stored| stored.record.clone());
    let counter = counter.and_then(Record::downcast::<Memory>);
    counter.map_or(0, |memory| memory.text().parse().unwrap_or(0))
}

pub(super) async fn no_lost_update(chat: Chat) -> Outcome {
    let counter = Query::all().kind(RecordKind::Memory).ids(["counter"]);
    let writers = (0..WRITERS).map(|_| {
        let (chat, counter) = (chat.clone(), counter.clone());
        on_thread(async move {
            let mut left = ROUNDS;
            while left > 0 {
                let loaded = chat.load(&counter).await?;
                let next = note("counter", &(counted(&loaded) + 1).to_string())?;
                let batch = Batch::new().put(next).expect(loaded.revision);
                left -= usize::from(wins(&chat, batch).await?);
            }
            Ok(())
        })
    });
    join(writers.collect()).await?;
    let loaded = chat.load(&counter).await?;
    same("the counter", counted(&loaded), WRITERS * ROUNDS)
}

pub(super) async fn no_lost_write(chat: Chat) -> Outcome {
    let writers = (0..WRITERS).map(|writer| {
        let chat = chat.clone();
        on_thread(async move {
            let mut revisions = Vec::new();
            for round in 0..ROUNDS {
                let id = format!("{writer}-{round}");
                revisions.push(chat.note(&id, "x").await?.0);
            }
            Ok(revisions)
        })
    });
    let mut revisions: Vec<u64> = join(writers.collect()).await?.concat();
    revisions.sort_unstable();
    let each_once = (1..=revisions.len() as u64).collect::<Vec<_>>();
    same("revisions of single writes", revisions, each_once)?;
    let loaded = chat.all().await?;
    same("records", loaded.records.len(), WRITERS * ROUNDS)?;
    let places = loaded.records.iter().map(|stored| stored.position);
    ensure(places.is_sorted_by(|a, b| a < b), || {
        "two records have the same position, or the order is wrong".to_owned()
    })
}

/// Each batch deletes three records and puts them again with its number, while a reader reads.
pub(super) async fn atomic_batches(chat: Chat) -> Outcome {
    let over = Arc::new(AtomicBool::new(false));
    let looks = Arc::new(AtomicUsize::new(0));
    let (read, stop, looked) = (chat.clone(), Arc::clone(&over), Arc::clone(&looks));
    let reader = on_thread(async move {
        while !stop.load(Ordering::Acquire) {
            let loaded = read.all().await?;
            let Revision(revision) = loaded.revision;
            let memories = loaded.into_records().filter_map(Record::downcast::<Memory>);
            let texts: Vec<_> = memories.map(|memory| memory.text().to_owned()).collect();
            let count = if revision == 0 { 0 } else { 3 };
            let promised = vec![revision.to_string(); count];
            same(&format!("texts at revision {revision}"), texts, promised)?;
            looked.fetch_add(usize::from(revision > 0), Ordering::AcqRel);
        }
        Ok(())
    });
    let enough = || looks.load(Ordering::Acquire) > ROUNDS || reader.is_finished();
    let written = write_threes(&chat, enough).await;
    over.store(true, Ordering::Release);
    join(vec![reader]).await?;
    written
}

async fn write_threes(chat: &Chat, enough: impl Fn() -> bool) -> Outcome {
    for round in 1..=10_000 {
        if round > ROUNDS && enough() {
            break;
        }
        let text = round.to_string();
        let mut batch = Batch::new();
        for id in ["a", "b", "c"] {
            batch = batch.delete(RecordKind::Memory, id).put(note(id, &text)?);
        }
        chat.apply(batch).await?;
    }
    Ok(())
}
