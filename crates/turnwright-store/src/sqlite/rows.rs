//! Rows to records: on this thread, and where there are many of them on one more.

use std::borrow::Cow;
use std::sync::mpsc::{TrySendError, sync_channel};
use std::thread;

use rusqlite::{Row, Rows};
use turnwright_core::record::{Record, RecordKind, Reopen};
use turnwright_core::store::{DamagedRecord, Loaded, Position};

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

/// All records of a query, in its order, those that are damaged apart.
pub(super) fn records(
    mut rows: Rows<'_>,
    reopen: &Reopen,
    wanted: Wanted<'_>,
) -> Result<Loaded, Failure> {
    let (first, more) = Chunk::take(&mut rows)?;
    match more {
        false => Ok(first.records(reopen)),
        true => records_of_many(first, &mut rows, reopen, wanted),
    }
}

/// Making a record of its text costs several times as much as reading that: another thread takes what it can get.
fn records_of_many(
    first: Chunk,
    rows: &mut Rows<'_>,
    reopen: &Reopen,
    wanted: Wanted<'_>,
) -> Result<Loaded, Failure> {
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
        let mut all = Loaded::default();
        all.records.reserve(done.len() * ROWS);
        for (_, mut chunk) in done {
            all.records.append(&mut chunk.records);
            all.damaged.append(&mut chunk.damaged);
        }
        Ok(all)
    })
}

/// Rows as they were read, their ids and texts one behind the other.
#[derive(Default)]
struct Chunk {
    texts: String,
    rows: Vec<Taken>,
}

struct Taken {
    position: u64,
    kind: Option<RecordKind>,
    checksum: Option<u32>,
    /// Where its id ends, and its text begins.
    id_end: usize,
    /// Where its text ends, if that can be read at all.
    end: Option<usize>,
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
            chunk.texts.push_str(&read.id);
            let id_end = chunk.texts.len();
            chunk.texts.push_str(read.text.unwrap_or_default());
            chunk.rows.push(Taken {
                position: read.position,
                kind: read.kind,
                checksum: read.checksum,
                id_end,
                end: read.text.map(|_| chunk.texts.len()),
            });
        }
        Ok((chunk, true))
    }

    fn records(&self, reopen: &Reopen) -> Loaded {
        let (mut loaded, mut from) = (Loaded::default(), 0);
        for taken in &self.rows {
            // The ends are in order, and between texts.
            let part = |from, to| self.texts.get(from..to).unwrap_or_default();
            let read = Read {
                position: taken.position,
                kind: taken.kind,
                id: part(from, taken.id_end).into(),
                checksum: taken.checksum,
                text: taken.end.map(|end| part(taken.id_end, end)),
            };
            from = taken.end.unwrap_or(taken.id_end);
            read.add_to(&mut loaded, reopen);
        }
        loaded
    }
}

/// A row of `position, kind, id, checksum, body`. What cannot be read of it is missing.
pub(super) struct Read<'r> {
    position: u64,
    kind: Option<RecordKind>,
    id: Cow<'r, str>,
    checksum: Option<u32>,
    text: Option<&'r str>,
}

impl<'r> Read<'r> {
    pub(super) fn of(row: &'r Row<'_>) -> Result<Self, Failure> {
        let id = row.get_ref(2)?.as_bytes().unwrap_or_default();
        Ok(Read {
            position: row.get(0)?,
            kind: row.get_ref(1)?.as_str().ok().and_then(RecordKind::named),
            id: String::from_utf8_lossy(id),
            checksum: row.get(3).ok(),
            text: row.get_ref(4)?.as_str().ok(),
        })
    }

    /// Decodes it, and adds it to what was loaded: as a record, or as one that is damaged.
    pub(super) fn add_to(&self, loaded: &mut Loaded, reopen: &Reopen) {
        let position = Position(self.position);
        match (self.kind, self.text) {
            (Some(kind), Some(text)) if self.checksum == Some(checksum(text.as_bytes())) => {
                let decoded = Record::from_json(kind, text, reopen);
                // What is found under a name must be what has that name.
                match decoded {
                    Ok(record) if record.id() != self.id => {
                        let said = "its text is that of another record";
                        loaded.damaged.push(self.damaged(said));
                    }
                    decoded => loaded.add(position, kind, &self.id, decoded),
                }
            }
            (None, _) => loaded
                .damaged
                .push(self.damaged("its kind is none that is known")),
            (Some(_), _) => {
                let said = "its text is not what was written";
                loaded.damaged.push(self.damaged(said));
            }
        }
    }

    fn damaged(&self, said: &str) -> DamagedRecord {
        DamagedRecord::new(Position(self.position), self.kind, &*self.id, said)
    }
}
