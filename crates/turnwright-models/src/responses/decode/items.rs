//! The items of a response, in the order in which they arrive.
//!
//! A complete item counts (`response.output_item.done`); deltas only announce its text. Text of one kind is passed on
//! one item at a time, so that the texts of items that arrive in parallel do not mix.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use turnwright_core::Error;

use super::entries::Entries;
use super::item::{Item, message_parts, reasoning_part};
use super::open_call::{CallPiece, OpenCall};
use super::places::{Place, Places};
use super::streamed_text::{Kind, StreamedText};
use crate::decode::{Delta, at_most, cited, provider_content};
use crate::engine::{Layout, Part};

/// The maximum number of items and their parts in one response. Tiny items take hundreds of times their bytes in
/// memory.
const MAX_PARTS: usize = 10_000;

/// The maximum number of calls in one response. Every call would be executed.
const MAX_CALLS: usize = 1_000;

/// Items that the model wrote itself. Any other item that is not a message, reasoning or a call is of a tool that ran at the
/// provider.
const OWN_ITEMS: [&str; 8] = [
    "image_generation_call",
    "custom_tool_call",
    "computer_call",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "mcp_approval_request",
    "compaction",
];

/// Returns what a tool of the provider may have read for an item.
fn read_by_provider(item: &Item) -> Option<Delta> {
    let Item::Other(item) = item else {
        return None;
    };
    let kind = item.get("type").and_then(Value::as_str)?;
    (!OWN_ITEMS.contains(&kind)).then(|| provider_content(kind))
}

/// The items of a response.
#[derive(Default)]
pub(super) struct Items {
    /// Items that are not complete, by their index in the output.
    open: BTreeMap<u64, Open>,
    /// The ids of the last complete items, by their index in the output.
    complete: BTreeMap<u64, Option<String>>,
    places: Places,
    messages: Channel,
    reasoning: Channel,
    calls: usize,
    parts: usize,
    entries: Entries,
    /// Whether the arguments of a call are truncated.
    has_cut_call: bool,
    has_reasoning: bool,
}

/// Which of several open items an event is about, if the server does not say.
#[derive(Clone, Copy)]
enum Which {
    /// The one that is complete.
    First,
    /// The one that is being written.
    Last,
}

/// What an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Message,
    Reasoning,
    Call,
}

/// An item that is not complete.
struct Open {
    class: Class,
    /// The place of its parts, once it began.
    entry: Option<usize>,
    text: StreamedText,
    /// Once a piece of the call has arrived.
    call: Option<OpenCall>,
}

/// Passes on the text of one item at a time.
#[derive(Default)]
struct Channel {
    /// The item whose text is passed on.
    live: Option<u64>,
    /// Items that ended and wait for it.
    waiting: Vec<(u64, Open, Option<Item>)>,
}

impl Items {
    /// Reads an item that begins. Only calls have something to say yet.
    pub(super) fn added(
        &mut self,
        place: Place<'_>,
        item: Value,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        let place = Place {
            id: Item::id(&item).or(place.id),
            ..place
        };
        let index = self.index(place, None, Which::Last)?;
        match Item::read(item) {
            Some(Item::Call { id, name, .. }) => {
                let piece = CallPiece {
                    id,
                    name,
                    ..CallPiece::default()
                };
                self.call(index, piece, deltas)
            }
            _ => Ok(()),
        }
    }

    /// Reads a piece of the text of an item.
    pub(super) fn text(
        &mut self,
        place: Place<'_>,
        (kind, part): (Kind, u64),
        text: &str,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        let class = if kind.is_message() {
            Class::Message
        } else {
            Class::Reasoning
        };
        let index = self.index(place, Some(class), Which::Last)?;
        let open = self.open(index, class, deltas)?;
        if open.text.add(kind, part, text) {
            self.count_part()?;
        }
        self.has_reasoning |= class == Class::Reasoning;
        if *self.channel(class).live.get_or_insert(index) == index {
            self.show(index, deltas);
        }
        Ok(())
    }

    /// Reads a piece of the arguments of a call.
    pub(super) fn arguments(
        &mut self,
        place: Place<'_>,
        text: &str,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        let index = self.index(place, Some(Class::Call), Which::Last)?;
        let piece = CallPiece {
            arguments: text,
            ..CallPiece::default()
        };
        self.call(index, piece, deltas)
    }

    /// Reads a complete item.
    pub(super) fn done(
        &mut self,
        place: Place<'_>,
        item: Value,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        let id = Item::id(&item).map(str::to_owned);
        let Some(item) = Item::read(item) else {
            return Ok(());
        };
        let class = match &item {
            Item::Message { .. } => Some(Class::Message),
            Item::Reasoning { .. } => Some(Class::Reasoning),
            Item::Call { .. } => Some(Class::Call),
            Item::Other(_) => None,
        };
        let place = Place {
            id: id.as_deref().or(place.id),
            ..place
        };
        let index = self.index(place, class, Which::First)?;
        let is_repeated = |known: &Option<String>| known.is_some() && *known == id;
        if !self.open.contains_key(&index) && self.complete.get(&index).is_some_and(is_repeated) {
            return Ok(());
        }
        self.complete.insert(index, id);
        self.count_part()?;
        deltas.extend(read_by_provider(&item));
        match (item, class) {
            (Item::Other(item), _) => {
                self.entries.add(index, vec![Part::Raw(item)]);
            }
            (
                Item::Call {
                    id,
                    name,
                    arguments,
                    is_cut,
                    fields,
                },
                _,
            ) => {
                self.has_cut_call |= is_cut;
                let open = self.open.get(&index).and_then(|open| open.call.as_ref());
                let missing = open.map_or(Ok(&*arguments), |call| call.missing(&arguments));
                let piece = CallPiece {
                    id,
                    name,
                    arguments: missing?,
                    extra: (!fields.is_empty() && !is_cut).then_some(fields),
                };
                self.call(index, piece, deltas)?;
                self.open.remove(&index);
            }
            (item, Some(class)) => {
                self.has_reasoning |= class == Class::Reasoning;
                self.open(index, class, deltas)?;
                self.close(index, Some(item), deltas)?;
            }
            (_, None) => {}
        }
        Ok(())
    }

    /// Reads the items of the last event, as far as they were not complete before. Some servers leave them out, and
    /// others give them other ids there.
    pub(super) fn rest(&mut self, items: Vec<Value>, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        let count = items.len() as u64;
        let are_other_places = self.complete.keys().any(|index| *index >= count);
        // The indexes are not those of this list, or the server completes its items.
        if are_other_places || self.places.assigns() && !self.complete.is_empty() {
            let items = items.into_iter().filter_map(Item::read);
            deltas.extend(items.filter_map(|item| read_by_provider(&item)));
            return Ok(());
        }
        for (index, item) in (0_u64..).zip(items) {
            let index = (!self.places.assigns()).then_some(index);
            if index.is_none_or(|index| !self.complete.contains_key(&index)) {
                self.done(Place { index, id: None }, item, deltas)?;
            }
        }
        Ok(())
    }

    /// Reads reasoning that belongs to no item.
    pub(super) fn reasoning(&mut self, text: &str, deltas: &mut Vec<Delta>) {
        if !self.has_reasoning && !text.is_empty() {
            let mut streamed = StreamedText::default();
            streamed.add(Kind::Content, 0, text);
            streamed.show(deltas);
            let part = reasoning_part(&streamed.into_fragments(), Map::new());
            self.entries.add(0, vec![part]);
        }
    }

    /// Ends the response: items that are not complete end with what arrived of them.
    pub(super) fn end(&mut self, deltas: &mut Vec<Delta>) -> Result<(), Error> {
        while let Some(index) = self.open.keys().next().copied() {
            self.close(index, None, deltas)?;
        }
        Ok(())
    }

    pub(super) fn has_calls(&self) -> bool {
        self.calls > 0
    }

    pub(super) fn has_cut_call(&self) -> bool {
        self.has_cut_call
    }

    pub(super) fn take_layout(&mut self) -> Layout {
        std::mem::take(&mut self.entries).into_layout()
    }

    /// Returns the index of an item. If the server does not say which it is, it is an open item of its class, or the
    /// next.
    fn index(
        &mut self,
        place: Place<'_>,
        class: Option<Class>,
        which: Which,
    ) -> Result<u64, Error> {
        if let Some(index) = self.places.known(place) {
            return Ok(index);
        }
        let places = &self.places;
        let mut open = self.open.iter().filter_map(|(index, open)| {
            let fits = Some(open.class) == class && !places.has_id(*index);
            fits.then_some(*index)
        });
        let open = match which {
            Which::First => open.next(),
            Which::Last => open.next_back(),
        };
        if place.id.is_some() {
            self.count_part()?;
        }
        Ok(self.places.assign(place.id, open))
    }

    /// Reads a piece of a call.
    fn call(
        &mut self,
        index: u64,
        piece: CallPiece<'_>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        let slot = self.calls;
        let open = self.open(index, Class::Call, deltas)?;
        let is_new = open.call.is_none();
        let call = open.call.get_or_insert_with(|| OpenCall::new(slot));
        deltas.push(call.add(piece));
        if is_new {
            self.entries.add(index, vec![Part::Call]);
            self.calls += 1;
        }
        at_most(MAX_CALLS, self.calls, "calls")
    }

    fn channel(&mut self, class: Class) -> &mut Channel {
        match class {
            Class::Message | Class::Call => &mut self.messages,
            Class::Reasoning => &mut self.reasoning,
        }
    }

    fn count_part(&mut self) -> Result<(), Error> {
        self.parts += 1;
        at_most(MAX_PARTS, self.parts, "items and parts")
    }

    /// Returns the open item at an index. An item of another class there has ended.
    fn open(
        &mut self,
        index: u64,
        class: Class,
        deltas: &mut Vec<Delta>,
    ) -> Result<&mut Open, Error> {
        if self
            .open
            .get(&index)
            .is_some_and(|open| open.class != class)
        {
            self.close(index, None, deltas)?;
        }
        Ok(self.open.entry(index).or_insert_with(|| Open {
            class,
            entry: None,
            text: StreamedText::default(),
            call: None,
        }))
    }

    fn show(&mut self, index: u64, deltas: &mut Vec<Delta>) {
        if let Some(open) = self.open.get_mut(&index) {
            open.entry.get_or_insert_with(|| self.entries.begin(index));
            open.text.show(deltas);
        }
    }

    /// Ends an item. If the text of another one is passed on, it waits.
    fn close(
        &mut self,
        index: u64,
        item: Option<Item>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        let Some(open) = self.open.remove(&index) else {
            return Ok(());
        };
        let class = open.class;
        if class == Class::Call {
            // Its item never came.
            self.has_cut_call = true;
            return Ok(());
        }
        let channel = self.channel(class);
        if channel.live.is_some_and(|live| live != index) {
            channel.waiting.push((index, open, item));
            return Ok(());
        }
        channel.live = None;
        let waiting = std::mem::take(&mut channel.waiting);
        self.write(index, open, item, deltas)?;
        for (index, open, item) in waiting {
            self.write(index, open, item, deltas)?;
        }
        let next = self.open.iter().find(|(_, open)| open.class == class);
        if let Some(next) = next.map(|(index, _)| *index) {
            self.channel(class).live = Some(next);
            self.show(next, deltas);
        }
        Ok(())
    }

    /// Writes the parts of an item that ended.
    fn write(
        &mut self,
        index: u64,
        open: Open,
        item: Option<Item>,
        deltas: &mut Vec<Delta>,
    ) -> Result<(), Error> {
        let mut text = open.text;
        let (complete, annotations, fields) = match item {
            Some(Item::Message {
                fragments,
                annotations,
                fields,
            }) => {
                let sources = annotations.iter().flatten();
                deltas.extend(sources.map(cited));
                (Some(fragments), annotations, fields)
            }
            Some(Item::Reasoning { fragments, fields }) => (Some(fragments), Vec::new(), fields),
            _ => (None, Vec::new(), Map::new()),
        };
        if let Some(complete) = complete {
            for _ in &complete {
                self.count_part()?;
            }
            text.complete(complete);
        }
        text.show(deltas);
        let fragments = text.into_fragments();
        let parts = match open.class {
            Class::Message => message_parts(&fragments, annotations, fields),
            _ => vec![reasoning_part(&fragments, fields)],
        };
        let entry = open.entry.unwrap_or_else(|| self.entries.begin(index));
        self.entries.put(entry, parts);
        Ok(())
    }
}
