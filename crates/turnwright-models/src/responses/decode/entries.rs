//! The parts of the items of a response, in the order in which the items began.

use crate::engine::{Layout, Part};

/// The parts of items, with the index of each item in the output.
#[derive(Default)]
pub(super) struct Entries(Vec<(u64, Vec<Part>)>);

impl Entries {
    /// Adds an item whose parts follow. Returns its place.
    pub(super) fn begin(&mut self, index: u64) -> usize {
        self.add(index, Vec::new());
        self.0.len() - 1
    }

    /// Adds an item with its parts.
    pub(super) fn add(&mut self, index: u64, parts: Vec<Part>) {
        self.0.push((index, parts));
    }

    /// Sets the parts of the item at a place.
    pub(super) fn put(&mut self, place: usize, parts: Vec<Part>) {
        if let Some((_, entry)) = self.0.get_mut(place) {
            *entry = parts;
        }
    }

    /// Returns the layout: by index in the output, unless texts or calls arrived in another order.
    pub(super) fn into_layout(mut self) -> Layout {
        // The kinds of items whose order among their like counts.
        let kinds: [fn(&Part) -> bool; 3] = [
            |part| matches!(part, Part::Text(_)),
            |part| matches!(part, Part::Reasoning(_)),
            |part| matches!(part, Part::Call),
        ];
        let keeps_order = |is_kind: &fn(&Part) -> bool| {
            let items = self
                .0
                .iter()
                .filter(|(_, parts)| parts.first().is_some_and(is_kind));
            items.is_sorted_by_key(|(index, _)| *index)
        };
        if kinds.iter().all(keeps_order) {
            self.0.sort_by_key(|(index, _)| *index);
        }
        let mut layout = Layout::default();
        let parts = self.0.into_iter().flat_map(|(_, parts)| parts);
        parts.for_each(|part| layout.push(part));
        layout
    }
}
