//! The prompt of a turn, which only grows.

use std::collections::HashMap;
use std::future::Future;

use crate::error::Error;
use crate::record::{Memory, Record, RecordKind, RecordType as _, StandingInstruction};

use super::entry::{Entry, Grouped, group};
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
    /// What always holds, as it was when the turn began.
    standing: Option<(Standing, Part<W>)>,
    parts: Vec<Part<W>>,
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
        let standing = self.standing.iter().flat_map(|(_, part)| &part.wire);
        standing.chain(self.parts.iter().flat_map(|part| &part.wire))
    }

    /// Brings the prompt up to what the timeline holds now. `system` is what the prompt begins with, the first time.
    ///
    /// The timeline is in the order of [`timeline`](crate::tool::context::TurnRecords::timeline): an instruction or a memory that changed
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
        let listed = |known: &Record| is_listed(timeline, known);
        self.parts
            .retain(|part| !part.is_standing() || part.records.iter().all(listed));
        let Some(sent) = self.sent(timeline) else {
            // Apart, so that a prompt that only grows does not carry the room for it.
            return Box::pin(self.rewrite(timeline, writer)).await;
        };
        let written = self.written();
        let is_new = |record: &&Record| !is_standing(record) || is_news(&written, record);
        let arrived = timeline.iter().skip(sent).filter(is_new);
        // What was loaded from an earlier turn in the middle of this one is listed among what was sent, and comes after it.
        let loaded = timeline.iter().take(sent);
        let loaded = loaded.filter(|record| is_standing(record) && is_news(&written, record));
        let fresh = group(arrived.chain(loaded), writer.protocol());
        for Grouped { entry, records } in fresh {
            let wire = writer.entry(&entry).await?;
            self.parts.push(Part { records, wire });
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
                Some((at, record)) if before.is_same(record) => sent = at + 1,
                _ => return None,
            }
        }
        Some(sent)
    }

    /// The texts of the instructions and memories, as they were last written.
    fn written(&self) -> HashMap<(RecordKind, &str), &str> {
        let first = self.standing.iter().map(|(_, part)| part);
        let later = self.parts.iter().filter(|part| part.is_standing());
        let all = first.chain(later).flat_map(|part| &part.records);
        all.filter_map(|record| Some(((record.kind(), record.id()), standing_text(record)?)))
            .collect()
    }

    fn update_standing<P: Writer<Wire = W>>(
        &mut self,
        timeline: &[Record],
        system: impl FnOnce() -> Standing,
        writer: &mut P,
    ) -> Result<(), Error> {
        let listed = |known: &Record| is_listed(timeline, known);
        if let Some((_, part)) = &self.standing
            && part.records.iter().all(listed)
        {
            return Ok(());
        }
        let (mut standing, mut records) = match self.standing.take() {
            Some((standing, part)) => (standing, part.records),
            None => {
                let records = timeline.iter().filter(|record| is_standing(record));
                (system(), records.cloned().collect())
            }
        };
        // What was taken away is not to be sent again.
        records.retain(listed);
        standing.instructions = records
            .iter()
            .filter_map(StandingInstruction::of)
            .cloned()
            .collect();
        standing.memories = records.iter().filter_map(Memory::of).cloned().collect();
        let wire = writer.standing(&standing)?;
        self.standing = Some((standing, Part { records, wire }));
        Ok(())
    }

    /// Something was taken away or changed on purpose: what is still as it was is used again, the rest is written once more.
    async fn rewrite<P: Writer<Wire = W>>(
        &mut self,
        timeline: &[Record],
        writer: &mut P,
    ) -> Result<(), Error> {
        let key = |record: &Record| (record.kind(), record.id().to_owned());
        let before = std::mem::take(&mut self.parts).into_iter();
        // Of an instruction or a memory the last version counts.
        let mut known: HashMap<_, Part<W>> = before
            .filter_map(|part| Some((key(part.records.first()?), part)))
            .collect();
        let written = self.written();
        let is_entry = |record: &&Record| !is_standing(record) || is_news(&written, record);
        let entries = group(timeline.iter().filter(is_entry), writer.protocol());
        for Grouped { entry, records } in entries {
            let part = records.first().and_then(|first| known.remove(&key(first)));
            let part = part.filter(|part| {
                let mut pairs = part.records.iter().zip(&records);
                part.records.len() == records.len() && pairs.all(|(one, other)| one.is_same(other))
            });
            let part = match part {
                Some(part) => {
                    writer.again(&part.wire);
                    part
                }
                None => {
                    let wire = writer.entry(&entry).await?;
                    Part { records, wire }
                }
            };
            self.parts.push(part);
        }
        Ok(())
    }
}

/// The text of an instruction or a memory.
fn standing_text(record: &Record) -> Option<&str> {
    match record {
        Record::Instruction(instruction) => Some(instruction.text()),
        Record::Memory(memory) => Some(memory.text()),
        _ => None,
    }
}

/// Whether an instruction or a memory has another text than the one that was last written of it.
fn is_news(written: &HashMap<(RecordKind, &str), &str>, record: &Record) -> bool {
    written.get(&(record.kind(), record.id())).copied() != standing_text(record)
}

fn is_standing(record: &Record) -> bool {
    record.kind().is_standing()
}

fn is_listed(timeline: &[Record], known: &Record) -> bool {
    let same = |record: &Record| record.kind() == known.kind() && record.id() == known.id();
    timeline.iter().any(same)
}
