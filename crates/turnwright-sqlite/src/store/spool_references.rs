//! References from records to spooled bytes.

use rusqlite::{Connection, params};

use super::error::Failure;

/// Returns `true` if any record references these bytes: as an artifact, or as media stored under its id.
pub(super) fn is_named(conn: &Connection, spool_id: &str) -> Result<bool, Failure> {
    let mut statement = conn.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM artifacts WHERE spool_id = ?1)
             OR EXISTS (SELECT 1 FROM media WHERE media_id = ?1)",
    )?;
    Ok(statement.query_row([spool_id], |row| row.get(0))?)
}

/// Records since when these bytes are unreferenced. 0 means that they are deleted at the next opportunity. An
/// existing entry is kept, unless the bytes must be deleted now.
pub(super) fn note_orphan(conn: &Connection, spool_id: &str, since: i64) -> Result<(), Failure> {
    conn.prepare_cached(
        "INSERT INTO orphans (spool_id, since) VALUES (?1, ?2)
         ON CONFLICT (spool_id) DO UPDATE SET since = min(since, excluded.since)",
    )?
    .execute(params![spool_id, since])?;
    Ok(())
}

/// Removes an entry: the bytes are deleted, or are referenced again.
pub(super) fn remove_orphan(conn: &Connection, spool_id: &str) -> Result<(), Failure> {
    conn.prepare_cached("DELETE FROM orphans WHERE spool_id = ?1")?
        .execute([spool_id])?;
    Ok(())
}

/// Returns all entries.
pub(super) fn orphans(conn: &Connection) -> Result<Vec<(String, i64)>, Failure> {
    let mut statement = conn.prepare_cached("SELECT spool_id, since FROM orphans")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
