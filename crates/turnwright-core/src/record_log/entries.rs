//! Records of one kind.

use ahash::RandomState;
use indexmap::IndexMap;

use crate::record::Record;

/// Records of one kind by their id: those of earlier turns first, then those that came, as they came.
#[derive(Default)]
pub(crate) struct Entries {
    by_id: IndexMap<Box<str>, Entry, RandomState>,
    /// What the store has by this turn, whatever became of it here, and when it was first stored.
    stored: IndexMap<Box<str>, (u64, Record), RandomState>,
}

pub(crate) struct Entry {
    pub(crate) record: Record,
    pub(crate) place: Place,
    /// Its place, or where it was last replaced in this turn: what always holds is listed there.
    pub(crate) changed: Place,
}

/// Where a record stands in the turn: what was there before comes first, then what came, as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) in_this_turn: bool,
    pub(crate) count: u64,
}

/// How a record came to the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// From an earlier turn.
    Before,
    /// For this turn only.
    Now,
    /// For this turn, and the store has it.
    Stored,
}

/// How many records came in which way, of all kinds.
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
    /// Adds a record, or replaces that of the same id. Gives back what it let go of, for the caller to drop outside of the
    /// lock: that may be foreign code.
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
            // What this turn has is newer than what was there before it.
            if origin == Origin::Before {
                return [None, None];
            }
            entry.changed = counts.place(origin);
            let before = std::mem::replace(&mut entry.record, record.clone());
            return [Some(before), was_stored];
        }
        let place = counts.place(origin);
        let entry = Entry {
            record: record.clone(),
            place,
            changed: place,
        };
        let later = match origin {
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

    /// Notes what the store has. Gives what it had before.
    fn store(&mut self, record: &Record, counts: &mut Counts) -> Option<Record> {
        if let Some((_, stored)) = self.stored.get_mut(record.id()) {
            return Some(std::mem::replace(stored, record.clone()));
        }
        counts.stored += 1;
        self.stored
            .insert(record.id().into(), (counts.stored, record.clone()));
        None
    }

    /// Takes a record out of the turn.
    pub(crate) fn remove(&mut self, id: &str) -> Option<Record> {
        let entry = self.by_id.shift_remove(id)?;
        Some(entry.record)
    }

    /// Takes a record out of the turn that the store no longer has.
    pub(crate) fn forget(&mut self, id: &str) -> [Option<Record>; 2] {
        let record = self.remove(id);
        let stored = self.stored.shift_remove(id);
        [record, stored.map(|(_, record)| record)]
    }

    /// What the store has by this turn, whatever became of it here.
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
