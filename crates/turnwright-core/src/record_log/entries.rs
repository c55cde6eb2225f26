//! Records of one kind.

use ahash::RandomState;
use indexmap::IndexMap;

use crate::record::Record;

/// Records of one kind by id: those of earlier turns first, then those of this turn in order.
#[derive(Default)]
pub(crate) struct Entries {
    by_id: IndexMap<Box<str>, Entry, RandomState>,
    /// The version in the store that this turn wrote, whatever happened to the record here, and when it was first stored.
    stored: IndexMap<Box<str>, (u64, Record), RandomState>,
}

pub(crate) struct Entry {
    pub(crate) record: Record,
    pub(crate) place: Place,
    /// Its position, or where it was last replaced in this turn. Instructions and memories are listed there.
    pub(crate) changed: Place,
    /// Whether a summary replaces it on the timeline. Only records of this turn: those of earlier turns are removed.
    pub(crate) covered: bool,
}

/// The position of a record: those of earlier turns come first, then those of this turn in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) in_this_turn: bool,
    pub(crate) count: u64,
}

impl Place {
    /// The position of a summary, before everything that it does not cover.
    const FIRST: Place = Place {
        in_this_turn: false,
        count: 0,
    };
}

/// The origin of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// An earlier turn.
    Before,
    /// This turn only.
    Now,
    /// This turn, and stored.
    Stored,
}

/// The number of records by origin, over all kinds.
#[derive(Default)]
pub(crate) struct Counts {
    before: u64,
    now: u64,
    stored: u64,
}

impl Counts {
    fn place(&mut self, origin: Origin) -> Place {
        let (in_this_turn, count) = match origin {
            Origin::Before => (false, &mut self.before),
            Origin::Now | Origin::Stored => (true, &mut self.now),
        };
        *count += 1;
        Place {
            in_this_turn,
            count: *count,
        }
    }
}

impl Entries {
    /// Adds a record, or replaces the one with the same id. Returns what was replaced, so that the caller can drop it outside of
    /// the lock: its destructor may be user code.
    pub(crate) fn put(
        &mut self,
        record: &Record,
        origin: Origin,
        counts: &mut Counts,
    ) -> [Option<Record>; 2] {
        let id = record.id();
        let was_stored = match origin {
            Origin::Stored => self.store(record, counts),
            Origin::Before | Origin::Now => None,
        };
        if let Some(entry) = self.by_id.get_mut(id) {
            // The version of this turn is newer than that of an earlier turn.
            if origin == Origin::Before {
                return [None, None];
            }
            entry.changed = counts.place(origin);
            let before = std::mem::replace(&mut entry.record, record.clone());
            return [Some(before), was_stored];
        }
        let is_summary = matches!(record, Record::Retrievable(found) if found.covers().is_some());
        let place = if is_summary {
            Place::FIRST
        } else {
            counts.place(origin)
        };
        let entry = Entry {
            record: record.clone(),
            place,
            changed: place,
            covered: false,
        };
        let later = match origin {
            _ if is_summary => self.by_id.len(),
            Origin::Now | Origin::Stored => 0,
            Origin::Before => {
                let later = self.by_id.values().rev();
                later.take_while(|entry| entry.place.in_this_turn).count()
            }
        };
        let at = self.by_id.len() - later;
        self.by_id.shift_insert(at, id.into(), entry);
        [None, was_stored]
    }

    /// Notes the version in the store. Returns the previous one.
    fn store(&mut self, record: &Record, counts: &mut Counts) -> Option<Record> {
        if let Some((_, stored)) = self.stored.get_mut(record.id()) {
            return Some(std::mem::replace(stored, record.clone()));
        }
        counts.stored += 1;
        self.stored
            .insert(record.id().into(), (counts.stored, record.clone()));
        None
    }

    /// Replaces a record in place. A version in the store that this turn wrote is replaced too.
    pub(crate) fn replace(&mut self, record: &Record) -> [Option<Record>; 2] {
        let put = |slot: &mut Record| std::mem::replace(slot, record.clone());
        let entry = self.by_id.get_mut(record.id());
        let stored = self.stored.get_mut(record.id());
        [
            entry.map(|entry| put(&mut entry.record)),
            stored.map(|(_, stored)| put(stored)),
        ]
    }

    /// Takes a record off the timeline, because a summary replaces it. Returns what was removed.
    pub(crate) fn cover(&mut self, id: &str) -> Option<Record> {
        match self.by_id.get_mut(id) {
            Some(entry) if entry.place.in_this_turn => {
                entry.covered = true;
                None
            }
            _ => self.remove(id),
        }
    }

    /// Returns whether the store has the record, as far as this turn knows.
    pub(crate) fn is_stored(&self, id: &str) -> bool {
        let before = |entry: &Entry| !entry.place.in_this_turn;
        self.stored.contains_key(id) || self.by_id.get(id).is_some_and(before)
    }

    /// Removes a record from the turn.
    pub(crate) fn remove(&mut self, id: &str) -> Option<Record> {
        let entry = self.by_id.shift_remove(id)?;
        Some(entry.record)
    }

    /// Removes a record that is no longer in the store.
    pub(crate) fn forget(&mut self, id: &str) -> [Option<Record>; 2] {
        let record = self.remove(id);
        let stored = self.stored.shift_remove(id);
        [record, stored.map(|(_, record)| record)]
    }

    /// Iterates over the versions in the store that this turn wrote, whatever happened to the records here.
    pub(crate) fn stored(&self) -> impl Iterator<Item = (u64, &Record)> {
        self.stored.values().map(|(since, record)| (*since, record))
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Record> {
        self.by_id.get(id).map(|entry| &entry.record)
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &Entry> {
        self.by_id.values()
    }
}
