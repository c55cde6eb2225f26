//! Applies one batch, within a transaction of the caller.

use rusqlite::{Connection, ToSql, params};
use turnwright_core::record::{ConversationInfo, GateState, Lease, Record, RecordKind};

use super::changed::{find_batch, log_batch, note_deletion, prune_deletions};
use super::conversation_row::set_info;
use super::conversation_row::{ConversationRow, set_lease};
use super::encode::{Encoded, Put, Row, is_call_start, nanoseconds};
use super::error::{Failure, SqliteErrorKind};
use super::format;

/// The result of a batch: the revision, or why it was rejected. A rejected batch has changed nothing.
pub(super) type Applied = Result<u64, Failure>;

/// Applies a batch, unless it is rejected or was applied before. After an error the caller rolls back.
pub(super) fn apply(conn: &Connection, batch: &Encoded, now: i64) -> Result<Applied, Failure> {
    format::check(conn)?;
    let id = batch.conversation.as_str();
    let mut row = ConversationRow::find(conn, id)?;
    if let Some(verdict) = find_batch(conn, batch)? {
        return Ok(verdict);
    }
    (row.revision, row.fencing_token) = match admit(batch, row) {
        Ok(admitted) => admitted,
        Err(rejected) => return Ok(Err(rejected)),
    };
    let (mut deletes, mut put_rows) = (false, Vec::with_capacity(batch.changes.len()));
    for change in &batch.changes {
        match change {
            Row::Put(record) => {
                let key = row.insert(conn, id)?;
                put_rows.push(put(conn, key, &mut row, record, now)?);
            }
            Row::Delete(kind, id) => {
                deletes = true;
                if let Some(key) = row.key {
                    delete(conn, key, row.revision, *kind, id)?;
                }
            }
        }
    }
    log_batch(conn, batch, &row, &put_rows, now)?;
    row.last_batch = Some(batch.id);
    if deletes {
        if let Some(key) = row.key
            && let Some(revision) = prune_deletions(conn, key)?
        {
            row.changes_from = revision;
        }
        row.update_or_delete(conn, id, now)?;
    } else {
        row.update(conn, id, now)?;
    }
    Ok(Ok(row.revision))
}

/// Returns the revision and the fencing token after the batch, if it may be applied.
fn admit(batch: &Encoded, row: ConversationRow) -> Result<(u64, u64), Failure> {
    let ConversationRow {
        revision,
        fencing_token,
        ..
    } = row;
    if batch.fencing_token.is_some_and(|own| own < fencing_token) {
        return Err(Failure::Fenced(fencing_token));
    }
    if batch.expect.is_some_and(|expected| expected != revision) {
        return Err(Failure::Conflict(revision));
    }
    let fencing_token = batch.fencing_token.unwrap_or(fencing_token);
    if i64::try_from(fencing_token).is_err() {
        let detail = "the database cannot store a fencing token above 2^63 - 1";
        return Err(Failure::new(SqliteErrorKind::Invalid, detail));
    }
    Ok((revision + 1, fencing_token))
}

/// Inserts or replaces a record, and returns its row.
fn put(
    conn: &Connection,
    key: i64,
    conversation: &mut ConversationRow,
    put: &Put,
    now: i64,
) -> Result<i64, Failure> {
    let Put {
        record,
        body,
        checksum,
    } = put;
    let next = conversation.last_position + 1;
    let (mut turn_state, mut began_at, mut open_gate_turn) = (None, None, None);
    match record {
        Record::Turn(turn) => {
            turn_state = Some(turn.state.as_str());
            began_at = Some(nanoseconds(turn.started_at));
        }
        Record::Gate(gate) if gate.state == GateState::Open => {
            open_gate_turn = Some(&*gate.turn_id);
        }
        Record::Lease(lease) if lease.id() == Lease::ID => set_lease(conn, key, Some(lease))?,
        Record::ConversationInfo(info) if info.id() == ConversationInfo::ID => {
            set_info(conn, key, Some(info))?;
        }
        _ => {}
    }
    let mut statement = conn.prepare_cached(
        "INSERT INTO records (conversation, position, kind, id, written_at, bytes, checksum, body, begun, revision,
             turn_state, began_at, open_gate_turn)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
         ON CONFLICT (kind, id, conversation) DO UPDATE SET written_at = excluded.written_at, bytes = excluded.bytes,
             checksum = excluded.checksum, body = excluded.body, begun = excluded.begun, revision = excluded.revision,
             turn_state = excluded.turn_state, began_at = excluded.began_at, open_gate_turn = excluded.open_gate_turn
         RETURNING record, position",
    )?;
    let values = params![
        key,
        next,
        record.kind().as_str(),
        record.id(),
        now,
        body.len(),
        checksum,
        body,
        is_call_start(record),
        conversation.revision,
        turn_state,
        began_at,
        open_gate_turn,
    ];
    let (row, position): (i64, u64) =
        statement.query_row(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
    if position == next {
        conversation.last_position = next;
    } else {
        remove_references(conn, row, record.kind())?;
    }
    add_references(conn, row, record)?;
    Ok(row)
}

fn delete(
    conn: &Connection,
    key: i64,
    revision: u64,
    kind: RecordKind,
    id: &str,
) -> Result<(), Failure> {
    // The rows that reference its bytes are deleted with it.
    let deleted = conn
        .prepare_cached("DELETE FROM records WHERE conversation = ?1 AND kind = ?2 AND id = ?3")?
        .execute(params![key, kind.as_str(), id])?;
    if deleted == 0 {
        return Ok(());
    }
    if (kind, id) == (RecordKind::Lease, Lease::ID) {
        set_lease(conn, key, None)?;
    }
    if (kind, id) == (RecordKind::ConversationInfo, ConversationInfo::ID) {
        set_info(conn, key, None)?;
    }
    note_deletion(conn, key, revision, kind, id)
}

/// Removes references to bytes. A record that is put again may reference other bytes than before.
fn remove_references(conn: &Connection, row: i64, kind: RecordKind) -> Result<(), Failure> {
    use RecordKind::{Message, Retrievable, ToolCall};
    if !matches!(kind, Message | Retrievable | ToolCall) {
        return Ok(());
    }
    conn.prepare_cached("DELETE FROM artifacts WHERE record = ?1")?
        .execute([row])?;
    conn.prepare_cached("DELETE FROM media WHERE record = ?1")?
        .execute([row])?;
    Ok(())
}

fn add_references(conn: &Connection, row: i64, record: &Record) -> Result<(), Failure> {
    for (place, artifact) in record.artifacts().iter().enumerate() {
        let kind = artifact.kind();
        let values = params![
            row,
            place,
            kind.as_str(),
            saturating_bytes(artifact.byte_length()),
            artifact.spool_id()
        ];
        add_artifact_reference(conn, values)?;
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
            media.byte_length().map(saturating_bytes)
        ];
        statement.execute(values)?;
        // Media bytes in the spool are found and counted like those of an artifact. A record has one or the other.
        if let Some(spool_id) = media.spool_id() {
            let place = record.artifacts().len() + place;
            let (kind, bytes) = (
                media.kind().as_str(),
                media.byte_length().map(saturating_bytes),
            );
            add_artifact_reference(conn, params![row, place, kind, bytes, spool_id])?;
        }
    }
    Ok(())
}

fn add_artifact_reference(conn: &Connection, values: &[&dyn ToSql]) -> Result<(), Failure> {
    let mut statement = conn.prepare_cached(
        "INSERT INTO artifacts (record, place, kind, bytes, spool_id) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    statement.execute(values)?;
    Ok(())
}

/// Converts a number of bytes, as far as the database can represent it.
fn saturating_bytes(bytes: u64) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}
