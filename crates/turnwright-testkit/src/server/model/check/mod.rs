//! Checks requests: what the real servers reject, and what would lose something of a conversation.

mod anthropic;
mod chat_completions;
mod gemini;
mod ollama;
mod place;
mod responses;

#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::fmt::Display;
use std::sync::LazyLock;

use serde_json::Value;
use turnwright_core::schema::{RepairKind, Schema};

use super::protocol::Protocol;
use super::state::{self, server_of};
use crate::server::ReceivedRequest;

use place::Place;

/// What is wrong with a request: the status of the answer, and the message.
pub(super) type Problem = (u16, String);

type Checked<T = ()> = Result<T, Problem>;

/// What a server knows about the conversations with it.
pub(super) struct Known<'a> {
    /// The name of the server, which is part of its opaque state.
    pub(super) server: &'a str,
    /// Whether this is the text of a reply that came with a signature of its own. Only Gemini signs texts.
    pub(super) signed: &'a dyn Fn(&str) -> bool,
}

impl Known<'_> {
    /// Checks opaque state that came back: see [`state::check`].
    fn state(&self, kind: &str, state: &str, about: &[&str]) -> Result<(), String> {
        state::check(kind, self.server, state, about)
    }
}

/// Checks a request for a reply by the rules of its protocol. A [`Player`](super::Player) that is strict answers the
/// message with status 400, in the form of the protocol.
///
/// Rejected is what the real server rejects: missing fields and headers, unknown roles and parts, calls without
/// results, results without calls. Beyond that:
///
/// - **All**: results follow their calls directly and in the order of the calls. Opaque state was issued by this
///   server, and belongs to what it came back with.
/// - **Responses**: every function has `strict`. With `store: false` each reasoning item has its `encrypted_content`,
///   that of `response.output_item.done`. Ids of items are the server's own.
/// - **Anthropic**: with thinking on, each assistant message of an open tool exchange starts with its thinking block.
/// - **Gemini**: schemas are sent as `parametersJsonSchema`, the key in `x-goog-api-key`. Contents alternate. The first
///   call of each content of the current turn has its `thoughtSignature`, or a documented placeholder.
/// - **Ollama**: `stream` is sent, results have `tool_name`, and `tool_call_id` if the call had an id.
///
/// # Errors
/// Returns what is wrong with the request.
pub fn check(protocol: Protocol, request: &ReceivedRequest) -> Result<(), String> {
    let known = Known {
        server: &server_of(request),
        signed: &|_| false,
    };
    check_as(protocol, request, &known).map_err(|(_, message)| message)
}

pub(super) fn check_as(
    protocol: Protocol,
    request: &ReceivedRequest,
    known: &Known<'_>,
) -> Checked {
    let body = request.json().unwrap_or_default();
    match protocol {
        Protocol::Anthropic => anthropic::check_head(request, &body)?,
        Protocol::Gemini => gemini::check_head(request)?,
        _ => {}
    }
    shape(protocol, &body)?;
    let body = Place::root(&body);
    match protocol {
        Protocol::ChatCompletions => chat_completions::check(&body),
        Protocol::Responses => responses::check(&body, known),
        Protocol::Anthropic => anthropic::check(&body, known),
        Protocol::Gemini => gemini::check(&body, known),
        Protocol::Ollama => ollama::check(&body),
    }
}

/// Rejects a request with this message unless the condition holds.
fn must(holds: bool, message: impl Display) -> Checked {
    if holds {
        Ok(())
    } else {
        Err((400, message.to_string()))
    }
}

/// Checks the shape of a body: fields, types and names, by the JSON Schema of its protocol. A `null` counts as no field.
fn shape(protocol: Protocol, body: &Value) -> Checked {
    static SHAPES: LazyLock<HashMap<Protocol, Schema>> = LazyLock::new(|| {
        let read = |(protocol, text)| Some((protocol, Schema::from_json(text).ok()?));
        SOURCES.into_iter().filter_map(read).collect()
    });
    let Some(schema) = SHAPES.get(&protocol) else {
        return Ok(());
    };
    let problem = |pointer: &str, message: &str| {
        let place = pointer.trim_start_matches('/').replace('/', ".");
        Err((400, format!("{place}: {message}")))
    };
    let allowed = [RepairKind::NullAsAbsent, RepairKind::Integer];
    match schema.check(body.clone()) {
        Err(invalid) => match invalid.faults().first() {
            Some(fault) => problem(&fault.pointer, &fault.message),
            None => problem("", "invalid"),
        },
        Ok(checked) => {
            let mut repairs = checked.repairs().iter();
            match repairs.find(|repair| !allowed.contains(&repair.kind)) {
                Some(repair) => problem(&repair.pointer, "a value of another type is required"),
                None => Ok(()),
            }
        }
    }
}

const SOURCES: [(Protocol, &str); 5] = [
    (
        Protocol::ChatCompletions,
        include_str!("shapes/chat_completions.json"),
    ),
    (Protocol::Responses, include_str!("shapes/responses.json")),
    (Protocol::Anthropic, include_str!("shapes/anthropic.json")),
    (Protocol::Gemini, include_str!("shapes/gemini.json")),
    (Protocol::Ollama, include_str!("shapes/ollama.json")),
];

/// Checks that each tool has a name of its own, and returns the names.
fn tool_names<'a>(tools: impl Iterator<Item = Place<'a>>) -> Checked<Vec<&'a str>> {
    let mut names = Vec::new();
    for tool in tools.filter(|tool| tool.has("name")) {
        let name = tool.text("name");
        tool.must(
            !names.contains(&name),
            format_args!("tool names must be unique, and `{name}` is not"),
        )?;
        names.push(name);
    }
    Ok(names)
}

/// The calls that have no result yet, in their order.
#[derive(Default)]
struct OpenCalls<'a>(VecDeque<&'a str>);

impl<'a> OpenCalls<'a> {
    fn call(&mut self, call: &Place<'a>, id: &'a str) -> Checked {
        call.must(
            !self.0.contains(&id),
            format_args!("the id `{id}` is used twice"),
        )?;
        self.0.push_back(id);
        Ok(())
    }

    fn result(&mut self, result: &Place<'a>, id: &str) -> Checked {
        let due = self.0.pop_front().ok_or_else(|| {
            result.problem(format_args!(
                "the result of `{id}` does not follow its call, or was there already"
            ))
        })?;
        result.must(
            due == id,
            format_args!("results must be in the order of their calls: `{due}` is due, not `{id}`"),
        )
    }

    /// Checks that each call has its result.
    fn answered(&self) -> Checked {
        let open = Vec::from_iter(self.0.iter().copied()).join(", ");
        must(
            self.0.is_empty(),
            format_args!("these calls have no results directly after them: {open}"),
        )
    }
}
