//! One batch, within a transaction of the caller's.

use rusqlite::{Connection, ToSql, params};
use turnwright_core::record::{Record, RecordKind};

use super::encode::{Encoded, Put, Row, is_begun};
use super::failure::Failure;
use super::format;
use super::scoped::Scoped;
use super::trouble::Trouble;

/// What comes of a batch that is looked at: the new revision, or why it was turned down. Nothing was changed then.
pub(super) type Verdict = Result<u64, Failure>;

/// Makes all changes of a batch, unless it is turned down. What was done when it fails is the caller's to roll back.
pub(super) fn apply(conn: &Connection, batch: &Encoded, now: i64) -> Result<Verdict, Failure> {
    format::check(conn)?;
    let name = batch.scope.as_str();
    let mut scoped = Scoped::find(conn, name)?;
    let (revision, fence) = match admit(batch, scoped) {
        Ok(admitted) => admitted,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let mut deletes = false;
    for change in &batch.changes {
        match change {
            Row::Put(record) => {
                let row = scoped.row(conn, name, now)?;
                put(conn, row, &mut scoped.last, record, now)?;
            }
            Row::Delete(kind, id) => {
                deletes = true;
                delete(conn, scoped.row, *kind, id)?;
            }
        }
    }
    (scoped.revision, scoped.fence) = (revision, fence);
    match deletes {
        true => scoped.keep_or_forget(conn, name, now)?,
        false => scoped.keep(conn, name, now)?,
    }
    Ok(Ok(revision))
}

/// The revision and the fence that a scope has after the batch, if it may be applied.
fn admit(batch: &Encoded, scoped: Scoped) -> Result<(u64, u64), Failure> {
    let Scoped {
        revision, fence, ..
    } = scoped;
    if batch.fence.is_some_and(|own| own < fence) {
        return Err(Failure::Fenced(fence));
    }
    if batch.expect.is_some_and(|expected| expected != revision) {
        return Err(Failure::Conflict(revision));
    }
    let fence = batch.fence.unwrap_or(fence);
    if i64::try_from(fence).is_err() {
        let said = "a fence above 2^63 - 1 is more than the database holds";
        return Err(Failure::new(Trouble::Refused, said));
    }
    Ok((revision + 1, fence))
}

/// Puts a record into the scope of this row, which gave `last` as its last place.
fn put(conn: &Connection, scope: i64, last: &mut u64, put: &Put, now: i64) -> Result<(), Failure> {
    let Put { record, body } = put;
    let next = *last + 1;
    let mut statement = conn.prepare_cached(
        "INSERT INTO records (scope, position, kind, id, written_at, bytes, checksum, body, begun)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (kind, id, scope) DO UPDATE SET written_at = excluded.written_at, bytes = excluded.bytes,
             checksum = excluded.checksum, body = excluded.body, begun = excluded.begun
         RETURNING record, position",
    )?;
    let values = params![
        scope,
        next,
        record.kind().as_str(),
        record.id(),
        now,
        body.len(),
        checksum(body.as_bytes()),
        body,
        is_begun(record),
    ];
    let (row, position): (i64, u64) =
        statement.query_row(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
    match position == next {
        true => *last = next,
        false => forget_bytes(conn, row, record.kind())?,
    }
    name_bytes(conn, row, record)
}

fn delete(
    conn: &Connection,
    scope: Option<i64>,
    kind: RecordKind,
    id: &str,
) -> Result<(), Failure> {
    // What names its bytes goes with it.
    conn.prepare_cached("DELETE FROM records WHERE scope = ?1 AND kind = ?2 AND id = ?3")?
        .execute(params![scope, kind.as_str(), id])?;
    Ok(())
}

/// What a body is checked by when it is read.
pub(super) fn checksum(body: &[u8]) -> u32 {
    crc32fast::hash(body)
}

/// A record that is put again may name other bytes than before.
fn forget_bytes(conn: &Connection, row: i64, kind: RecordKind) -> Result<(), Failure> {
    use RecordKind::{Instruction, Ledger, Memory, Thought};
    if matches!(kind, Instruction | Ledger | Memory | Thought) {
        return Ok(());
    }
    conn.prepare_cached("DELETE FROM artifacts WHERE record = ?1")?
        .execute([row])?;
    conn.prepare_cached("DELETE FROM media WHERE record = ?1")?
        .execute([row])?;
    Ok(())
}

fn name_bytes(conn: &Connection, row: i64, record: &Record) -> Result<(), Failure> {
    for (place, artifact) in record.artifacts().iter().enumerate() {
        let kind = artifact.kind();
        let values = params![
            row,
            place,
            kind.as_str(),
            held(artifact.byte_length()),
            artifact.spool_id()
        ];
        name_artifact(conn, values)?;
    }
    for (place, media) in record.media().iter().enumerate() {
        let mut statement = conn.prepare_cached(
            "INSERT INTO media (record, place, media_id, kind, mime_type, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?;
        let values = params![
            row,
            place,
            media.id(),
            media.kind().as_str(),
            media.mime_type(),
            media.byte_length().map(held)
        ];
        statement.execute(values)?;
        // The bytes of a media in the spool are found and counted like those of an artifact. A record has one or the other.
        if let Some(spool_id) = media.spool_id() {
            let place = record.artifacts().len() + place;
            let (kind, bytes) = (media.kind().as_str(), media.byte_length().map(held));
            name_artifact(conn, params![row, place, kind, bytes, spool_id])?;
        }
    }
    Ok(())
}

fn name_artifact(conn: &Connection, values: &[&dyn ToSql]) -> Result<(), Failure> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO artifacts (record, place, kind, bytes, spool_id) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    statement.execute(values)?;
    Ok(())
}

/// A number of bytes, as far as the database can count.
fn held(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
