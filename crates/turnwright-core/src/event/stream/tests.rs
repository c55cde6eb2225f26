use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::*;
use crate::gate::GateEnd;

fn hub(capacity: usize, keeps_log: bool) -> Arc<EventHub> {
    let hub = EventHub::new("t".into(), "c".into()).capacity(capacity);
    Arc::new(hub.keep_log(keeps_log))
}

/// What a reader can read now, without waiting.
fn read(stream: &mut TurnStream) -> Vec<Event> {
    let mut events = Vec::new();
    let mut cx = Context::from_waker(Waker::noop());
    while let Poll::Ready(Some(event)) = pin!(&mut *stream).poll_next(&mut cx) {
        events.push(event);
    }
    events
}

/// Events in short: the name, and the text at its offset.
fn short(events: &[Event]) -> Vec<String> {
    let one = |event: &Event| match &event.kind {
        EventKind::MessageDelta(delta) | EventKind::ThoughtDelta(delta) => {
            format!("{}@{} {}", delta.id, delta.offset, delta.text)
        }
        EventKind::ToolCallDelta { tool, delta } => {
            format!("{} {tool}@{} {}", delta.id, delta.offset, delta.text)
        }
        EventKind::ToolExecutionProgress { id, message, .. } => format!("{id} {message}"),
        kind => kind.name().to_owned(),
    };
    events.iter().map(one).collect()
}

fn gate_closed(id: &str) -> EventKind {
    EventKind::GateClosed {
        id: id.into(),
        how: GateEnd::Resolved,
        by: None,
        note: None,
    }
}

fn progress(id: &str, message: &str) -> EventKind {
    EventKind::ToolExecutionProgress {
        id: id.into(),
        checksum: Arc::default(),
        tool: Arc::default(),
        message: message.to_owned(),
    }
}

#[test]
fn a_lagging_reader_gets_merged_deltas_and_loses_nothing() {
    let hub = hub(2, false);
    let mut stream = hub.subscribe(false);
    let (a, b) = (
        hub.open_text(TextKind::Message, "a".into()),
        hub.open_text(TextKind::Thought, "b".into()),
    );
    for piece in ["1", "2", "3"] {
        hub.push_text(&a, piece);
        hub.push_text(&b, piece);
    }
    hub.emit(|| progress("c", "10 %"));
    hub.emit(|| progress("c", "20 %"));
    hub.emit(|| gate_closed("g"));
    // Not past an event that is no piece.
    hub.push_text(&a, "4");
    hub.push_text(&a, "5");
    let events = read(&mut stream);
    assert_eq!(
        short(&events),
        ["a@0 123", "b@0 123", "c 20 %", "turnGateClosed", "a@3 45"]
    );
    // It caught up: pieces come as they are again.
    hub.push_text(&a, "6");
    hub.push_text(&a, "7");
    assert_eq!(short(&read(&mut stream)), ["a@5 6", "a@6 7"]);
    assert_eq!(hub.close_text(&a), "1234567");
}

#[test]
fn the_turn_yields_to_a_lagging_reader_once_until_it_reads() {
    let hub = hub(1, false);
    let mut stream = hub.subscribe(false);
    let text = hub.open_text(TextKind::Message, "a".into());
    let yields: Vec<bool> = (0..4).map(|_| hub.push_text(&text, "x")).collect();
    assert_eq!(yields, [false, true, false, false]);
    read(&mut stream);
    let yields: Vec<bool> = (0..3).map(|_| hub.push_text(&text, "x")).collect();
    assert_eq!(yields, [false, true, false]);
}

#[test]
fn a_reader_that_attaches_gets_what_was_written_so_far_and_then_the_rest() {
    let hub = hub(64, true);
    hub.emit(|| gate_closed("g"));
    hub.emit(|| progress("c", "10 %"));
    let message = hub.open_text(TextKind::Message, "m".into());
    hub.push_text(&message, "void");
    hub.discard_text(&message);
    hub.push_text(&message, "Hel");
    let tool = Arc::default();
    let call = hub.open_text(TextKind::ToolCall { tool }, "c".into());
    hub.name_tool(&call, "look");
    let mut stream = hub.subscribe(true);
    hub.push_text(&message, "lo");
    hub.push_text(&call, "{}");
    hub.end(|| gate_closed("last"));
    hub.emit(|| gate_closed("too late"));
    assert_eq!(
        short(&read(&mut stream)),
        [
            "turnGateClosed",
            "m@0 Hel",
            "c look@0 ",
            "m@3 lo",
            "c look@0 {}",
            "turnGateClosed"
        ]
    );
    // A second one, after the end.
    let mut later = hub.subscribe(true);
    let events = short(&read(&mut later));
    assert_eq!(events.first().unwrap(), "turnGateClosed");
    assert_eq!(events.last().unwrap(), "turnGateClosed");
}

#[test]
fn without_a_reader_nothing_is_made() {
    let hub = hub(1, false);
    hub.emit(|| panic!("created without a reader"));
    drop(hub.subscribe(false));
    hub.emit(|| panic!("created without a reader"));
    hub.end(|| panic!("created without a reader"));
    assert!(!hub.may_have_readers());
}

#[test]
fn a_writer_whose_text_is_gone_does_not_touch_another_text() {
    let hub = hub(1, false);
    let gone = hub.open_text(TextKind::Message, "a".into());
    hub.close_text(&gone);
    let other = hub.open_text(TextKind::Message, "b".into());
    hub.push_text(&gone, "x");
    hub.push_text(&other, "y");
    hub.close_text(&gone);
    assert_eq!(hub.close_text(&other), "y");
}
