//! The prompt of a turn, which only grows.

use std::collections::HashMap;
use std::future::Future;

use turnwright_core::Error;
use turnwright_core::record::{Record, RecordKind};

use super::entry::{Entry, Grouped, are_same, group, is_same};
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
    /// It is something that always holds, and came later.
    late: bool,
    wire: Vec<W>,
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
            .retain(|part| !part.late || part.records.iter().all(there));
        let happened = |record: &&Record| !is_standing(record);
        let known = self.parts.iter().filter(|part| !part.late);
        let mut known = known.flat_map(|part| &part.records);
        let mut now = timeline.iter().filter(happened);
        let mut unseen = now.clone();
        let grown = loop {
            match (known.next(), now.next()) {
                (None, None | Some(_)) => break true,
                (Some(before), Some(record)) if is_same(before, record) => unseen = now.clone(),
                (Some(_), _) => break false,
            }
        };
        drop(known);
        if grown {
            let fresh = group(unseen, writer.protocol());
            let late = self.late(timeline);
            self.append(fresh, late, timeline, writer).await
        } else {
            // Apart, so that a prompt that only grows does not carry the room for it.
            Box::pin(self.rewrite(timeline, writer)).await
        }
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

    /// What always holds and came, or was changed, since the turn began, and was not written yet.
    fn late(&self, timeline: &[Record]) -> Vec<Record> {
        let held = self.standing.iter().flat_map(|held| &held.records);
        let late = self.parts.iter().filter(|part| part.late);
        let written: Vec<&Record> = held.chain(late.flat_map(|part| &part.records)).collect();
        let is_new = |record: &&Record| {
            is_standing(record) && !written.iter().any(|known| is_same(known, record))
        };
        timeline.iter().filter(is_new).cloned().collect()
    }

    /// Writes what came, in its order.
    async fn append<P: Writer<Wire = W>>(
        &mut self,
        fresh: Vec<Grouped>,
        late: Vec<Record>,
        timeline: &[Record],
        writer: &mut P,
    ) -> Result<(), Error> {
        let place = |wanted: &Record| timeline.iter().position(|it| is_same(it, wanted));
        let mut late = late.into_iter().peekable();
        for Grouped { entry, records } in fresh {
            let begins = match late.peek() {
                Some(_) => records.first().and_then(place),
                None => None,
            };
            while let Some(record) = late.next_if(|it| is_before(place(it), begins, timeline)) {
                self.write(late_entry(&record), vec![record], true, writer)
                    .await?;
            }
            self.write(Some(entry), records, false, writer).await?;
        }
        for record in late {
            self.write(late_entry(&record), vec![record], true, writer)
                .await?;
        }
        Ok(())
    }

    async fn write<P: Writer<Wire = W>>(
        &mut self,
        entry: Option<Entry>,
        records: Vec<Record>,
        late: bool,
        writer: &mut P,
    ) -> Result<(), Error> {
        let wire = match entry {
            Some(entry) => writer.entry(&entry).await?,
            None => Vec::new(),
        };
        self.parts.push(Part {
            records,
            late,
            wire,
        });
        Ok(())
    }

    /// Something was taken away or changed on purpose: what is still as it was is used again, the rest is written anew.
    async fn rewrite<P: Writer<Wire = W>>(
        &mut self,
        timeline: &[Record],
        writer: &mut P,
    ) -> Result<(), Error> {
        let before = std::mem::take(&mut self.parts);
        let mut known: HashMap<(RecordKind, String), Part<W>> = HashMap::new();
        let mut late: Vec<(usize, Part<W>)> = Vec::new();
        let mut count = 0;
        for part in before {
            let gone = |record: &Record| !timeline.iter().any(|it| is_same(it, record));
            match part.records.first() {
                Some(_) if part.late && part.records.iter().any(gone) => {}
                Some(_) if part.late => late.push((count, part)),
                Some(first) => {
                    count += 1;
                    known.insert((first.kind(), first.id().to_owned()), part);
                }
                None => {}
            }
        }
        let happened = timeline.iter().filter(|record| !is_standing(record));
        let mut late = late.into_iter().peekable();
        for (at, grouped) in group(happened, writer.protocol()).into_iter().enumerate() {
            while let Some((_, part)) = late.next_if(|(place, _)| *place <= at) {
                writer.again(&part.wire);
                self.parts.push(part);
            }
            let Grouped { entry, records } = grouped;
            let first = records.first().map(|it| (it.kind(), it.id().to_owned()));
            match first.and_then(|first| known.remove(&first)) {
                Some(part) if are_same(&part.records, &records) => {
                    writer.again(&part.wire);
                    self.parts.push(part);
                }
                _ => self.write(Some(entry), records, false, writer).await?,
            }
        }
        for (_, part) in late {
            writer.again(&part.wire);
            self.parts.push(part);
        }
        for record in self.late(timeline) {
            self.write(late_entry(&record), vec![record], true, writer)
                .await?;
        }
        Ok(())
    }
}

/// Whether something that always holds came before what begins there. What was changed and not added keeps a place among
/// what was there first, and came later than that says.
fn is_before(place: Option<usize>, begins: Option<usize>, timeline: &[Record]) -> bool {
    let (Some(place), Some(begins)) = (place, begins) else {
        return false;
    };
    let after_something = timeline
        .iter()
        .take(place)
        .any(|record| !is_standing(record));
    after_something && place < begins
}

fn is_standing(record: &Record) -> bool {
    matches!(record, Record::Instruction(_) | Record::Memory(_))
}

fn late_entry(record: &Record) -> Option<Entry> {
    match record {
        Record::Instruction(it) => Some(Entry::Instruction(it.clone())),
        Record::Memory(it) => Some(Entry::Memory(it.clone())),
        _ => None,
    }
}

fn of_kind<T>(records: &[Record], of: impl Fn(Record) -> Option<T>) -> Vec<T> {
    records.iter().cloned().filter_map(of).collect()
}
