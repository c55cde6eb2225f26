//! Quirks of Responses servers.

use crate::engine::{ErrorBody, Quirks};

/// Does not return encrypted reasoning.
pub(super) const NO_ENCRYPTED_REASONING: Quirks = Quirks::bit(0);
/// Does not have the response that `previous_response_id` refers to.
pub(super) const NO_STORED_RESPONSES: Quirks = Quirks::bit(1);

/// Expects the content of every message of the model as a list of parts.
pub(super) const CONTENT_PARTS: Quirks = Quirks::bit(2);

/// The names of the quirks, by bit.
pub(super) const NAMES: &[&str] = &[
    "no encrypted reasoning",
    "no stored responses",
    "content as parts",
];

/// Returns the quirk that an error response reveals, if any. The message may quote the user, so a quirk is only
/// remembered after a request that respects it has succeeded.
pub(super) fn from_error(error: &ErrorBody<'_>) -> Quirks {
    let message = format!("{} {}", error.message, error.names).to_ascii_lowercase();
    let mentions = |words: &str| matches!(error.status, 400 | 404 | 422) && message.contains(words);
    let encrypted = mentions("encrypted content is not supported")
        || mentions("reasoning.encrypted_content")
        || mentions("'include'")
        || mentions("(include)");
    let stored = mentions("previous_response_not_found")
        || mentions("previous response")
        || mentions("previous_response_id");
    Quirks::default()
        .with_if(NO_ENCRYPTED_REASONING, encrypted)
        .with_if(NO_STORED_RESPONSES, stored)
        .with_if(CONTENT_PARTS, mentions("'output_text'"))
}

/// Returns `true` for models of OpenAI that do not reason: they reject a request for encrypted reasoning.
pub(super) fn never_reasons(model: &str) -> bool {
    let name = model.strip_prefix("openai/").unwrap_or(model);
    let prefixes = ["gpt-3.5", "gpt-4", "chatgpt-4o"];
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}
