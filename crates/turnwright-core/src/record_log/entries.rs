//! Records of one kind, and which of them somebody has not seen.

use std::sync::Arc;

use indexmap::IndexMap;

/// Records by their id: those of earlier turns first, then those that came, as they came.
pub(crate) struct Kept<T> {
    by_id: IndexMap<Box<str>, One<T>>,
    changes: u64,
    /// The last change that is not found behind all others: a record was replaced, or came from an earlier turn.
    last_inside: u64,
    /// What was taken away, and by which change.
    gone: Vec<(u64, Box<str>)>,
    /// What was taken away here, and the store has it by this turn all the same.
    left_in_store: IndexMap<Box<str>, InStore<T>>,
}

pub(crate) struct One<T> {
    pub(crate) record: Arc<T>,
    pub(crate) place: Place,
    /// Its place, or where it was last replaced in this turn: what always holds is listed there.
    pub(crate) changed: Place,
    stored: Option<InStore<T>>,
    /// The change with which it came.
    change: u64,
}

/// What the store has of a record by this turn, and when it was first stored.
struct InStore<T> {
    since: u64,
    record: Arc<T>,
}

/// Where a record stands in the turn: what was there before comes first, then what came, as it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) came_now: bool,
    pub(crate) count: u64,
}

/// How a record came to the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Came {
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
    fn place(&mut self, came: Came) -> Place {
        let (came_now, count) = match came {
            Came::Before => (false, &mut self.before),
            Came::Now | Came::Stored => (true, &mut self.now),
        };
        *count += 1;
        Place {
            came_now,
            count: *count,
        }
    }

    fn store(&mut self) -> u64 {
        self.stored += 1;
        self.stored
    }
}

/// How far somebody has seen the records of a kind. From the beginning unless told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Seen(u64);

/// What somebody has not seen.
pub(crate) struct Unseen<T> {
    /// What came or was replaced, as it is now, in order.
    pub(crate) records: Vec<Arc<T>>,
    /// The ids of what was taken away.
    pub(crate) gone: Vec<Box<str>>,
    /// How far that is.
    pub(crate) until: Seen,
}

impl<T> Unseen<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.gone.is_empty()
    }
}

impl<T> Kept<T> {
    /// Adds a record, or replaces that of the same id. Gives back what it let go of, for the caller to drop outside of the
    /// lock: that may be foreign code.
    pub(crate) fn keep(
        &mut self,
        id: &str,
        record: &Arc<T>,
        came: Came,
        counts: &mut Counts,
    ) -> [Option<Arc<T>>; 2] {
        let record = Arc::clone(record);
        let left = match came {
            Came::Stored => self.left_in_store.shift_remove(id),
            Came::Before | Came::Now => None,
        };
        let mut store = |before: Option<InStore<T>>| {
            let (since, record_before) = match before {
                Some(before) => (before.since, Some(before.record)),
                None => (counts.store(), None),
            };
            let record = Arc::clone(&record);
            (Some(InStore { since, record }), record_before)
        };
        if let Some(one) = self.by_id.get_mut(id) {
            // What this turn has is newer than what was there before it.
            if came == Came::Before {
                return [None, None];
            }
            self.changes += 1;
            self.last_inside = self.changes;
            one.change = self.changes;
            let mut stored_before = None;
            if came == Came::Stored {
                (one.stored, stored_before) = store(one.stored.take());
            }
            one.changed = counts.place(came);
            let before = std::mem::replace(&mut one.record, record);
            return [Some(before), stored_before];
        }
        self.changes += 1;
        let (stored, stored_before) = match came {
            Came::Stored => store(left),
            Came::Before | Came::Now => (None, None),
        };
        let place = counts.place(came);
        let one = One {
            record,
            place,
            changed: place,
            stored,
            change: self.changes,
        };
        match came {
            Came::Now | Came::Stored => {
                self.by_id.insert(id.into(), one);
            }
            Came::Before => {
                let later = self.by_id.values().rev();
                let later = later.take_while(|one| one.place.came_now).count();
                if later > 0 {
                    self.last_inside = self.changes;
                }
                let at = self.by_id.len() - later;
                self.by_id.shift_insert(at, id.into(), one);
            }
        }
        [None, stored_before]
    }

    /// Takes a record out of the turn.
    pub(crate) fn remove(&mut self, id: &str) -> Option<Arc<T>> {
        let one = self.by_id.shift_remove(id)?;
        self.changes += 1;
        self.gone.push((self.changes, id.into()));
        if let Some(stored) = one.stored {
            self.left_in_store.insert(id.into(), stored);
        }
        Some(one.record)
    }

    /// Takes a record out of the turn that the store no longer has.
    pub(crate) fn forget(&mut self, id: &str) -> [Option<Arc<T>>; 2] {
        let record = self.remove(id);
        let left = self.left_in_store.shift_remove(id);
        [record, left.map(|left| left.record)]
    }

    /// What the store has by this turn, whatever became of it here.
    pub(crate) fn stored(&self) -> impl Iterator<Item = (u64, &Arc<T>)> {
        let here = self.by_id.values().filter_map(|one| one.stored.as_ref());
        let all = here.chain(self.left_in_store.values());
        all.map(|stored| (stored.since, &stored.record))
    }

    pub(crate) fn get(&self, id: &str) -> Option<&Arc<T>> {
        self.by_id.get(id).map(|one| &one.record)
    }

    pub(crate) fn has(&self, id: &str) -> bool {
        self.by_id.contains_key(id)
    }

    pub(crate) fn all(&self) -> impl DoubleEndedIterator<Item = &One<T>> {
        self.by_id.values()
    }

    /// What came, was replaced or was taken away since.
    pub(crate) fn since(&self, seen: Seen) -> Unseen<T> {
        let mut unseen = Unseen {
            records: Vec::new(),
            gone: Vec::new(),
            until: Seen(self.changes),
        };
        if unseen.until == seen {
            return unseen;
        }
        let is_new = |one: &&One<T>| one.change > seen.0;
        let record = |one: &One<T>| Arc::clone(&one.record);
        if self.last_inside > seen.0 {
            unseen.records = self.all().filter(is_new).map(record).collect();
        } else {
            // Nothing but additions: they stand together at the end.
            unseen.records = self.all().rev().take_while(is_new).map(record).collect();
            unseen.records.reverse();
        }
        let gone = self
            .gone
            .iter()
            .rev()
            .take_while(|(change, _)| *change > seen.0);
        unseen.gone = gone.map(|(_, id)| id.clone()).collect();
        unseen
    }
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Kept {
            by_id: IndexMap::new(),
            changes: 0,
            last_inside: 0,
            gone: Vec::new(),
            left_in_store: IndexMap::new(),
        }
    }
}
