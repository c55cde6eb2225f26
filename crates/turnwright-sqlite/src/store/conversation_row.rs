//! The row of a conversation: under its id while it has records, and under a digest of the id afterwards. And the index of
//! conversations by owner and label, which follows the info of each conversation.

use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};
use turnwright_core::record::{ConversationInfo, Lease};
use turnwright_core::store::BatchId;

use super::encode::nanoseconds;
use super::error::Failure;

/// The counters of a conversation. All are 0 if it was never written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ConversationRow {
    /// The key of the row, if the conversation has records.
    pub(super) key: Option<i64>,
    pub(super) revision: u64,
    pub(super) fencing_token: u64,
    pub(super) last_position: u64,
    /// The oldest revision since which all changes are known.
    pub(super) changes_from: u64,
    /// The id of the last batch, if the conversation has records.
    pub(super) last_batch: Option<BatchId>,
}

impl ConversationRow {
    pub(super) fn find(conn: &Connection, id: &str) -> Result<Self, Failure> {
        let mut statement = conn.prepare_cached(
            "SELECT conversation, revision, fencing_token, last_position, changes_from, last_batch_id
             FROM conversations
             WHERE conversation_id = ?1",
        )?;
        let found = statement.query_row([id], |row| {
            Ok(ConversationRow {
                key: Some(row.get(0)?),
                revision: row.get(1)?,
                fencing_token: row.get(2)?,
                last_position: row.get(3)?,
                changes_from: row.get(4)?,
                last_batch: row
                    .get::<_, Option<_>>(5)?
                    .map(|id| BatchId(u128::from_be_bytes(id))),
            })
        });
        match found.optional()? {
            Some(found) => Ok(found),
            None => ConversationRow::find_deleted(conn, id),
        }
    }

    fn find_deleted(conn: &Connection, id: &str) -> Result<Self, Failure> {
        let mut statement = conn.prepare_cached(
            "SELECT revision, fencing_token, last_position FROM deleted_conversations WHERE digest = ?1",
        )?;
        let found = statement.query_row([digest(conn, id)?], |row| {
            Ok(ConversationRow {
                key: None,
                revision: row.get(0)?,
                fencing_token: row.get(1)?,
                last_position: row.get(2)?,
                changes_from: row.get(0)?,
                last_batch: None,
            })
        });
        Ok(found.optional()?.unwrap_or_default())
    }

    /// Returns the key of the row. Inserts the row if there is none, because a record is about to be put.
    pub(super) fn insert(&mut self, conn: &Connection, id: &str) -> Result<i64, Failure> {
        if let Some(key) = self.key {
            return Ok(key);
        }
        if self.revision > 0 {
            conn.prepare_cached("DELETE FROM deleted_conversations WHERE digest = ?1")?
                .execute([digest(conn, id)?])?;
        }
        let mut statement = conn.prepare_cached(
            "INSERT INTO conversations (conversation_id, revision, fencing_token, last_position, written_at)
             VALUES (?1, 0, 0, 0, 0)",
        )?;
        let key = statement.insert([id])?;
        self.key = Some(key);
        Ok(key)
    }

    /// Writes the counters.
    pub(super) fn update(&self, conn: &Connection, id: &str, now: i64) -> Result<(), Failure> {
        let Some(key) = self.key else {
            return self.insert_deleted(conn, id);
        };
        let mut statement = conn.prepare_cached(
            "UPDATE conversations SET revision = ?2, fencing_token = ?3, last_position = ?4, changes_from = ?5,
                 written_at = ?6, last_batch_id = ?7
             WHERE conversation = ?1",
        )?;
        statement.execute(params![
            key,
            self.revision,
            self.fencing_token,
            self.last_position,
            self.changes_from,
            now,
            self.last_batch.map(|id| id.0.to_be_bytes())
        ])?;
        Ok(())
    }

    /// Writes the counters. Deletes the row with the id if the conversation has no more records.
    pub(super) fn update_or_delete(
        &mut self,
        conn: &Connection,
        id: &str,
        now: i64,
    ) -> Result<(), Failure> {
        if let Some(key) = self.key {
            let has_records: bool = conn
                .prepare_cached("SELECT EXISTS (SELECT 1 FROM records WHERE conversation = ?1)")?
                .query_row([key], |row| row.get(0))?;
            if !has_records {
                conn.prepare_cached("DELETE FROM conversations WHERE conversation = ?1")?
                    .execute([key])?;
                self.key = None;
            }
        }
        self.update(conn, id, now)
    }

    fn insert_deleted(&self, conn: &Connection, id: &str) -> Result<(), Failure> {
        let mut statement = conn.prepare_cached(
            "INSERT OR REPLACE INTO deleted_conversations (digest, revision, fencing_token, last_position)
             VALUES (?1, ?2, ?3, ?4)",
        )?;
        statement.execute(params![
            digest(conn, id)?,
            self.revision,
            self.fencing_token,
            self.last_position
        ])?;
        Ok(())
    }
}

/// Records which turn holds the conversation and until when, according to its lease.
pub(super) fn set_lease(conn: &Connection, key: i64, lease: Option<&Lease>) -> Result<(), Failure> {
    let held = lease.filter(|lease| !lease.is_released());
    let turn_id = held.and_then(|lease| lease.turn_id.as_deref());
    let until = held.map(|lease| nanoseconds(lease.until));
    conn.prepare_cached(
        "UPDATE conversations SET lease_turn_id = ?2, lease_until = ?3 WHERE conversation = ?1",
    )?
    .execute(params![key, turn_id, until])?;
    Ok(())
}

/// Returns the key under which the counters of a deleted conversation are stored. The salt of the file prevents
/// lookups in a precomputed list of ids.
pub(super) fn digest(conn: &Connection, id: &str) -> Result<[u8; 32], Failure> {
    let mut hash = Sha256::new();
    let mut statement = conn.prepare_cached("SELECT salt FROM salt")?;
    let mut rows = statement.query([])?;
    match rows.next()? {
        Some(row) => hash.update(row.get_ref(0)?.as_blob().unwrap_or_default()),
        None => return Err(rusqlite::Error::QueryReturnedNoRows.into()),
    }
    hash.update(id);
    Ok(hash.finalize().into())
}

/// Replaces the entries of a conversation by those of its info.
pub(super) fn set_info(
    conn: &Connection,
    key: i64,
    info: Option<&ConversationInfo>,
) -> Result<(), Failure> {
    conn.prepare_cached("UPDATE conversations SET owner = ?2 WHERE conversation = ?1")?
        .execute(params![key, info.and_then(|info| info.owner.as_deref())])?;
    conn.prepare_cached("DELETE FROM labels WHERE conversation = ?1")?
        .execute([key])?;
    let mut statement = conn.prepare_cached(
        "INSERT INTO labels (key, value, conversation_id, conversation)
         SELECT ?2, ?3, conversation_id, conversation FROM conversations WHERE conversation = ?1",
    )?;
    for (label, value) in info.into_iter().flat_map(|info| &info.labels) {
        statement.execute(params![key, label, value])?;
    }
    Ok(())
}
