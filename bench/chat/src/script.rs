//! The responses of the model, prepared in advance.

use std::fmt::Write as _;

use serde_json::{Value, json};

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
    pub(crate) fn events(self, results: usize) -> Vec<String> {
        match self {
            Script::ThreeCalls if results < CALLS => {
                let arguments = format!(r#"{{"word":"turn{results}","most":3}}"#);
                calls(LOOK_UP, results, &[arguments])
            }
            Script::EightCalls if results == 0 => {
                let arguments = |number| format!(r#"{{"number":{number}}}"#);
                let arguments: Vec<String> = (0..AT_ONCE).map(arguments).collect();
                calls(WAIT, 0, &arguments)
            }
            Script::ThreeCalls | Script::EightCalls => answer(SHORT),
            Script::Long | Script::LongInSmallWrites => answer(LONG),
        }
    }
}

/// Returns calls whose arguments are streamed in pieces of six bytes.
fn calls(tool: &str, first: usize, arguments: &[String]) -> Vec<String> {
    let mut events = vec![chunk(
        &json!({ "role": "assistant", "content": null }),
        None,
    )];
    for (index, arguments) in arguments.iter().enumerate() {
        let begins = json!({ "tool_calls": [{
            "index": index,
            "id": format!("call_Qm3vT0pXzR8kLw{:02}", first + index),
            "type": "function",
            "function": { "name": tool, "arguments": "" },
        }] });
        events.push(chunk(&begins, None));
        for piece in arguments.as_bytes().chunks(6) {
            let piece = String::from_utf8_lossy(piece);
            let continues =
                json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] });
            events.push(chunk(&continues, None));
        }
    }
    end(&mut events, "tool_calls");
    events
}

fn answer(deltas: usize) -> Vec<String> {
    let mut events = vec![chunk(&json!({ "role": "assistant", "content": "" }), None)];
    let piece = chunk(&json!({ "content": WORD }), None);
    events.extend(std::iter::repeat_n(piece, deltas));
    end(&mut events, "stop");
    events
}

fn end(events: &mut Vec<String>, reason: &str) {
    events.push(chunk(&json!({}), Some(reason)));
    let usage = json!({
        "prompt_tokens": 321,
        "completion_tokens": 45,
        "total_tokens": 366,
        "prompt_tokens_details": { "cached_tokens": 128, "audio_tokens": 0 },
        "completion_tokens_details": { "reasoning_tokens": 0, "audio_tokens": 0 },
    });
    events.push(event(&json!([]), &usage));
    events.push("data: [DONE]\n\n".to_owned());
}

fn chunk(delta: &Value, finish_reason: Option<&str>) -> String {
    let choice = json!({
        "index": 0,
        "delta": delta,
        "logprobs": null,
        "finish_reason": finish_reason,
    });
    event(&json!([choice]), &Value::Null)
}

fn event(choices: &Value, usage: &Value) -> String {
    let chunk = json!({
        "id": "chatcmpl-C4mXq0wT7vJb2nRk9sLdPzYhEaUf1",
        "object": "chat.completion.chunk",
        "created": 1_770_000_000,
        "model": "m",
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
        "choices": choices,
        "usage": usage,
    });
    format!("data: {chunk}\n\n")
}

/// Returns a response in wire format, split into writes: each event is an HTTP chunk.
pub(crate) fn response(script: Script, results: usize) -> Vec<Vec<u8>> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n\
                transfer-encoding: chunked\r\n\r\n";
    let mut writes = vec![head.to_owned()];
    for event in script.events(results) {
        writes.push(format!("{:x}\r\n{event}\r\n", event.len()));
    }
    if let Some(last) = writes.last_mut() {
        last.push_str("0\r\n\r\n");
    }
    match script {
        Script::LongInSmallWrites => writes.into_iter().map(String::into_bytes).collect(),
        _ => {
            let mut all = String::new();
            for piece in writes {
                let _ = write!(all, "{piece}");
            }
            vec![all.into_bytes()]
        }
    }
}
