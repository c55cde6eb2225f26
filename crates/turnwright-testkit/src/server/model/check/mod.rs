//! Checks requests: what the real servers reject, and what would lose something of a conversation.

mod anthropic;
mod chat_completions;
mod gemini;
mod ollama;
mod place;
mod responses;

#[cfg(test)]
mod tests;

use std::fmt::Display;

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
    let body = Place::root(&body);
    match protocol {
        Protocol::ChatCompletions => chat_completions::check(&body),
        Protocol::Responses => responses::check(&body, known),
        Protocol::Anthropic => anthropic::check(request, &body, known),
        Protocol::Gemini => gemini::check(request, &body, known),
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

/// Checks the name of a tool or the id of a call: letters, digits, `_` and `-`.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    !name.is_empty() && name.chars().all(plain)
}

/// Checks the names of tools: plain, at most this long, and each only once.
fn tool_names(names: &[&str], longest: usize) -> Checked {
    for (index, name) in names.iter().enumerate() {
        must(
            is_plain(name) && name.len() <= longest,
            format_args!("tools.{index}.name: `{name}` is not a valid name"),
        )?;
        must(
            names.iter().take(index).all(|other| other != name),
            format_args!("tools: tool names must be unique, and `{name}` is not"),
        )?;
    }
    Ok(())
}
