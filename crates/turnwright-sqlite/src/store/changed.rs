//! The log of applied batches, and the changes in a conversation since a revision.

use rusqlite::{Connection, OptionalExtension as _, params};
use turnwright_core::record::{ByteResolver, RecordKind};
use turnwright_core::store::{Changes, ConversationId, Loaded, MIN_DELETION_HISTORY, Revision};

use super::apply::Applied;
use super::conversation_row::ConversationRow;
use super::decode::{Wanted, records};
use super::encode::Encoded;
use super::error::Failure;
use super::format;

/// Follows the log of batches back to a revision, as far as it can be read.
const LOG: &str = "WITH RECURSIVE log (previous, revision, records) AS (
        SELECT previous, revision, records FROM batches WHERE batch_id = ?2 AND conversation = ?1 AND revision > ?3 AND json_valid(records)
        UNION ALL
        SELECT b.previous, b.revision, b.records FROM log JOIN batches b ON b.batch_id = log.previous
        WHERE b.conversation = ?1 AND b.revision = log.revision - 1 AND b.revision > ?3 AND json_valid(b.records))";
const PUT_SINCE: &str = "SELECT position, kind, id, checksum, body FROM records
    WHERE record IN (SELECT value FROM log, json_each(log.records)) AND conversation = ?1";
/// Reads all records of the conversation: used if the changes are no longer in the log.
const SCAN: &str = "SELECT position, kind, id, checksum, body FROM records
    WHERE conversation = ?1 AND revision > ?2";
const DELETED_SINCE: &str =
    "SELECT DISTINCT kind, id FROM deletions WHERE conversation = ?1 AND revision > ?2
    AND NOT EXISTS (SELECT 1 FROM records WHERE records.conversation = deletions.conversation
        AND records.kind = deletions.kind AND records.id = deletions.id)";

pub(super) fn changed(
    conn: &mut Connection,
    conversation: &ConversationId,
    since: Revision,
    reopen: &ByteResolver,
    wanted: Wanted<'_>,
) -> Result<Changes, Failure> {
    let snapshot = conn.transaction()?;
    format::check(&snapshot)?;
    let row = ConversationRow::find(&snapshot, conversation.as_str())?;
    if since.0 < row.changes_from || since.0 > row.revision {
        return Ok(Changes::Unknown);
    }
    let (mut put, mut deleted) = (Loaded::default(), Vec::new());
    if let Some(key) = row.key {
        let last = row.last_batch.map(|id| id.0.to_be_bytes());
        let logged: u64 = snapshot
            .prepare_cached(&format!("{LOG} SELECT count(*) FROM log"))?
            .query_row(params![key, last, since.0], |row| row.get(0))?;
        put = if logged == row.revision - since.0 {
            let mut statement = snapshot.prepare_cached(&format!("{LOG} {PUT_SINCE}"))?;
            records(
                statement.query(params![key, last, since.0])?,
                reopen,
                wanted,
            )?
        } else {
            let mut statement = snapshot.prepare_cached(SCAN)?;
            records(statement.query(params![key, since.0])?, reopen, wanted)?
        };
        put.records.sort_by_key(|stored| stored.position);
        put.damaged.sort_by_key(|damaged| damaged.position);
        deleted = deleted_since(&snapshot, key, since)?;
    }
    (put.revision, put.fencing_token) = (Revision(row.revision), row.fencing_token);
    Ok(Changes::Since { put, deleted })
}

fn deleted_since(
    conn: &Connection,
    key: i64,
    since: Revision,
) -> Result<Vec<(RecordKind, String)>, Failure> {
    let mut statement = conn.prepare_cached(DELETED_SINCE)?;
    let mut rows = statement.query(params![key, since.0])?;
    let mut deleted = Vec::new();
    while let Some(row) = rows.next()? {
        // A kind that this release does not know cannot be read here.
        if let Some(kind) = RecordKind::from_name(row.get_ref(0)?.as_str().unwrap_or_default()) {
            deleted.push((kind, row.get(1)?));
        }
    }
    deleted.sort_unstable();
    Ok(deleted)
}

/// Records that a record was deleted.
pub(super) fn note_deletion(
    conn: &Connection,
    key: i64,
    revision: u64,
    kind: RecordKind,
    id: &str,
) -> Result<(), Failure> {
    conn.prepare_cached("INSERT OR IGNORE INTO deletions (conversation, revision, kind, id) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![key, revision, kind.as_str(), id])?;
    Ok(())
}

/// Removes old deletions beyond the number that is kept. Returns the revision up to which they were removed.
pub(super) fn prune_deletions(conn: &Connection, key: i64) -> Result<Option<u64>, Failure> {
    let mut statement = conn.prepare_cached(
        "SELECT revision FROM deletions WHERE conversation = ?1 ORDER BY revision DESC LIMIT 1 OFFSET ?2",
    )?;
    let oldest = statement.query_row(params![key, MIN_DELETION_HISTORY], |row| row.get(0));
    let oldest: Option<u64> = oldest.optional()?;
    if let Some(revision) = oldest {
        conn.prepare_cached("DELETE FROM deletions WHERE conversation = ?1 AND revision <= ?2")?
            .execute(params![key, revision])?;
    }
    Ok(oldest)
}

/// How long an id is kept, in milliseconds.
const RETENTION: i64 = 60 * 60 * 1_000;

/// Records that a batch was applied, and the rows that it put.
pub(super) fn log_batch(
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
pub(super) fn find_batch(conn: &Connection, batch: &Encoded) -> Result<Option<Applied>, Failure> {
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
pub(super) fn prune_batches(conn: &Connection, now: i64) -> Result<(), Failure> {
    conn.prepare_cached("DELETE FROM batches WHERE applied_at NOT BETWEEN ?1 AND ?2")?
        .execute([now.saturating_sub(RETENTION), now.saturating_add(RETENTION)])?;
    Ok(())
}
