//! Several writers at once, each on a thread of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::runtime::Handle;
use tokio::task::{JoinHandle, spawn_blocking};
use turnwright_core::record::{Record, RecordKind};
use turnwright_core::store::{
    Batch, ConversationId, Loaded, Query, Revision, Store, StoreExt as _,
};

use crate::store::outcome::{Broken, Outcome, ensure, same};
use crate::store::sample::note;

const WRITERS: usize = 4;
const ROUNDS: usize = 25;

/// Runs work on a thread, whatever the runtime.
fn beside<T: Send + 'static>(
    work: impl Future<Output = Result<T, Broken>> + Send + 'static,
) -> JoinHandle<Result<T, Broken>> {
    let runtime = Handle::current();
    spawn_blocking(move || runtime.block_on(work))
}

async fn join<T>(all: Vec<JoinHandle<Result<T, Broken>>>) -> Result<Vec<T>, Broken> {
    let mut done = Vec::new();
    for one in all {
        let panicked = |error| Broken(format!("a writer came to no end: {error}"));
        done.push(one.await.map_err(panicked)??);
    }
    Ok(done)
}

pub(super) async fn one_winner(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    for round in 0..ROUNDS as u64 {
        let writers = (0..WRITERS).map(|writer| {
            let (store, conversation_id) = (Arc::clone(&store), conversation_id.clone());
            beside(async move {
                let id = format!("{round}-{writer}");
                let batch = Batch::new().put(note(&id, "x")?).expect(Revision(round));
                match store.apply(&conversation_id, batch).await {
                    Ok(revision) => same("revision", revision, Revision(round + 1)).map(|()| true),
                    Err(error) if error.found_revision().is_some() => Ok(false),
                    Err(error) => Err(error.into()),
                }
            })
        });
        let won = join(writers.collect()).await?;
        let won = won.into_iter().filter(|won| *won).count();
        same("writers who won", won, 1)?;
    }
    let found = store.records(&conversation_id).await?.len();
    same("records of the winners", found, ROUNDS)
}

fn counted(loaded: &Loaded) -> usize {
    let counter = loaded.records.first().map(|stored| stored.record.clone());
    let counter = counter.and_then(Record::into_memory);
    counter.map_or(0, |it| it.text().parse().unwrap_or(0))
}

pub(super) async fn no_lost_update(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let counter = Query::all().kind(RecordKind::Memory).ids(["counter"]);
    let writers = (0..WRITERS).map(|_| {
        let (store, conversation_id, counter) =
            (Arc::clone(&store), conversation_id.clone(), counter.clone());
        beside(async move {
            for _ in 0..ROUNDS {
                loop {
                    let loaded = store.load(&conversation_id, &counter).await?;
                    let next = (counted(&loaded) + 1).to_string();
                    let batch = Batch::new().put(note("counter", &next)?);
                    match store
                        .apply(&conversation_id, batch.expect(loaded.revision))
                        .await
                    {
                        Ok(_) => break,
                        Err(error) if error.found_revision().is_some() => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            Ok(())
        })
    });
    join(writers.collect()).await?;
    let loaded = store.load(&conversation_id, &counter).await?;
    same("the counter", counted(&loaded), WRITERS * ROUNDS)
}

pub(super) async fn no_lost_write(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let writers = (0..WRITERS).map(|writer| {
        let (store, conversation_id) = (Arc::clone(&store), conversation_id.clone());
        beside(async move {
            let mut revisions = Vec::new();
            for round in 0..ROUNDS {
                let record = note(&format!("{writer}-{round}"), "x")?;
                revisions.push(store.put(&conversation_id, record).await?.0);
            }
            Ok(revisions)
        })
    });
    let mut revisions: Vec<u64> = join(writers.collect()).await?.concat();
    revisions.sort_unstable();
    let each_once = (1..)
        .zip(&revisions)
        .all(|(n, found): (u64, _)| n == *found);
    ensure(each_once, || {
        format!("revisions of single writes: {revisions:?}")
    })?;
    let loaded = store.load(&conversation_id, &Query::all()).await?;
    same("records", loaded.records.len(), WRITERS * ROUNDS)?;
    let places = loaded.records.iter().map(|stored| stored.position);
    ensure(places.is_sorted_by(|a, b| a < b), || {
        "two records have one position, or come in another order".to_owned()
    })
}

pub(super) async fn whole_batches(store: Arc<dyn Store>) -> Outcome {
    let conversation_id = ConversationId::new("s");
    let over = Arc::new(AtomicBool::new(false));
    let looks = Arc::new(AtomicUsize::new(0));
    let reader = beside(read_threes(
        (Arc::clone(&store), conversation_id.clone()),
        (Arc::clone(&over), Arc::clone(&looks)),
    ));
    let enough = || looks.load(Ordering::Acquire) > ROUNDS || reader.is_finished();
    let written = write_threes(&*store, &conversation_id, enough).await;
    over.store(true, Ordering::Release);
    join(vec![reader]).await?;
    written
}

/// Each batch takes three records away and puts them again with its number.
async fn write_threes(
    store: &dyn Store,
    conversation_id: &ConversationId,
    enough: impl Fn() -> bool,
) -> Outcome {
    for round in 1..=10_000 {
        if round > ROUNDS && enough() {
            break;
        }
        let text = round.to_string();
        let mut batch = Batch::new();
        for id in ["a", "b", "c"] {
            batch = batch.delete(RecordKind::Memory, id).put(note(id, &text)?);
        }
        store.apply(conversation_id, batch).await?;
    }
    Ok(())
}

async fn read_threes(
    (store, conversation_id): (Arc<dyn Store>, ConversationId),
    (over, looks): (Arc<AtomicBool>, Arc<AtomicUsize>),
) -> Outcome {
    while !over.load(Ordering::Acquire) {
        let loaded = store.load(&conversation_id, &Query::all()).await?;
        let Revision(revision) = loaded.revision;
        let texts: Vec<_> = loaded
            .into_records()
            .filter_map(Record::into_memory)
            .map(|it| it.text().to_owned())
            .collect();
        let promised = match revision {
            0 => vec![],
            n => vec![n.to_string(); 3],
        };
        same(&format!("texts at revision {revision}"), texts, promised)?;
        looks.fetch_add(usize::from(revision > 0), Ordering::AcqRel);
    }
    Ok(())
}
