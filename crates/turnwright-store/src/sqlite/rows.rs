//! Rows to records: on this thread, and where there are many of them on one more.

use std::sync::mpsc::{TrySendError, sync_channel};
use std::thread;

use rusqlite::{Row, Rows};
use turnwright_core::record::{Record, RecordKind, Reopen};
use turnwright_core::store::{Position, Stored};

use super::apply::checksum;
use super::failure::Failure;
use super::trouble::Trouble;

/// Rows that are taken before any of them becomes a record.
const ROWS: usize = 256;
/// Or so many bytes of their texts, and those of one row more.
const BYTES: usize = 256 * 1024;
/// Chunks that wait for the other thread; what comes beyond that is done here.
const WAITING: usize = 2;

/// Whether somebody still waits for the answer.
pub(super) type Wanted<'w> = &'w dyn Fn() -> bool;

/// All records of a query, in its order.
pub(super) fn records(
    mut rows: Rows<'_>,
    reopen: &Reopen,
    wanted: Wanted<'_>,
) -> Result<Vec<Stored>, Failure> {
    let (first, more) = Chunk::take(&mut rows)?;
    match more {
        false => first.records(reopen),
        true => records_of_many(first, &mut rows, reopen, wanted),
    }
}

/// Making a record of its text costs several times as much as reading that: another thread takes what it can get.
fn records_of_many(
    first: Chunk,
    rows: &mut Rows<'_>,
    reopen: &Reopen,
    wanted: Wanted<'_>,
) -> Result<Vec<Stored>, Failure> {
    thread::scope(|scope| {
        let (hand_over, waiting) = sync_channel::<(usize, Chunk)>(WAITING);
        let thread = thread::Builder::new().name("turnwright-decoder".to_owned());
        let other = thread.spawn_scoped(scope, move || {
            let all = waiting.into_iter();
            all.map(|(at, chunk)| (at, chunk.records(reopen)))
                .collect::<Vec<_>>()
        });
        let mut done = Vec::new();
        let (mut chunk, mut more) = (first, true);
        for at in 0.. {
            match hand_over.try_send((at, chunk)) {
                Ok(()) => {}
                // Also where there is no other thread.
                Err(TrySendError::Full((at, chunk)) | TrySendError::Disconnected((at, chunk))) => {
                    done.push((at, chunk.records(reopen)));
                }
            }
            if !more {
                break;
            }
            if !wanted() {
                return Err(Failure::new(Trouble::Other, "nobody waits for it any more"));
            }
            (chunk, more) = Chunk::take(rows)?;
        }
        drop(hand_over);
        if let Ok(other) = other {
            let panicked = |_| Failure::new(Trouble::Other, "a reader panicked");
            done.extend(other.join().map_err(panicked)?);
        }
        done.sort_unstable_by_key(|(at, _)| *at);
        let mut all = Vec::with_capacity(done.len() * ROWS);
        for (_, records) in done {
            all.append(&mut records?);
        }
        Ok(all)
    })
}

/// Rows as they were read, their texts one behind the other.
#[derive(Default)]
struct Chunk {
    texts: String,
    rows: Vec<Taken>,
}

struct Taken {
    position: u64,
    kind: RecordKind,
    checksum: u32,
    /// Where its text ends.
    end: usize,
}

impl Chunk {
    /// The next rows, and whether there may be more.
    fn take(rows: &mut Rows<'_>) -> Result<(Self, bool), Failure> {
        let mut chunk = Chunk::default();
        while chunk.rows.len() < ROWS && chunk.texts.len() < BYTES {
            let Some(row) = rows.next()? else {
                return Ok((chunk, false));
            };
            let read = Read::of(row)?;
            chunk.texts.push_str(read.text);
            chunk.rows.push(Taken {
                position: read.position,
                kind: read.kind,
                checksum: read.checksum,
                end: chunk.texts.len(),
            });
        }
        Ok((chunk, true))
    }

    fn records(&self, reopen: &Reopen) -> Result<Vec<Stored>, Failure> {
        let mut from = 0;
        let records = self.rows.iter().map(|taken| {
            // The ends are in order, and between texts.
            let text = self.texts.get(from..taken.end).unwrap_or_default();
            from = taken.end;
            let read = Read {
                position: taken.position,
                kind: taken.kind,
                checksum: taken.checksum,
                text,
            };
            read.record(reopen)
        });
        records.collect()
    }
}

/// A row of `position, kind, checksum, body`.
pub(super) struct Read<'r> {
    position: u64,
    kind: RecordKind,
    checksum: u32,
    text: &'r str,
}

impl<'r> Read<'r> {
    pub(super) fn of(row: &'r Row<'_>) -> Result<Self, Failure> {
        let position = row.get(0)?;
        let kind = row.get_ref(1)?.as_str().ok().and_then(RecordKind::named);
        let text = row.get_ref(3)?.as_str();
        Ok(Read {
            position,
            kind: kind.ok_or_else(|| damaged("kind", position))?,
            checksum: row.get(2)?,
            text: text.map_err(|_| damaged("text", position))?,
        })
    }

    pub(super) fn record(&self, reopen: &Reopen) -> Result<Stored, Failure> {
        if self.checksum != checksum(self.text.as_bytes()) {
            return Err(damaged("text", self.position));
        }
        let record = Record::from_json(self.kind, self.text, reopen)?;
        Ok(Stored::new(Position(self.position), record))
    }
}

fn damaged(what: &str, position: u64) -> Failure {
    let said = format!("the {what} of the record at place {position} is not what was written");
    Failure::new(Trouble::Corrupt, said)
}
