//! The responses of the model, prepared in advance.

mod anthropic;
mod chat_completions;
mod gemini;
mod ollama;
mod responses;

use std::borrow::Cow;

use serde_json::{Value, json};
use turnwright_models::Protocol;

/// The script, selected by the first part of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Script {
    /// Three iterations with one call each, then an answer of twenty deltas.
    ThreeCalls,
    /// An answer of many deltas.
    Long,
    /// The same, each event in a separate write.
    LongInSmallWrites,
    /// Eight calls in one response, then an answer of twenty deltas.
    EightCalls,
}

pub(crate) const CALLS: usize = 3;
pub(crate) const AT_ONCE: usize = 8;
const SHORT: usize = 20;
pub(crate) const LONG: usize = 5_000;
const WORD: &str = " word";

pub(crate) const LOOK_UP: &str = "look_up";
pub(crate) const WAIT: &str = "wait_a_moment";

impl Script {
    pub(crate) const ALL: [Script; 4] = [
        Script::ThreeCalls,
        Script::Long,
        Script::LongInSmallWrites,
        Script::EightCalls,
    ];

    pub(crate) const fn path(self) -> &'static str {
        match self {
            Script::ThreeCalls => "three",
            Script::Long => "long",
            Script::LongInSmallWrites => "long-in-small-writes",
            Script::EightCalls => "eight",
        }
    }

    /// Returns the number of calls in a turn.
    pub(crate) const fn calls(self) -> usize {
        match self {
            Script::ThreeCalls => CALLS,
            Script::EightCalls => AT_ONCE,
            Script::Long | Script::LongInSmallWrites => 0,
        }
    }

    /// Returns the number of bytes in the answer of a turn.
    pub(crate) const fn answer(self) -> usize {
        match self {
            Script::ThreeCalls | Script::EightCalls => SHORT * WORD.len(),
            Script::Long | Script::LongInSmallWrites => LONG * WORD.len(),
        }
    }

    /// Returns the response to a prompt with this many tool results, as the events of a stream.
    fn events(self, protocol: Protocol, results: usize) -> Vec<String> {
        let (calls, answer): (Calls, Answer) = match protocol {
            Protocol::Responses => (responses::calls, responses::answer),
            Protocol::Anthropic => (anthropic::calls, anthropic::answer),
            Protocol::Gemini => (gemini::calls, gemini::answer),
            Protocol::Ollama => (ollama::calls, ollama::answer),
            _ => (chat_completions::calls, chat_completions::answer),
        };
        match self {
            Script::ThreeCalls if results < CALLS => {
                let arguments = json!({ "word": format!("turn{results}"), "most": 3 });
                calls(LOOK_UP, results, &[arguments])
            }
            Script::EightCalls if results == 0 => {
                let arguments = |number| json!({ "number": number });
                let arguments: Vec<Value> = (0..AT_ONCE).map(arguments).collect();
                calls(WAIT, 0, &arguments)
            }
            Script::ThreeCalls | Script::EightCalls => answer(SHORT),
            Script::Long | Script::LongInSmallWrites => answer(LONG),
        }
    }
}

/// Returns a response with calls of a tool: its name, the number of the first call, and the arguments of each.
type Calls = fn(&str, usize, &[Value]) -> Vec<String>;
/// Returns a response with this many deltas of text.
type Answer = fn(usize) -> Vec<String>;

/// Returns the id of a call.
fn call_id(number: usize) -> String {
    format!("call_Qm3vT0pXzR8kLw{number:02}")
}

/// Returns the pieces of six bytes in which arguments are streamed, in the protocols that do so. They are ASCII.
fn pieces(arguments: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let pieces = arguments.as_bytes().chunks(6);
    pieces.map(String::from_utf8_lossy)
}

/// Returns a response in wire format, split into writes: each event is an HTTP chunk.
pub(crate) fn response(script: Script, protocol: Protocol, results: usize) -> Vec<Vec<u8>> {
    let content_type = match protocol {
        Protocol::Ollama => "application/x-ndjson",
        _ => "text/event-stream; charset=utf-8",
    };
    let mut writes = vec![format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncache-control: no-cache\r\n\
         transfer-encoding: chunked\r\n\r\n"
    )];
    for event in script.events(protocol, results) {
        writes.push(format!("{:x}\r\n{event}\r\n", event.len()));
    }
    if let Some(last) = writes.last_mut() {
        last.push_str("0\r\n\r\n");
    }
    match script {
        Script::LongInSmallWrites => writes.into_iter().map(String::into_bytes).collect(),
        _ => vec![writes.concat().into_bytes()],
    }
}

/// Returns the text that a request has once for each tool result.
pub(crate) const fn mark_of_result(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Responses => r#""type":"function_call_output""#,
        Protocol::Anthropic => r#""type":"tool_result""#,
        Protocol::Gemini => r#""functionResponse":"#,
        _ => r#""role":"tool""#,
    }
}
