//! The records of one turn, in order.

mod entries;

use std::sync::Arc;

pub(crate) use entries::{Entry, Origin};

use crate::record::{
    Coverage, Exposure, Message, Record, RecordKind, RecordRef, Retrievable, TimelineRecord,
};
use entries::{Counts, Entries, Place};

/// The records of one turn: the entries of each kind on the timeline.
#[derive(Default)]
pub(crate) struct Records {
    instructions: Entries,
    memories: Entries,
    retrievables: Entries,
    messages: Entries,
    thoughts: Entries,
    tool_calls: Entries,
    counts: Counts,
}

impl Records {
    /// Adds a record, or replaces the one with the same id. Returns what was replaced.
    pub(crate) fn put(&mut self, record: &Record, origin: Origin) -> [Option<Record>; 2] {
        match self.of_kind_mut(record.kind()) {
            Some((entries, counts)) => entries.put(record, origin, counts),
            None => [None, None],
        }
    }

    /// Removes a record that is no longer in the store.
    pub(crate) fn forget(&mut self, kind: RecordKind, id: &str) -> [Option<Record>; 2] {
        match self.of_kind_mut(kind) {
            Some((entries, _)) => entries.forget(id),
            None => [None, None],
        }
    }

    /// Removes a record from the turn only.
    pub(crate) fn remove(&mut self, kind: RecordKind, id: &str) -> Option<Record> {
        self.of_kind_mut(kind)?.0.remove(id)
    }

    pub(crate) fn has(&self, kind: RecordKind, id: &str) -> bool {
        self.of_kind(kind).is_some_and(|entries| entries.has(id))
    }

    /// Returns what the author of the record with the same kind and id had read, if there is one.
    pub(crate) fn exposure_of(&self, record: &Record) -> Option<Exposure> {
        let there = self.of_kind(record.kind())?.get(record.id())?;
        there.exposure()
    }

    pub(crate) fn get<T: TimelineRecord>(&self, id: &str) -> Option<&Arc<T>> {
        T::of(self.of_kind(T::KIND)?.get(id)?)
    }

    /// Iterates over the records of one type in order, with their entries. Includes those that a summary covers.
    pub(crate) fn entries<T: TimelineRecord>(
        &self,
    ) -> impl DoubleEndedIterator<Item = (&Entry, &Arc<T>)> {
        let entries = self.of_kind(T::KIND).into_iter().flat_map(Entries::all);
        entries.filter_map(|entry| Some((entry, T::of(&entry.record)?)))
    }

    /// Iterates over the records of one type in order.
    pub(crate) fn of_type<T: TimelineRecord>(&self) -> impl DoubleEndedIterator<Item = &Arc<T>> {
        let shown = self.entries().filter(|(entry, _)| !entry.covered);
        shown.map(|(_, record)| record)
    }

    /// Iterates over the records of one type that were added in this turn, in order. Includes those that a summary covers.
    pub(crate) fn of_this_turn<T: TimelineRecord>(
        &self,
    ) -> impl DoubleEndedIterator<Item = &Arc<T>> {
        let own = self.entries().filter(|(entry, _)| entry.place.in_this_turn);
        own.map(|(_, record)| record)
    }

    /// Returns all records in the order of the timeline.
    pub(crate) fn all(&self) -> Vec<Record> {
        let all = self.kinds().into_iter().flat_map(Entries::all);
        let shown = all.filter(|entry| !entry.covered);
        in_order(shown.map(|entry| (listed_at(entry), &entry.record)))
    }

    /// Returns all records, including those that a summary covers.
    pub(crate) fn with_covered(&self) -> Vec<Record> {
        let all = self.kinds().into_iter().flat_map(Entries::all);
        in_order(all.map(|entry| (listed_at(entry), &entry.record)))
    }

    /// Returns what this turn stored, in the order of the store.
    pub(crate) fn stored(&self) -> Vec<Record> {
        in_order(self.kinds().into_iter().flat_map(Entries::stored))
    }

    /// Returns the last message of the model in this turn whose id satisfies `counts`.
    pub(crate) fn last_answer(&self, counts: impl Fn(&str) -> bool) -> Option<Arc<Message>> {
        let mut latest = self.of_this_turn::<Message>().rev();
        let found = latest.find(|message| message.is_answer() && counts(message.id()));
        found.cloned()
    }

    /// Returns the summary of the earlier conversation, if there is one.
    pub(crate) fn summary(&self) -> Option<&Arc<Retrievable>> {
        self.of_type::<Retrievable>()
            .find(|found| found.covers().is_some())
    }

    /// Replaces a record in place: neither its position nor the list of what this turn stored changes.
    pub(crate) fn replace(&mut self, record: &Record) -> [Option<Record>; 2] {
        match self.of_kind_mut(record.kind()) {
            Some((entries, _)) => entries.replace(record),
            None => [None, None],
        }
    }

    /// Returns the records with artifacts of unknown kinds.
    pub(crate) fn of_unknown_kinds(&self) -> Vec<Record> {
        let all = self.retrievables.all().chain(self.tool_calls.all());
        let records = all.map(|entry| &entry.record);
        let unknown = records.filter(|record| {
            let mut artifacts = record.artifacts().iter();
            artifacts.any(|artifact| artifact.unknown_kind().is_some())
        });
        unknown.cloned().collect()
    }

    /// Returns whether the store has the record, as far as this turn knows.
    pub(crate) fn is_stored(&self, record: &Record) -> bool {
        self.of_kind(record.kind())
            .is_some_and(|entries| entries.is_stored(record.id()))
    }

    /// Takes the records that a summary covers off the timeline, and every other summary. Returns what was removed.
    pub(crate) fn cover(&mut self, summary: &Retrievable) -> Vec<Record> {
        let Some(coverage) = summary.covers() else {
            return Vec::new();
        };
        let timeline = self.all();
        let covered = covered(&timeline, summary.id(), coverage);
        let covered: Vec<RecordRef> = covered.map(RecordRef::of).collect();
        let removed = covered.iter().filter_map(|record| {
            let (entries, _) = self.of_kind_mut(record.kind)?;
            entries.cover(&record.id)
        });
        removed.collect()
    }

    fn kinds(&self) -> [&Entries; 6] {
        [
            &self.instructions,
            &self.memories,
            &self.retrievables,
            &self.messages,
            &self.thoughts,
            &self.tool_calls,
        ]
    }

    /// Returns `None` for bookkeeping, which is only in the store.
    fn of_kind(&self, kind: RecordKind) -> Option<&Entries> {
        match kind {
            RecordKind::Instruction => Some(&self.instructions),
            RecordKind::Memory => Some(&self.memories),
            RecordKind::Retrievable => Some(&self.retrievables),
            RecordKind::Message => Some(&self.messages),
            RecordKind::Thought => Some(&self.thoughts),
            RecordKind::ToolCall => Some(&self.tool_calls),
            RecordKind::Ledger
            | RecordKind::Turn
            | RecordKind::Gate
            | RecordKind::Lease
            | RecordKind::ConversationInfo => None,
        }
    }

    fn of_kind_mut(&mut self, kind: RecordKind) -> Option<(&mut Entries, &mut Counts)> {
        let entries = match kind {
            RecordKind::Instruction => &mut self.instructions,
            RecordKind::Memory => &mut self.memories,
            RecordKind::Retrievable => &mut self.retrievables,
            RecordKind::Message => &mut self.messages,
            RecordKind::Thought => &mut self.thoughts,
            RecordKind::ToolCall => &mut self.tool_calls,
            RecordKind::Ledger
            | RecordKind::Turn
            | RecordKind::Gate
            | RecordKind::Lease
            | RecordKind::ConversationInfo => return None,
        };
        Some((entries, &mut self.counts))
    }
}

/// Selects the records of a timeline that a summary covers, and the summaries before it.
fn covered<'r>(
    timeline: &'r [Record],
    summary: &'r str,
    coverage: &'r Coverage,
) -> impl Iterator<Item = &'r Record> {
    let at = |wanted: &RecordRef| {
        let mut records = timeline.iter();
        records.position(|record| wanted.refers_to(record))
    };
    // Either of them may have been deleted.
    let next = coverage.next.as_ref().and_then(at);
    let end = next.or_else(|| Some(at(&coverage.last)? + 1)).unwrap_or(0);
    let is_opening = move |record: &Record| {
        record.kind() == RecordKind::Message && Some(record.id()) == coverage.opening.as_deref()
    };
    let records = timeline.iter().enumerate();
    records
        .filter(move |(at, record)| match record {
            Record::Retrievable(found) if found.covers().is_some() => found.id() != summary,
            record => *at < end && !record.kind().is_standing() && !is_opening(record),
        })
        .map(|(_, record)| record)
}

/// An instruction or a memory is listed where it was last replaced, any other record where it was added.
fn listed_at(entry: &Entry) -> Place {
    if entry.record.kind().is_standing() {
        entry.changed
    } else {
        entry.place
    }
}

fn in_order<'r, P: Ord>(all: impl Iterator<Item = (P, &'r Record)>) -> Vec<Record> {
    let mut all: Vec<(P, &Record)> = all.collect();
    all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
    all.into_iter().map(|(_, record)| record.clone()).collect()
}
