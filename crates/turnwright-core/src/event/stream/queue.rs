//! The events that a reader has not read yet.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::event::{Delta, Event, EventKind};

/// How far back the queue of a lagging reader is searched for a delta that a new one continues. Calls of one response can be
/// interleaved.
const LOOK_BACK: usize = 8;

/// The queue of one reader.
pub(super) struct Queue {
    pub(super) key: u64,
    /// Whether the reader gets what happened before it attached.
    pub(super) replay: bool,
    events: VecDeque<Event>,
    waker: Option<Waker>,
    /// Whether the turn has yielded to this reader since it last read.
    yielded: bool,
}

impl Queue {
    pub(super) fn new(key: u64, replay: bool) -> Self {
        Queue {
            key,
            replay,
            events: VecDeque::new(),
            waker: None,
            yielded: false,
        }
    }

    pub(super) fn fill(&mut self, events: impl Iterator<Item = Event>) {
        self.events.extend(events);
    }

    pub(super) fn take_waker(&mut self) -> Option<Waker> {
        self.waker.take()
    }

    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>, ended: bool) -> Poll<Option<Event>> {
        self.yielded = false;
        match self.events.pop_front() {
            Some(event) => Poll::Ready(Some(event)),
            None if ended => Poll::Ready(None),
            None => {
                match &mut self.waker {
                    Some(waker) => waker.clone_from(cx.waker()),
                    waker => *waker = Some(cx.waker().clone()),
                }
                Poll::Pending
            }
        }
    }

    /// Adds an event. Returns whether the reader lags and the turn has not yielded to it since it last read.
    fn push(&mut self, event: Event, capacity: usize) -> bool {
        if self.events.len() < capacity {
            self.events.push_back(event);
            return false;
        }
        if let Some(event) = self.merge(event) {
            self.events.push_back(event);
        }
        !std::mem::replace(&mut self.yielded, true)
    }

    /// Merges an event into one in the queue, if possible. Otherwise returns the event.
    fn merge(&mut self, event: Event) -> Option<Event> {
        let recent = self.events.iter_mut().rev().take(LOOK_BACK);
        for earlier in recent {
            match (&mut earlier.kind, &event.kind) {
                (EventKind::MessageDelta(text), EventKind::MessageDelta(more))
                | (EventKind::ThoughtDelta(text), EventKind::ThoughtDelta(more))
                    if continues(text, more) =>
                {
                    text.text.push_str(&more.text);
                    return None;
                }
                (
                    EventKind::ToolCallDelta { tool, delta: text },
                    EventKind::ToolCallDelta {
                        tool: named,
                        delta: more,
                    },
                ) if continues(text, more) => {
                    text.text.push_str(&more.text);
                    tool.clone_from(named);
                    return None;
                }
                (
                    EventKind::ToolExecutionProgress { id, message, .. },
                    EventKind::ToolExecutionProgress {
                        id: of,
                        message: latest,
                        ..
                    },
                ) if id == of => {
                    message.clone_from(latest);
                    earlier.time = event.time;
                    return None;
                }
                // Only deltas may be reordered with deltas.
                (
                    EventKind::MessageDelta(_)
                    | EventKind::ThoughtDelta(_)
                    | EventKind::ToolCallDelta { .. }
                    | EventKind::ToolExecutionProgress { .. },
                    _,
                ) => {}
                _ => break,
            }
        }
        Some(event)
    }
}

fn continues(text: &Delta, more: &Delta) -> bool {
    Arc::ptr_eq(&text.id, &more.id) && text.offset + text.text.len() == more.offset
}

/// Sends an event to all readers. Returns the wakers, and whether a reader lags.
pub(super) fn send(readers: &mut [Queue], event: Event, capacity: usize) -> (Wakers, bool) {
    let (mut wakers, mut lags) = (Wakers::default(), false);
    let Some((last, others)) = readers.split_last_mut() else {
        return (wakers, lags);
    };
    for reader in others {
        lags |= reader.push(event.clone(), capacity);
        wakers.add(reader.waker.take());
    }
    lags |= last.push(event, capacity);
    wakers.add(last.waker.take());
    (wakers, lags)
}

/// Wakers to call after the lock is released: waking may run user code.
#[derive(Default)]
pub(super) struct Wakers {
    first: Option<Waker>,
    more: Vec<Waker>,
}

impl Wakers {
    pub(super) fn add(&mut self, waker: Option<Waker>) {
        match self.first {
            None => self.first = waker,
            Some(_) => self.more.extend(waker),
        }
    }

    pub(super) fn wake(self) {
        let Wakers { first, more } = self;
        first.into_iter().chain(more).for_each(Waker::wake);
    }
}
