//! Idempotency keys of calls.

use serde_json::json;

use super::digest_of;

/// The idempotency key of a call: unique, and the same after a resume.
///
/// It is a digest, because ids are arbitrary text: joined by a separator, two calls could have one key. A key also goes to
/// third parties, who need not know the ids. The nonce is random per turn, so that ids that are used again after a
/// conversation was deleted give other keys.
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
