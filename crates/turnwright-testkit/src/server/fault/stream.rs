//! The reply that goes wrong, frame by frame.

use serde_json::{Value, json};

use super::answer::error_in_stream;
use super::{ARGUMENTS, FaultPosition, TEXT, TOOL};
use crate::server::answer::{Answer, Step};
use crate::server::model::{self, Asked, Call, Event, Protocol, Reply};

/// The number of pieces of the reply, and of those that arrive before the fault.
const PIECES: usize = 8;
const ARRIVE: usize = 3;

/// Stands for what is inserted into a frame.
const MARK: &str = "@@";

pub(super) struct Stream {
    protocol: Protocol,
    events: Vec<Event>,
    /// The number of events before the fault.
    begun: usize,
    /// Whether a connection breaks in the middle of the next frame: the arguments are in one frame.
    inside: bool,
    /// A further event with a piece of the reply: the name, and the data before and after the piece.
    piece: (Option<String>, String, String),
}

impl Stream {
    pub(super) fn new(protocol: Protocol, place: FaultPosition) -> Self {
        let asked = Asked::streamed(protocol);
        let of = |text: &str, arguments: &str| -> Reply {
            match place {
                FaultPosition::InArguments => {
                    Reply::default().with_call(Call::new(TOOL, arguments).id("call_1"))
                }
                _ => model::text(text, PIECES),
            }
            .pieces(PIECES)
        };
        let events = of(TEXT, ARGUMENTS).events(&asked);
        let whole = place == FaultPosition::InArguments
            && matches!(protocol, Protocol::Gemini | Protocol::Ollama);
        let begun = match place {
            FaultPosition::BeforeFirstByte => 0,
            _ if whole => 0,
            _ => {
                let pieces = events
                    .iter()
                    .enumerate()
                    .filter(|(_, event)| is_piece(&event.data));
                pieces.map(|(at, _)| at + 1).nth(ARRIVE - 1).unwrap_or(0)
            }
        };
        let marked = of(MARK, MARK).pieces(1).events(&asked);
        let piece = marked.into_iter().find_map(|event| {
            let data = event.data.to_string();
            let (before, after) = data.split_once(MARK)?;
            Some((event.name, before.to_owned(), after.replace(MARK, "")))
        });
        Stream {
            protocol,
            events,
            begun,
            inside: whole,
            piece: piece.unwrap_or_default(),
        }
    }

    fn halves(&self) -> (&[Event], &[Event]) {
        self.events.split_at(self.begun.min(self.events.len()))
    }

    fn frames(&self, events: &[Event]) -> Vec<Step> {
        self.protocol.frames(events, self.protocol.line_end())
    }

    /// Returns the frame after the last event, where the protocol has one.
    pub(super) fn done(&self) -> Option<Step> {
        self.protocol.done(self.protocol.line_end())
    }

    fn sent(&self, events: &[Event]) -> Answer {
        self.protocol.stream().steps(self.frames(events))
    }

    /// Returns the head, and everything before the fault.
    pub(super) fn begun(&self) -> Answer {
        self.sent(self.halves().0)
    }

    /// Returns everything before the connection breaks.
    pub(super) fn broken(&self) -> Answer {
        if self.inside {
            self.half_frame()
        } else {
            self.begun()
        }
    }

    pub(super) fn complete(&self, line_end: &str) -> Answer {
        let frames = self.protocol.frames(&self.events, line_end);
        let answer = self.protocol.stream().steps(frames);
        answer.steps(self.protocol.done(line_end))
    }

    /// Returns the complete reply, with a frame of these steps in the middle.
    pub(super) fn with_frame(&self, frame: impl IntoIterator<Item = Step>) -> Answer {
        let rest = self.frames(self.halves().1);
        self.begun().steps(frame).steps(rest).steps(self.done())
    }

    /// Returns a frame with this data, named like those with pieces of the reply.
    pub(super) fn frame(&self, data: &str) -> String {
        let name = self.piece.0.as_deref();
        self.protocol.frame(name, data, self.protocol.line_end())
    }

    /// Returns the steps of a frame whose text is sent by `filling`.
    pub(super) fn frame_with(&self, filling: Step) -> [Step; 3] {
        let (_, before, after) = &self.piece;
        let frame = self.frame(&format!("{before}{MARK}{after}"));
        let (before, after) = frame.split_once(MARK).unwrap_or((&frame, ""));
        [
            Step::send(before.to_owned()),
            filling,
            Step::send(after.to_owned()),
        ]
    }

    /// Returns everything before the fault, and half of the next frame.
    pub(super) fn half_frame(&self) -> Answer {
        let next = self.frames(self.halves().1);
        let Some(Step::Send(frame)) = next.first() else {
            return self.begun();
        };
        self.begun().body(frame.slice(..frame.len() / 2))
    }

    pub(super) fn error_frame(&self) -> Answer {
        let (name, data) = error_in_stream(self.protocol, self.begun);
        let frame = self.protocol.frame(name, &data, self.protocol.line_end());
        self.begun().body(frame).steps(self.done())
    }

    pub(super) fn failed_response(&self) -> Answer {
        let mut data = self
            .events
            .last()
            .map(|event| event.data.clone())
            .unwrap_or_default();
        if let Some(Value::Object(response)) = data.get_mut("response") {
            let error = json!({ "code": "server_error", "message": "The provider went away." });
            response.insert("error".to_owned(), error);
            response.insert("status".to_owned(), "failed".into());
            response.insert("output".to_owned(), json!([]));
        }
        if let Value::Object(event) = &mut data {
            event.insert("type".to_owned(), "response.failed".into());
            event.insert("sequence_number".to_owned(), self.begun.into());
        }
        let line_end = self.protocol.line_end();
        let frame = self
            .protocol
            .frame(Some("response.failed"), &data.to_string(), line_end);
        self.begun().body(frame)
    }

    /// Returns the reply with its proper end, but without the finish reason.
    pub(super) fn without_finish(&self) -> Answer {
        let kept = match self.protocol {
            // The end has the reason in a field, beside other things.
            Protocol::Gemini => {
                let mut answer = self.sent(&self.events);
                if let (Some(last), Some(Step::Send(bytes))) =
                    (self.events.last(), answer.steps.last_mut())
                {
                    let mut data = last.data.clone();
                    if let Some(Value::Object(candidate)) = data.pointer_mut("/candidates/0") {
                        candidate.remove("finishReason");
                        candidate.remove("finishMessage");
                    }
                    *bytes = self.frame(&data.to_string()).into();
                }
                return answer;
            }
            // `message_delta` has the reason, and `message_stop` follows.
            Protocol::Anthropic => self.events.len().saturating_sub(2),
            _ => self.events.len().saturating_sub(1),
        };
        let (events, rest) = self.events.split_at(kept);
        let after = self.frames(rest.get(1..).unwrap_or_default());
        self.sent(events).steps(after).steps(self.done())
    }

    pub(super) fn without_done(&self) -> Answer {
        self.sent(&self.events)
    }

    pub(super) fn without_last_line_end(&self) -> Answer {
        let mut answer = self.complete(self.protocol.line_end());
        if let Some(Step::Send(last)) = answer.steps.last_mut() {
            let text = String::from_utf8_lossy(last);
            *last = text.trim_end().to_owned().into();
        }
        answer
    }
}

/// Returns `true` if an event has a piece of a text or of arguments.
fn is_piece(data: &Value) -> bool {
    let places = [
        "/choices/0/delta/content",
        "/choices/0/delta/tool_calls/0/function/arguments",
        "/delta",
        "/delta/text",
        "/delta/partial_json",
        "/candidates/0/content/parts/0/text",
        "/message/content",
    ];
    let found = places
        .iter()
        .filter_map(|place| data.pointer(place)?.as_str());
    found.into_iter().any(|text| !text.is_empty())
}
