//! The prompt of a turn, which only grows.

use std::collections::HashMap;
use std::future::Future;

use crate::error::Error;
use crate::record::{Record, RecordKind};

use super::entry::{Entry, Grouped, are_same, group, is_same, says_the_same};
use super::standing::Standing;

/// Knows what the parts of a prompt look like on the wire of one protocol.
pub trait Writer: Send {
    /// A message on the wire.
    type Wire: Send + Sync;

    /// The name under which the protocol keeps its state in records.
    fn protocol(&self) -> &str;

    /// What always holds.
    ///
    /// # Errors
    /// It cannot be written.
    fn standing(&mut self, standing: &Standing) -> Result<Vec<Self::Wire>, Error>;

    /// One part of what happened. Called once for each, in the order of the prompt.
    ///
    /// # Errors
    /// It cannot be written: a media cannot be read, or may not be shown.
    fn entry(
        &mut self,
        entry: &Entry,
    ) -> impl Future<Output = Result<Vec<Self::Wire>, Error>> + Send;

    /// The writing of a part is used again: whatever it made use of is taken.
    fn again(&mut self, wire: &[Self::Wire]);
}

/// The prompt of a turn as it was sent, to which is added what came since.
#[derive(Debug)]
pub struct Transcript<W> {
    standing: Option<Held<W>>,
    parts: Vec<Part<W>>,
}

/// What always holds, as it was when the turn began.
#[derive(Debug)]
struct Held<W> {
    standing: Standing,
    records: Vec<Record>,
    wire: Vec<W>,
}

/// A part as it was written.
#[derive(Debug)]
struct Part<W> {
    records: Vec<Record>,
    wire: Vec<W>,
}

impl<W> Part<W> {
    /// Whether it is an instruction or a memory that came or changed after the first prompt.
    fn is_standing(&self) -> bool {
        self.records.first().is_some_and(is_standing)
    }
}

impl<W> Default for Transcript<W> {
    fn default() -> Self {
        Transcript {
            standing: None,
            parts: Vec::new(),
        }
    }
}

impl<W: Send + Sync> Transcript<W> {
    /// The messages of the prompt.
    pub fn messages(&self) -> impl Iterator<Item = &W> + Clone {
        let standing = self.standing.iter().flat_map(|held| &held.wire);
        standing.chain(self.parts.iter().flat_map(|part| &part.wire))
    }

    /// Brings the prompt up to what the timeline holds now. `system` is what the prompt begins with, the first time.
    ///
    /// The timeline is in the order of [`timeline`](crate::TurnContext::timeline): an instruction or a memory that changed
    /// is listed where it changed, and is written there.
    ///
    /// # Errors
    /// Something cannot be written. The prompt is as it was then, up to what could be.
    pub async fn update<P: Writer<Wire = W>>(
        &mut self,
        timeline: &[Record],
        system: impl FnOnce() -> Standing,
        writer: &mut P,
    ) -> Result<(), Error> {
        self.update_standing(timeline, system, writer)?;
        // What was taken away is not to be sent again.
        let there = |known: &Record| {
            let same = |it: &Record| it.kind() == known.kind() && it.id() == known.id();
            timeline.iter().any(same)
        };
        self.parts
            .retain(|part| !part.is_standing() || part.records.iter().all(there));
        let Some(sent) = self.sent(timeline) else {
            // Apart, so that a prompt that only grows does not carry the room for it.
            return Box::pin(self.rewrite(timeline, writer)).await;
        };
        let written = self.written();
        let is_new = |record: &&Record| !is_standing(record) || is_news(&written, record);
        let arrived = timeline.iter().skip(sent).filter(is_new);
        // What was loaded from an earlier turn in the middle of this one is listed among what was sent, and comes after it.
        let loaded = timeline.iter().take(sent);
        let loaded = loaded.filter(|it| is_standing(it) && is_news(&written, it));
        let fresh = group(arrived.chain(loaded), writer.protocol());
        for Grouped { entry, records } in fresh {
            self.write(&entry, records, writer).await?;
        }
        Ok(())
    }

    /// How many records of the timeline, from its beginning, were sent. `None` if they are no longer what was sent.
    fn sent(&self, timeline: &[Record]) -> Option<usize> {
        let known = self.parts.iter().filter(|part| !part.is_standing());
        let mut now = timeline.iter().enumerate();
        let mut sent = 0;
        for before in known.flat_map(|part| &part.records) {
            match now.find(|(_, record)| !is_standing(record)) {
                Some((at, record)) if is_same(before, record) => sent = at + 1,
                _ => return None,
            }
        }
        Some(sent)
    }

    /// The instructions and memories, each as it was last written.
    fn written(&self) -> HashMap<(RecordKind, &str), &Record> {
        let held = self.standing.iter().flat_map(|held| &held.records);
        let later = self.parts.iter().filter(|part| part.is_standing());
        let all = held.chain(later.flat_map(|part| &part.records));
        all.map(|record| ((record.kind(), record.id()), record))
            .collect()
    }

    fn update_standing<P: Writer<Wire = W>>(
        &mut self,
        timeline: &[Record],
        system: impl FnOnce() -> Standing,
        writer: &mut P,
    ) -> Result<(), Error> {
        let now: Vec<&Record> = timeline.iter().filter(|it| is_standing(it)).collect();
        let still_there = |known: &Record| {
            let same = |it: &&Record| it.kind() == known.kind() && it.id() == known.id();
            now.iter().any(same)
        };
        let (mut standing, records) = match self.standing.take() {
            None => {
                let records = now.iter().copied().cloned();
                (system(), records.collect::<Vec<_>>())
            }
            Some(held) if held.records.iter().all(still_there) => {
                self.standing = Some(held);
                return Ok(());
            }
            // Something was taken away: then it is not to be sent again.
            Some(Held {
                standing, records, ..
            }) => (standing, records.into_iter().filter(still_there).collect()),
        };
        standing.instructions = of_kind(&records, |record| record.into_instruction());
        standing.memories = of_kind(&records, |record| record.into_memory());
        let wire = writer.standing(&standing)?;
        self.standing = Some(Held {
            standing,
            records,
            wire,
        });
        Ok(())
    }

    async fn write<P: Writer<Wire = W>>(
        &mut self,
        entry: &Entry,
        records: Vec<Record>,
        writer: &mut P,
    ) -> Result<(), Error> {
        let wire = writer.entry(entry).await?;
        self.parts.push(Part { records, wire });
        Ok(())
    }

    /// Something was taken away or changed on purpose: what is still as it was is used again, the rest is written anew.
    async fn rewrite<P: Writer<Wire = W>>(
        &mut self,
        timeline: &[Record],
        writer: &mut P,
    ) -> Result<(), Error> {
        let before = std::mem::take(&mut self.parts).into_iter();
        // Of an instruction or a memory the last version counts.
        let mut known: HashMap<(RecordKind, String), Part<W>> = before
            .filter_map(|part| {
                let first = part.records.first()?;
                Some(((first.kind(), first.id().to_owned()), part))
            })
            .collect();
        let written = self.written();
        let is_entry = |record: &&Record| !is_standing(record) || is_news(&written, record);
        let entries = group(timeline.iter().filter(is_entry), writer.protocol());
        for Grouped { entry, records } in entries {
            let first = records.first().map(|it| (it.kind(), it.id().to_owned()));
            match first.and_then(|first| known.remove(&first)) {
                Some(part) if are_same(&part.records, &records) => {
                    writer.again(&part.wire);
                    self.parts.push(part);
                }
                _ => self.write(&entry, records, writer).await?,
            }
        }
        Ok(())
    }
}

/// Whether an instruction or a memory says something other than what was last written of it.
fn is_news(written: &HashMap<(RecordKind, &str), &Record>, record: &Record) -> bool {
    let known = written.get(&(record.kind(), record.id()));
    !known.is_some_and(|known| says_the_same(known, record))
}

fn is_standing(record: &Record) -> bool {
    record.kind().is_standing()
}

fn of_kind<T>(records: &[Record], of: impl Fn(Record) -> Option<T>) -> Vec<T> {
    records.iter().cloned().filter_map(of).collect()
}
