//! The parts of the items of a response, in the order in which the items began.

use crate::engine::{Layout, Part};

/// The parts of items.
#[derive(Default)]
pub(super) struct Entries(Vec<Entry>);

struct Entry {
    /// The index of the item in the output.
    index: u64,
    parts: Vec<Part>,
}

impl Entries {
    /// Adds an item whose parts follow. Returns its place.
    pub(super) fn begin(&mut self, index: u64) -> usize {
        self.add(index, Vec::new());
        self.0.len() - 1
    }

    /// Adds an item with its parts.
    pub(super) fn add(&mut self, index: u64, parts: Vec<Part>) {
        self.0.push(Entry { index, parts });
    }

    /// Sets the parts of the item at a place.
    pub(super) fn put(&mut self, place: usize, parts: Vec<Part>) {
        if let Some(entry) = self.0.get_mut(place) {
            entry.parts = parts;
        }
    }

    /// Returns the layout: by index in the output, unless texts or calls arrived in another order.
    pub(super) fn into_layout(mut self) -> Layout {
        let mut sorted: Vec<(usize, &Entry)> = self.0.iter().enumerate().collect();
        sorted.sort_by_key(|(_, entry)| entry.index);
        let keeps_order = |kind: u8| {
            let of_kind = sorted
                .iter()
                .filter(|(_, entry)| entry.kind() == Some(kind));
            of_kind.is_sorted_by_key(|(place, _)| *place)
        };
        if (TEXT..=CALL).all(keeps_order) {
            self.0.sort_by_key(|entry| entry.index);
        }
        let mut layout = Layout::default();
        for part in self.0.into_iter().flat_map(|entry| entry.parts) {
            layout.push(part);
        }
        layout
    }
}

const TEXT: u8 = 0;
const REASONING: u8 = 1;
const CALL: u8 = 2;

impl Entry {
    /// Returns the kind of an item whose order among its like counts.
    fn kind(&self) -> Option<u8> {
        match self.parts.first()? {
            Part::Text(_) => Some(TEXT),
            Part::Reasoning(_) => Some(REASONING),
            Part::Call => Some(CALL),
            Part::Raw(_) => None,
        }
    }
}
