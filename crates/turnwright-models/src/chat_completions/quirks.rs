//! Quirks of Chat Completions servers.

use crate::engine::{ErrorBody, Quirks};

/// Does not accept `stream_options`.
pub(super) const NO_STREAM_OPTIONS: Quirks = Quirks::bit(0);
/// Does not accept a user message after a tool message or another user message.
pub(super) const STRICT_ROLES: Quirks = Quirks::bit(1);
/// Expects the maximum number of tokens as `max_completion_tokens` instead of `max_tokens`.
pub(super) const MAX_COMPLETION_TOKENS: Quirks = Quirks::bit(2);

/// The names of the quirks, by bit.
pub(super) const NAMES: &[&str] = &[
    "no `stream_options`",
    "strict roles",
    "`max_completion_tokens`",
];

/// Returns the quirk that an error response reveals, if any. The message may quote the user, so a quirk is only
/// remembered after a request that respects it has succeeded.
pub(super) fn from_error(error: &ErrorBody<'_>) -> Quirks {
    let message = format!("{} {}", error.message, error.names).to_ascii_lowercase();
    let mentions = |words: &str| matches!(error.status, 400 | 422 | 500) && message.contains(words);
    let no_stream_options = mentions("stream_options");
    let about_roles =
        mentions("after role") || mentions("must alternate") || mentions("message_order");
    // A value that is too large is not a quirk. If the name is not the problem, sending another name could drop the
    // limit.
    let unknown = [
        "unsupported",
        "not supported",
        "unrecognized",
        "unknown",
        "not permitted",
    ];
    let about_name = unknown.iter().any(|word| message.contains(word));
    let about_limit = mentions("'max_tokens'") && mentions("max_completion_tokens");
    Quirks::default()
        .with_if(NO_STREAM_OPTIONS, no_stream_options)
        .with_if(STRICT_ROLES, about_roles && !no_stream_options)
        .with_if(MAX_COMPLETION_TOKENS, about_name && about_limit)
}
