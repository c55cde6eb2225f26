//! The event stream of a turn: its readers, and the replay for readers that attach later.
//!
//! Readers never slow down a turn. Each reader has its own queue. If a reader lags, deltas are merged into longer ones, so a
//! queue holds no more than the turn has produced, and nothing is lost.

mod open_text;
mod queue;

#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;
use parking_lot::Mutex;

use super::{TurnEvent, TurnEventKind};
use open_text::OpenText;
use queue::{Queue, Wakers};

pub(crate) use open_text::TextKind;

/// The event stream of one turn, on the side of the turn.
pub(crate) struct EventHub {
    /// How many events a reader may lag behind before deltas are merged.
    capacity: usize,
    /// Whether a reader can attach later. Events are logged for it.
    keeps: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    readers: Vec<Queue>,
    next_reader: u64,
    /// What a reader that attaches later gets first: everything except deltas, progress and discarded text.
    log: Vec<TurnEvent>,
    /// The texts that are being written.
    texts: Vec<Option<OpenText>>,
    ended: bool,
}

impl EventHub {
    pub(crate) fn new(capacity: usize, keeps: bool) -> Arc<Self> {
        Arc::new(EventHub {
            capacity,
            keeps,
            state: Mutex::default(),
        })
    }

    /// Adds a reader. With `replay` it first gets what happened so far.
    pub(crate) fn subscribe(self: &Arc<Self>, replay: bool) -> TurnStream {
        let mut state = self.state.lock();
        let key = state.next_reader;
        state.next_reader += 1;
        let mut queue = Queue::new(key, replay);
        if replay {
            queue.fill(state.log.iter().cloned());
            // A text that was open when the turn ended is discarded.
            let open = state.texts.iter().flatten().filter(|_| !state.ended);
            queue.fill(open.filter_map(OpenText::so_far).map(TurnEvent::now));
        }
        state.readers.push(queue);
        TurnStream {
            hub: Arc::clone(self),
            key,
        }
    }

    /// Returns whether events have a reader or may get one later.
    pub(crate) fn may_have_readers(&self) -> bool {
        self.keeps || !self.state.lock().readers.is_empty()
    }

    /// Emits an event, which is created only if it has a reader.
    pub(crate) fn emit(&self, kind: impl FnOnce() -> TurnEventKind) {
        let mut state = self.state.lock();
        if state.ended || (!self.keeps && state.readers.is_empty()) {
            return;
        }
        let event = TurnEvent::now(kind());
        let wakers = self.add(&mut state, event);
        drop(state);
        wakers.wake();
    }

    /// Emits an event of the past with its original time, for readers that requested a replay.
    pub(crate) fn replay(&self, event: TurnEvent) {
        self.add_past(event, false);
    }

    /// Ends the stream with an event of the past.
    pub(crate) fn end_at(&self, last: TurnEvent) {
        self.add_past(last, true);
    }

    fn add_past(&self, event: TurnEvent, ends: bool) {
        let mut state = self.state.lock();
        if state.ended {
            return;
        }
        let mut wakers = Wakers::default();
        for reader in state.readers.iter_mut().filter(|reader| reader.replays) {
            reader.fill(std::iter::once(event.clone()));
            wakers.add(reader.take_waker());
        }
        if self.keeps {
            state.log.push(event);
        }
        state.ended = ends;
        drop(state);
        wakers.wake();
    }

    /// Returns whether the stream has readers now.
    pub(crate) fn has_readers(&self) -> bool {
        !self.state.lock().readers.is_empty()
    }

    /// Ends the stream. `last` is its last event, unless it has already ended.
    pub(crate) fn end(&self, last: impl FnOnce() -> TurnEventKind) {
        let mut state = self.state.lock();
        if state.ended {
            return;
        }
        let wakers = match self.keeps || !state.readers.is_empty() {
            true => self.add(&mut state, TurnEvent::now(last())),
            false => Wakers::default(),
        };
        state.ended = true;
        drop(state);
        wakers.wake();
    }

    fn add(&self, state: &mut State, event: TurnEvent) -> Wakers {
        if self.keeps && is_logged(&event.kind) {
            state.log.push(event.clone());
        }
        if let Some(id) = settled(&event.kind) {
            state.close(id);
        }
        queue::send(&mut state.readers, event, self.capacity).0
    }

    /// Starts a text with an id.
    pub(crate) fn open_text(&self, kind: TextKind, id: Arc<str>) -> TextRef {
        let keeps = self.keeps || !matches!(kind, TextKind::ToolCall { .. });
        let text = OpenText::new(kind, Arc::clone(&id), keeps);
        let mut state = self.state.lock();
        state.texts.push(Some(text));
        let slot = state.texts.len() - 1;
        TextRef { slot, id }
    }

    /// Adds a piece to a text. Returns whether a lagging reader should get a chance to catch up.
    pub(crate) fn push_text(&self, text: &TextRef, piece: &str) -> bool {
        let mut guard = self.state.lock();
        let state = &mut *guard;
        let Some(text) = text.find(&mut state.texts) else {
            return false;
        };
        let offset = text.push(piece);
        if state.ended || state.readers.is_empty() {
            return false;
        }
        let event = TurnEvent::now(text.delta(offset, piece));
        let (wakers, lags) = queue::send(&mut state.readers, event, self.capacity);
        drop(guard);
        wakers.wake();
        lags
    }

    /// Appends to the tool name of a call.
    pub(crate) fn name_tool(&self, text: &TextRef, name: &str) {
        if let Some(text) = text.find(&mut self.state.lock().texts) {
            text.name_tool(name);
        }
    }

    /// Discards the text so far. Readers are notified if there was any.
    pub(crate) fn discard_text(&self, text: &TextRef) {
        let mut state = self.state.lock();
        let Some(id) = text.find(&mut state.texts).and_then(OpenText::discard) else {
            return;
        };
        let wakers = match state.ended || state.readers.is_empty() {
            true => Wakers::default(),
            false => self.add(&mut state, TurnEvent::now(TurnEventKind::Discarded { id })),
        };
        drop(state);
        wakers.wake();
    }

    /// Calls `read` with the text so far.
    pub(crate) fn with_text<T>(&self, text: &TextRef, read: impl FnOnce(&str) -> T) -> T {
        let mut state = self.state.lock();
        let text = text.find(&mut state.texts);
        read(text.map_or("", |text| text.text()))
    }

    /// Ends a text and returns it.
    pub(crate) fn close_text(&self, text: &TextRef) -> String {
        let mut state = self.state.lock();
        let found = text.find(&mut state.texts).is_some();
        let closed = match found {
            true => state.texts.get_mut(text.slot).and_then(Option::take),
            false => None,
        };
        state.trim();
        drop(state);
        closed.map(OpenText::into_text).unwrap_or_default()
    }
}

/// A text that is being written, for its writer.
#[derive(Debug)]
pub(crate) struct TextRef {
    slot: usize,
    pub(crate) id: Arc<str>,
}

impl TextRef {
    /// The slot may belong to another text after this one was closed.
    fn find<'t>(&self, texts: &'t mut [Option<OpenText>]) -> Option<&'t mut OpenText> {
        let text = texts.get_mut(self.slot)?.as_mut();
        text.filter(|text| text.is(&self.id))
    }
}

impl State {
    /// Removes the text of a call that was recorded.
    fn close(&mut self, id: &str) {
        let of_id = |text: &&mut Option<OpenText>| text.as_ref().is_some_and(|text| text.is(id));
        if let Some(text) = self.texts.iter_mut().find(of_id) {
            *text = None;
            self.trim();
        }
    }

    /// Texts that are still being written keep their slots.
    fn trim(&mut self) {
        while let Some(None) = self.texts.last() {
            self.texts.pop();
        }
    }
}

/// Returns whether a reader that attaches later gets the event.
fn is_logged(kind: &TurnEventKind) -> bool {
    !matches!(
        kind,
        TurnEventKind::MessageDelta(_)
            | TurnEventKind::ThoughtDelta(_)
            | TurnEventKind::ToolCallDelta { .. }
            | TurnEventKind::ToolCallProgress { .. }
            | TurnEventKind::Discarded { .. }
    )
}

/// Returns the id of the text that an event completes.
fn settled(kind: &TurnEventKind) -> Option<&str> {
    match kind {
        TurnEventKind::ToolCallStarted { id, .. } => Some(id),
        TurnEventKind::ToolCall(call) | TurnEventKind::ToolCallIncomplete(call) => Some(call.id()),
        _ => None,
    }
}

/// A stream of the events of a turn.
///
/// Reading is optional. The turn does not wait for its readers, and dropping the stream does not cancel it. A reader that lags
/// more than [`stream_capacity`](crate::runner::TurnRunnerBuilder::stream_capacity) events behind receives several deltas of a
/// text as one. No text and no other event is lost. [`Ended`](TurnEventKind::Ended) is the last event; then the stream ends.
#[must_use = "a stream does nothing until it is read"]
pub struct TurnStream {
    hub: Arc<EventHub>,
    key: u64,
}

impl TurnStream {
    /// Returns the next event of the turn, or `None` once it has ended.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no event is lost.
    pub async fn next(&mut self) -> Option<TurnEvent> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for TurnStream {
    type Item = TurnEvent;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<TurnEvent>> {
        let mut state = self.hub.state.lock();
        let ended = state.ended;
        let own = state.readers.iter_mut().find(|queue| queue.key == self.key);
        match own {
            Some(queue) => queue.poll_next(cx, ended),
            None => Poll::Ready(None),
        }
    }
}

impl Drop for TurnStream {
    fn drop(&mut self) {
        let mut state = self.hub.state.lock();
        let own = state.readers.iter().position(|queue| queue.key == self.key);
        let own = own.map(|index| state.readers.swap_remove(index));
        drop(state);
        // After the lock: dropping a record or a waker may run user code.
        drop(own);
    }
}

debug_fields!(TurnStream { key });
