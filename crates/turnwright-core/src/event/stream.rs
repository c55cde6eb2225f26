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
use std::time::SystemTime;

use futures_util::Stream;
use parking_lot::Mutex;

use super::{Event, EventBus, EventKind};
use open_text::OpenText;
use queue::{Queue, Wakers};

pub(crate) use open_text::TextKind;

/// The events of one turn, on the side of the turn: passes them to the readers of its stream and to observers.
pub(crate) struct EventHub {
    turn_id: Arc<str>,
    conversation_id: Arc<str>,
    observers: EventBus,
    /// How many events a reader may lag behind before deltas are merged.
    capacity: usize,
    /// Whether a reader can attach later. Events are logged for it.
    keep_log: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    readers: Vec<Queue>,
    next_reader: u64,
    /// What a reader that attaches later gets first: everything except deltas, progress and discarded text.
    log: Vec<Event>,
    /// The texts that are being written.
    texts: Vec<Option<OpenText>>,
    ended: bool,
}

impl EventHub {
    /// Creates the hub of a turn, without observers.
    pub(crate) fn new(turn_id: Arc<str>, conversation_id: Arc<str>) -> Self {
        EventHub {
            turn_id,
            conversation_id,
            observers: EventBus::default(),
            capacity: usize::MAX,
            keep_log: false,
            state: Mutex::default(),
        }
    }

    pub(crate) fn observers(mut self, observers: EventBus) -> Self {
        self.observers = observers;
        self
    }

    /// Sets how many events a reader may lag behind before deltas are merged.
    pub(crate) fn capacity(mut self, events: usize) -> Self {
        self.capacity = events;
        self
    }

    /// Logs events for readers that attach later.
    pub(crate) fn keep_log(mut self, keep: bool) -> Self {
        self.keep_log = keep;
        self
    }

    pub(crate) fn turn_id(&self) -> &Arc<str> {
        &self.turn_id
    }

    pub(crate) fn conversation_id(&self) -> &Arc<str> {
        &self.conversation_id
    }

    pub(crate) fn bus(&self) -> &EventBus {
        &self.observers
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
            queue.fill(
                open.filter_map(OpenText::so_far)
                    .map(|kind| self.event(kind)),
            );
        }
        state.readers.push(queue);
        TurnStream {
            hub: Arc::clone(self),
            key,
        }
    }

    /// Returns a stream that reads nothing.
    pub(crate) fn unread(self: &Arc<Self>) -> TurnStream {
        TurnStream {
            hub: Arc::clone(self),
            key: u64::MAX,
        }
    }

    /// Returns whether events have a reader or may get one later.
    pub(crate) fn may_have_readers(&self) -> bool {
        self.keep_log || self.has_readers()
    }

    /// Returns whether the stream has readers now.
    pub(crate) fn has_readers(&self) -> bool {
        !self.state.lock().readers.is_empty()
    }

    /// Creates an event that happens now.
    pub(crate) fn event(&self, kind: EventKind) -> Event {
        self.event_at(SystemTime::now(), kind)
    }

    fn event_at(&self, time: SystemTime, kind: EventKind) -> Event {
        Event {
            time,
            turn_id: Arc::clone(&self.turn_id),
            conversation_id: Arc::clone(&self.conversation_id),
            kind,
        }
    }

    /// Emits an event: to observers, and to the readers of the stream if it is public. It is created only if there
    /// are any.
    pub(crate) fn emit(&self, kind: impl FnOnce() -> EventKind) {
        self.send(kind, false);
    }

    /// Emits the last event, unless the stream has already ended.
    pub(crate) fn end(&self, last: impl FnOnce() -> EventKind) {
        self.send(last, true);
    }

    fn send(&self, kind: impl FnOnce() -> EventKind, ends: bool) {
        let observed = self.observers.is_observed();
        let mut state = self.state.lock();
        if ends && std::mem::replace(&mut state.ended, true) {
            return;
        }
        let read = (ends || !state.ended) && (self.keep_log || !state.readers.is_empty());
        if !observed && !read {
            return;
        }
        let event = self.event(kind());
        let mut wakers = Wakers::default();
        if read && event.kind.is_public() {
            wakers = self.add(&mut state, event.clone());
        }
        drop(state);
        wakers.wake();
        if observed {
            self.observers.notify(&event);
        }
    }

    /// Passes on an event of another turn to the readers.
    pub(crate) fn forward(&self, event: Event) {
        let mut state = self.state.lock();
        if state.ended {
            return;
        }
        let wakers = self.add(&mut state, event);
        drop(state);
        wakers.wake();
    }

    /// Emits an event of the past, for readers that requested a replay.
    pub(crate) fn replay(&self, time: SystemTime, kind: EventKind) {
        self.add_past(self.event_at(time, kind), false);
    }

    /// Ends the stream with an event of the past.
    pub(crate) fn end_at(&self, time: SystemTime, last: EventKind) {
        self.add_past(self.event_at(time, last), true);
    }

    fn add_past(&self, event: Event, ends: bool) {
        let mut state = self.state.lock();
        if state.ended {
            return;
        }
        let mut wakers = Wakers::default();
        for reader in state.readers.iter_mut().filter(|reader| reader.replay) {
            reader.fill(std::iter::once(event.clone()));
            wakers.add(reader.take_waker());
        }
        if self.keep_log {
            state.log.push(event);
        }
        state.ended = ends;
        drop(state);
        wakers.wake();
    }

    fn add(&self, state: &mut State, event: Event) -> Wakers {
        if self.keep_log && is_logged(&event.kind) {
            state.log.push(event.clone());
        }
        if let Some(id) = settled(&event.kind) {
            state.close(id);
        }
        queue::send(&mut state.readers, event, self.capacity).0
    }

    /// Starts a text with an id.
    pub(crate) fn open_text(&self, kind: TextKind, id: Arc<str>) -> TextRef {
        let keep = self.keep_log || !matches!(kind, TextKind::ToolCall { .. });
        let text = OpenText::new(kind, Arc::clone(&id), keep);
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
        let event = self.event(text.delta(offset, piece));
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
        if !state.ended && !state.readers.is_empty() {
            let wakers = self.add(&mut state, self.event(EventKind::Discarded { id }));
            drop(state);
            wakers.wake();
        }
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
        let closed = state
            .texts
            .get_mut(text.slot)
            .and_then(|open| open.take_if(|open| open.is(&text.id)));
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
fn is_logged(kind: &EventKind) -> bool {
    !matches!(
        kind,
        EventKind::MessageDelta(_)
            | EventKind::ThoughtDelta(_)
            | EventKind::ToolCallDelta { .. }
            | EventKind::ToolExecutionProgress { .. }
            | EventKind::Discarded { .. }
    )
}

/// Returns the id of the text that an event completes.
fn settled(kind: &EventKind) -> Option<&str> {
    match kind {
        EventKind::ToolExecutionStart { id, .. } => Some(id),
        EventKind::ToolCall(call) | EventKind::ToolCallIncomplete(call) => Some(call.id()),
        _ => None,
    }
}

/// A stream of the events of a turn.
///
/// Reading is optional. The turn does not wait for its readers, and dropping the stream does not cancel it. A reader that lags
/// more than [`stream_capacity`](crate::runner::TurnRunnerBuilder::stream_capacity) events behind receives several deltas of a
/// text as one. No text and no other event is lost. [`TurnEnd`](EventKind::TurnEnd) is the last event; then the stream ends.
#[must_use = "a stream does nothing until it is read"]
pub struct TurnStream {
    hub: Arc<EventHub>,
    key: u64,
}

impl TurnStream {
    /// Returns another reader of the turn. It first gets what happened so far.
    pub(crate) fn another(&self) -> TurnStream {
        self.hub.subscribe(true)
    }

    /// Returns the reader and leaves one that reads nothing.
    pub(crate) fn take(&mut self) -> TurnStream {
        let unread = self.hub.unread();
        std::mem::replace(self, unread)
    }

    /// Returns the next event of the turn, or `None` once it has ended.
    ///
    /// # Cancel safety
    /// If the future is dropped before it completes, no event is lost.
    pub async fn next(&mut self) -> Option<Event> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl Stream for TurnStream {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Event>> {
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
