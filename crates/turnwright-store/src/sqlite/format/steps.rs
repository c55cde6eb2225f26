//! The parts of migrations that SQL cannot express.

use std::sync::Arc;

use rusqlite::{Connection, params};
use turnwright_core::record::{ByteResolver, GateState, Lease, Record, RecordKind};
use turnwright_core::spool::MemorySpool;

use crate::sqlite::conversation_row::{digest, set_lease};
use crate::sqlite::encode::nanoseconds;
use crate::sqlite::error::Failure;
use crate::sqlite::find_turns::UNKNOWN_STATE;

/// Format 3: replaces the ids of conversations without records with digests.
pub(super) fn delete_empty_conversations(conn: &Connection) -> Result<(), Failure> {
    let mut statement = conn.prepare(
        "SELECT scope, name FROM scopes WHERE NOT EXISTS (SELECT 1 FROM records WHERE records.scope = scopes.scope)",
    )?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    for (key, id) in rows.collect::<Result<Vec<(i64, String)>, _>>()? {
        conn.execute(
            "INSERT INTO forgotten SELECT ?2, revision, fence, last_position FROM scopes WHERE scope = ?1",
            params![key, digest(conn, &id)?],
        )?;
        conn.execute("DELETE FROM scopes WHERE scope = ?1", [key])?;
    }
    Ok(())
}

/// Format 5: fills the columns that are used to find turns.
pub(super) fn index_turns(conn: &Connection) -> Result<(), Failure> {
    // None of these records has bytes in a spool.
    let reopen = ByteResolver::new(Arc::new(MemorySpool::default()));
    let mut statement = conn.prepare("SELECT record FROM records WHERE kind = ?1")?;
    for kind in [RecordKind::Turn, RecordKind::Gate, RecordKind::Lease] {
        let rows = statement.query_map([kind.as_str()], |row| row.get(0))?;
        for row in rows.collect::<Result<Vec<i64>, _>>()? {
            index_record(conn, row, kind, &reopen)?;
        }
    }
    Ok(())
}

fn index_record(
    conn: &Connection,
    row: i64,
    kind: RecordKind,
    reopen: &ByteResolver,
) -> Result<(), Failure> {
    let (conversation, body) = conn
        .prepare_cached("SELECT conversation, body FROM records WHERE record = ?1")?
        .query_row([row], |row| {
            let body = row.get_ref(1)?.as_str().unwrap_or_default().to_owned();
            Ok((row.get::<_, i64>(0)?, body))
        })?;
    // A damaged turn matches every state.
    let (mut state, mut began_at) = match kind {
        RecordKind::Turn => (Some(UNKNOWN_STATE), Some(0)),
        _ => (None, None),
    };
    let mut open_gate_turn = None;
    match Record::from_json(kind, &body, reopen) {
        Ok(Record::Turn(turn)) => {
            state = Some(turn.state.as_str());
            began_at = Some(nanoseconds(turn.started_at));
        }
        Ok(Record::Gate(gate)) if gate.state == GateState::Open => {
            open_gate_turn = Some(gate.turn_id.to_owned());
        }
        Ok(Record::Lease(lease)) if lease.id() == Lease::ID => {
            return set_lease(conn, conversation, Some(&lease));
        }
        _ => {}
    }
    conn.prepare_cached(
        "UPDATE records SET turn_state = ?2, began_at = ?3, open_gate_turn = ?4 WHERE record = ?1",
    )?
    .execute(params![row, state, began_at, open_gate_turn])?;
    Ok(())
}
