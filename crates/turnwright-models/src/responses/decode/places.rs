//! Which item an event is about.

use std::collections::{BTreeSet, HashMap};

/// What an event says about its item. The index counts, because some servers change the ids. Others give only an id, or
/// neither.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The index in the output.
    pub(super) index: Option<u64>,
    pub(super) id: Option<&'a str>,
}

/// The indexes of items for which the server gives none.
#[derive(Default)]
pub(super) struct Places {
    by_id: HashMap<String, u64>,
    /// The indexes of items that are found by their ids.
    with_id: BTreeSet<u64>,
    /// The index of the next item.
    next: u64,
    /// Whether the server gave no index for an item.
    assigns: bool,
}

impl Places {
    /// Returns the index of an item, if the server gave it, or the id is known.
    pub(super) fn known(&mut self, place: Place<'_>) -> Option<u64> {
        let by_id = || self.by_id.get(place.id?).copied();
        let index = place.index.or_else(by_id)?;
        self.next = self.next.max(index.saturating_add(1));
        Some(index)
    }

    /// Assigns an index: that of an item, or the next.
    pub(super) fn assign(&mut self, id: Option<&str>, index: Option<u64>) -> u64 {
        self.assigns = true;
        let index = index.unwrap_or(self.next);
        self.next = self.next.max(index.saturating_add(1));
        if let Some(id) = id {
            self.by_id.insert(id.to_owned(), index);
            self.with_id.insert(index);
        }
        index
    }

    /// Returns `true` if the item at an index is found by its id.
    pub(super) fn has_id(&self, index: u64) -> bool {
        self.with_id.contains(&index)
    }

    /// Returns `true` if the server gave no index for an item.
    pub(super) fn assigns(&self) -> bool {
        self.assigns
    }
}
