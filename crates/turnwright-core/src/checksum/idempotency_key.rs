//! Idempotency keys of calls.

use serde_json::json;

use super::digest_of;

/// Returns the idempotency key of a call: unique, and the same after a resume.
///
/// It is a digest, because ids are arbitrary text: with a separator, two calls could get the same key. Keys also go to third
/// parties, who should not see the ids. The nonce is random per turn, so that ids that are reused after a conversation was
/// deleted give different keys.
pub(crate) fn idempotency_key(
    conversation_id: &str,
    turn_id: &str,
    ordinal: u64,
    checksum: &str,
    nonce: Option<&str>,
) -> String {
    digest_of(&match nonce {
        Some(nonce) => json!([conversation_id, turn_id, ordinal, checksum, nonce]),
        None => json!([conversation_id, turn_id, ordinal, checksum]),
    })
}
