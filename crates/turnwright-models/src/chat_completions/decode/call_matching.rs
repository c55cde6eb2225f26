//! Assigns fragments of a response to tool calls.
//!
//! The protocol has an `index` for that, and an `id` in the first fragment. Some servers omit one or both, repeat
//! names and ids in every fragment, or give every call the same index.

use std::collections::HashMap;

use crate::decode::Extent;

/// Assigns fragments to the calls of a response.
#[derive(Default)]
pub(super) struct CallMatcher {
    calls: Vec<Slot>,
    /// The latest call of an index.
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
    /// The call of the deprecated `function_call`; there is at most one.
    deprecated: Option<usize>,
}

#[derive(Default)]
struct Slot {
    index: Option<u64>,
    has_id: bool,
    name: String,
    arguments: Extent,
}

/// A fragment of a call.
#[derive(Default)]
pub(super) struct Fragment<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) arguments: &'a str,
    /// Its position in a list of several.
    pub(super) position: Option<usize>,
}

/// The call of a fragment, and what is new in the fragment.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Match {
    pub(super) slot: usize,
    pub(super) new_id: bool,
    pub(super) new_name: bool,
}

impl CallMatcher {
    /// Whether there are calls from `tool_calls`.
    pub(super) fn has_listed(&self) -> bool {
        self.deprecated.is_none() && !self.calls.is_empty()
    }

    /// Assigns a fragment of a stream.
    pub(super) fn assign(&mut self, fragment: &Fragment<'_>) -> Match {
        match self.find(fragment) {
            Some(slot) => self.add(slot, fragment),
            None => self.open(fragment),
        }
    }

    /// The number of calls.
    pub(super) fn count(&self) -> usize {
        self.calls.len()
    }

    /// Opens a new call, whatever the index of the fragment.
    pub(super) fn open(&mut self, fragment: &Fragment<'_>) -> Match {
        let slot = self.calls.len();
        self.calls.push(Slot {
            index: fragment.index,
            ..Slot::default()
        });
        if let Some(index) = fragment.index {
            self.by_index.insert(index, slot);
        }
        self.add(slot, fragment)
    }

    /// Assigns a fragment of the one call that `function_call` can hold.
    pub(super) fn assign_deprecated(&mut self, fragment: &Fragment<'_>) -> Match {
        match self.deprecated {
            Some(slot) => self.add(slot, fragment),
            None => {
                let found = self.open(fragment);
                self.deprecated = Some(found.slot);
                found
            }
        }
    }

    /// Returns the call that a fragment continues, or `None` if it starts a new one.
    fn find(&self, fragment: &Fragment<'_>) -> Option<usize> {
        let last = self.calls.len().checked_sub(1)?;
        let unmarked = fragment.id.is_none() && fragment.name.is_none();
        if unmarked && fragment.index.is_some() && self.slot(last)?.index == fragment.index {
            // The common case.
            return Some(last);
        }
        let of_id = fragment.id.and_then(|id| self.by_id.get(id).copied());
        if let Some(index) = fragment.index {
            // A call may have started without its index.
            let fits = |slot: &usize| {
                let of_slot = self.slot(*slot).and_then(|slot| slot.index);
                of_slot.is_none_or(|known| known == index)
            };
            return match (of_id, self.by_index.get(&index)) {
                (Some(slot), _) if fits(&slot) => Some(slot),
                (_, Some(slot)) => self.continues(*slot, fragment).then_some(*slot),
                (_, None) => unmarked.then_some(last).filter(fits),
            };
        }
        if of_id.is_some() {
            return of_id;
        }
        if unmarked {
            let listed = fragment.position.filter(|position| *position <= last);
            return listed.or(Some(last));
        }
        // The second item of a list does not belong to the first call.
        let follows = fragment.position.is_none_or(|position| position == 0);
        (follows && self.continues(last, fragment)).then_some(last)
    }

    /// Whether a fragment without the id of a known call continues this call.
    fn continues(&self, slot: usize, fragment: &Fragment<'_>) -> bool {
        let Some(slot) = self.slot(slot) else {
            return false;
        };
        if fragment.id.is_some() && slot.has_id {
            // Another id with a name is another call. Some servers generate a new id for every fragment.
            return fragment.name.is_none() && fragment.index.is_some();
        }
        match fragment.name {
            None => true,
            Some(_) if slot.name.is_empty() => true,
            // Nothing can follow complete arguments, but a server may repeat the name with the last fragment.
            Some(name) if slot.arguments.is_complete() => {
                slot.name == name && fragment.arguments.trim().is_empty()
            }
            // The index matches: the name continues.
            Some(name) => {
                slot.name == name || (fragment.index.is_some() && slot.arguments.is_blank())
            }
        }
    }

    fn add(&mut self, slot: usize, fragment: &Fragment<'_>) -> Match {
        let mut found = Match {
            slot,
            new_id: false,
            new_name: false,
        };
        let Some(call) = self.calls.get_mut(slot) else {
            return found;
        };
        if let Some(id) = fragment.id.filter(|_| !call.has_id) {
            call.has_id = true;
            found.new_id = true;
            self.by_id.insert(id.to_owned(), slot);
        }
        if let Some(name) = fragment.name
            && call.name != name
            && (call.name.is_empty() || call.arguments.is_blank())
        {
            call.name.push_str(name);
            found.new_name = true;
        }
        call.arguments.add(fragment.arguments);
        found
    }

    fn slot(&self, slot: usize) -> Option<&Slot> {
        self.calls.get(slot)
    }
}
