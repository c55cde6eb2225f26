//! The log of applied batches.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::apply::Applied;
use super::conversation_row::ConversationRow;
use super::encode::Encoded;
use super::error::Failure;

/// How long an id is kept, in milliseconds.
const RETENTION: i64 = 60 * 60 * 1_000;

/// Records that a batch was applied, and the rows that it put.
pub(super) fn insert(
    conn: &Connection,
    batch: &Encoded,
    conversation: &ConversationRow,
    put_rows: &[i64],
    now: i64,
) -> Result<(), Failure> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO batches (batch_id, revision, digest, applied_at, conversation, previous, records)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    statement.execute(params![
        batch.id.0.to_be_bytes(),
        conversation.revision,
        batch.digest,
        now,
        conversation.key,
        conversation.last_batch.map(|id| id.0.to_be_bytes()),
        format!("{put_rows:?}"),
    ])?;
    Ok(())
}

/// Returns the previous result of a batch whose id was already applied.
pub(super) fn find(conn: &Connection, batch: &Encoded) -> Result<Option<Applied>, Failure> {
    let mut statement =
        conn.prepare_cached("SELECT revision, digest FROM batches WHERE batch_id = ?1")?;
    let found = statement.query_row([batch.id.0.to_be_bytes()], |row| {
        Ok((row.get::<_, u64>(0)?, row.get::<_, u32>(1)?))
    });
    let verdict = |(revision, digest)| {
        if digest == batch.digest {
            Ok(revision)
        } else {
            Err(Failure::BatchIdReused(batch.id))
        }
    };
    Ok(found.optional()?.map(verdict))
}

/// Deletes ids that are too old, and those from a clock that was ahead.
pub(super) fn prune(conn: &Connection, now: i64) -> Result<(), Failure> {
    conn.prepare_cached("DELETE FROM batches WHERE applied_at NOT BETWEEN ?1 AND ?2")?
        .execute([now.saturating_sub(RETENTION), now.saturating_add(RETENTION)])?;
    Ok(())
}
