//! Which call a piece belongs to.
//!
//! The protocol has an `index` for that, and an `id` in the first piece. Servers leave out the one, the other or both,
//! repeat names and ids in every piece, or give every call the same index.

use std::collections::HashMap;

/// The calls of a response so far.
#[derive(Default)]
pub(super) struct Slots {
    calls: Vec<Slot>,
    /// The latest call of an index.
    by_index: HashMap<u64, usize>,
    by_id: HashMap<String, usize>,
    /// The call of the old `function_call`, of which there is one.
    old: Option<usize>,
}

#[derive(Default)]
struct Slot {
    index: Option<u64>,
    has_id: bool,
    name: String,
    arguments: Extent,
}

/// A piece of a call, with what it says about whose it is.
pub(super) struct Piece<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: Option<&'a str>,
    pub(super) name: Option<&'a str>,
    pub(super) arguments: &'a str,
    /// Its place in the list, where that has several.
    pub(super) place: Option<usize>,
}

/// Where a piece goes, and what it says that was not said before.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) slot: usize,
    pub(super) new_id: bool,
    pub(super) new_name: bool,
}

impl Slots {
    /// Whether there are calls that `tool_calls` said.
    pub(super) fn has_listed(&self) -> bool {
        self.old.is_none() && !self.calls.is_empty()
    }

    /// A piece of a stream.
    pub(super) fn place(&mut self, piece: &Piece<'_>) -> Placed {
        match self.find(piece) {
            Some(slot) => self.add(slot, piece),
            None => self.open(piece),
        }
    }

    /// How many calls there are.
    pub(super) fn count(&self) -> usize {
        self.calls.len()
    }

    /// A whole call: never a piece of another, whatever its index says.
    pub(super) fn open(&mut self, piece: &Piece<'_>) -> Placed {
        let slot = self.calls.len();
        self.calls.push(Slot {
            index: piece.index,
            ..Slot::default()
        });
        if let Some(index) = piece.index {
            self.by_index.insert(index, slot);
        }
        self.add(slot, piece)
    }

    /// A piece of the one call that `function_call` can say.
    pub(super) fn place_old(&mut self, piece: &Piece<'_>) -> Placed {
        match self.old {
            Some(slot) => self.add(slot, piece),
            None => {
                let placed = self.open(piece);
                self.old = Some(placed.slot);
                placed
            }
        }
    }

    /// The call that a piece goes on with, unless it begins one.
    fn find(&self, piece: &Piece<'_>) -> Option<usize> {
        let last = self.calls.len().checked_sub(1)?;
        let unmarked = piece.id.is_none() && piece.name.is_none();
        if unmarked && piece.index.is_some() && self.slot(last)?.index == piece.index {
            // As nearly all are.
            return Some(last);
        }
        let of_id = piece.id.and_then(|id| self.by_id.get(id).copied());
        if let Some(index) = piece.index {
            // A call may have begun without its index.
            let fits = |slot: &usize| {
                let of_slot = self.slot(*slot).and_then(|slot| slot.index);
                of_slot.is_none_or(|it| it == index)
            };
            return match (of_id, self.by_index.get(&index)) {
                (Some(slot), _) if fits(&slot) => Some(slot),
                (_, Some(slot)) => self.goes_on(*slot, piece).then_some(*slot),
                (_, None) => unmarked.then_some(last).filter(fits),
            };
        }
        if of_id.is_some() {
            return of_id;
        }
        if unmarked {
            let placed = piece.place.filter(|place| *place <= last);
            return placed.or(Some(last));
        }
        // The second of a list is not the first's.
        let follows = piece.place.is_none_or(|place| place == 0);
        (follows && self.goes_on(last, piece)).then_some(last)
    }

    /// Whether a piece that has no id of a call known by it goes on with this call.
    fn goes_on(&self, slot: usize, piece: &Piece<'_>) -> bool {
        let Some(slot) = self.slot(slot) else {
            return false;
        };
        if piece.id.is_some() && slot.has_id {
            // Another id: another call if it has a name. Some servers make up an id for every piece.
            return piece.name.is_none() && piece.index.is_some();
        }
        match piece.name {
            None => true,
            Some(_) if slot.name.is_empty() => true,
            // Nothing can follow arguments that are whole, but a server may repeat the name as it ends them.
            Some(name) if slot.arguments.is_whole() => {
                slot.name == name && piece.arguments.trim().is_empty()
            }
            // By its index it is this call's: more of the name.
            Some(name) => slot.name == name || (piece.index.is_some() && slot.arguments.is_blank()),
        }
    }

    fn add(&mut self, slot: usize, piece: &Piece<'_>) -> Placed {
        let mut placed = Placed {
            slot,
            new_id: false,
            new_name: false,
        };
        let Some(call) = self.calls.get_mut(slot) else {
            return placed;
        };
        if let Some(id) = piece.id.filter(|_| !call.has_id) {
            call.has_id = true;
            placed.new_id = true;
            self.by_id.insert(id.to_owned(), slot);
        }
        if let Some(name) = piece.name
            && call.name != name
            && (call.name.is_empty() || call.arguments.is_blank())
        {
            call.name.push_str(name);
            placed.new_name = true;
        }
        call.arguments.add(piece.arguments);
        placed
    }

    fn slot(&self, slot: usize) -> Option<&Slot> {
        self.calls.get(slot)
    }
}

/// How far arguments have come: an object that was opened is whole once it is closed.
#[derive(Default)]
struct Extent {
    depth: usize,
    in_string: bool,
    escaped: bool,
    begun: bool,
    opened: bool,
}

impl Extent {
    fn is_blank(&self) -> bool {
        !self.begun
    }

    fn is_whole(&self) -> bool {
        self.opened && self.depth == 0
    }

    fn add(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.in_string {
                self.in_string = self.escaped || byte != b'"';
                self.escaped = !self.escaped && byte == b'\\';
                continue;
            }
            self.begun |= !byte.is_ascii_whitespace();
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => {
                    self.opened = true;
                    self.depth += 1;
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }
}
