//! Listing conversations with their infos.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use turnwright_core::record::ByteResolver;
use turnwright_core::store::{ConversationFilter, ConversationId, FoundConversation, Loaded};

use super::decode::Read;
use super::error::Failure;
use super::format;

/// The conversations that have records and match the filter.
pub(super) fn find_conversations(
    conn: &mut Connection,
    filter: &ConversationFilter,
    reopen: &ByteResolver,
) -> Result<Vec<FoundConversation>, Failure> {
    let snapshot = conn.transaction()?;
    format::check(&snapshot)?;
    let prefix = filter.prefix.as_deref().unwrap_or_default();
    let after = filter.after.as_ref().map(ConversationId::as_str);
    let from = after.filter(|after| *after > prefix).unwrap_or(prefix);
    let texts = [Some(from), after, filter.owner.as_deref()].into_iter();
    let labels = filter.labels.iter();
    let labels = labels.flat_map(|(key, value)| [Some(key.as_str()), Some(value.as_str())]);
    let values = texts.chain(labels);
    let values = values.map(|text| text.map_or(Value::Null, |text| Value::from(text.to_owned())));

    let mut statement = snapshot.prepare_cached(&sql(filter))?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut found = Vec::new();
    while found.len() < filter.limit.unwrap_or(usize::MAX) {
        let Some(row) = rows.next()? else { break };
        let id: String = row.get("conversation_id")?;
        // Ids with the same prefix are adjacent.
        if !id.starts_with(prefix) {
            break;
        }
        let mut info = Loaded::default();
        if row.get::<_, Option<i64>>(0)?.is_some() {
            Read::of(row)?.add_to(&mut info, reopen);
        }
        found.push(FoundConversation::new(ConversationId::new(id), info));
    }
    Ok(found)
}

/// The statement for a filter: the first id, the one that it must come after, the owner, then keys and values of labels. The
/// conversations come in order from the narrowest index: the owner's, that of the first label, or that of ids.
fn sql(filter: &ConversationFilter) -> String {
    let (index, ids) = match (&filter.owner, filter.labels.is_empty()) {
        (Some(_), _) => (
            "conversations c INDEXED BY conversations_by_owner",
            "c.owner = ?3 AND c.conversation_id",
        ),
        (None, false) => (
            "labels l CROSS JOIN conversations c ON c.conversation = l.conversation",
            "l.key = ?4 AND l.value = ?5 AND l.conversation_id",
        ),
        (None, true) => ("conversations c", "c.conversation_id"),
    };
    let order = ids.rsplit(' ').next().unwrap_or_default();
    let labels = (0..filter.labels.len()).map(|label| {
        let (key, value) = (4 + 2 * label, 5 + 2 * label);
        format!(
            " AND EXISTS (SELECT 1 FROM labels o WHERE o.key = ?{key} AND o.value = ?{value}
                AND o.conversation_id = c.conversation_id)"
        )
    });
    let labels: String = labels.collect();
    format!(
        "SELECT r.position, r.kind, r.id, r.checksum, r.body, c.conversation_id AS conversation_id
         FROM {index} LEFT JOIN records r
             ON r.kind = 'conversation_info' AND r.id = 'info' AND r.conversation = c.conversation
         WHERE {ids} >= ?1 AND (?2 IS NULL OR c.conversation_id > ?2) AND (?3 IS NULL OR c.owner = ?3){labels}
         ORDER BY {order}"
    )
}

#[cfg(test)]
mod tests;
