//! The index of conversations by owner and label. It follows the info of each conversation.

use rusqlite::{Connection, params};
use turnwright_core::record::ConversationInfo;

use super::error::Failure;

/// Replaces the entries of a conversation by those of its info.
pub(super) fn set_info(
    conn: &Connection,
    key: i64,
    info: Option<&ConversationInfo>,
) -> Result<(), Failure> {
    conn.prepare_cached("UPDATE conversations SET owner = ?2 WHERE conversation = ?1")?
        .execute(params![key, info.and_then(ConversationInfo::owner)])?;
    conn.prepare_cached("DELETE FROM labels WHERE conversation = ?1")?
        .execute([key])?;
    let mut statement = conn.prepare_cached(
        "INSERT INTO labels (key, value, conversation_id, conversation)
         SELECT ?2, ?3, conversation_id, conversation FROM conversations WHERE conversation = ?1",
    )?;
    for (label, value) in info.into_iter().flat_map(ConversationInfo::labels) {
        statement.execute(params![key, label, value])?;
    }
    Ok(())
}
