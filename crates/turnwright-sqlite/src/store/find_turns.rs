//! Finds turns across all conversations.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, Rows, named_params};
use turnwright_core::record::{ByteResolver, Lease, TurnState};
use turnwright_core::store::{ConversationId, FoundTurn, Loaded, TurnCursor, TurnFilter};

use super::decode::Read;
use super::encode::nanoseconds;
use super::error::Failure;
use super::format;

const LEASE: &str = "SELECT position, kind, id, checksum, body FROM records WHERE kind = 'lease' AND id = ?2 AND conversation = ?1";
const OPEN_GATES: &str =
    "SELECT position, kind, id, checksum, body FROM records INDEXED BY records_by_open_gate
    WHERE conversation = ?1 AND open_gate_turn = ?2 ORDER BY position";

pub(super) fn find_turns(
    conn: &mut Connection,
    filter: &TurnFilter,
    reopen: &ByteResolver,
) -> Result<Vec<FoundTurn>, Failure> {
    let snapshot = conn.transaction()?;
    format::check(&snapshot)?;
    let mut statement = snapshot.prepare_cached(&sql(filter))?;
    let after = filter.after.as_ref();
    let after_began = after.map_or(i64::MIN, |after| nanoseconds(after.started_at));
    let rows = statement.query(named_params! {
        ":turn_id": filter.turn_id,
        ":prefix": filter.prefix.as_deref().unwrap_or_default(),
        ":expired_before": filter.lease_expired_before.map(nanoseconds),
        ":after_began": after_began,
        ":after_conversation": after.map(|after| after.conversation.as_str()),
        ":after_turn": after.map(|after| after.turn_id.as_str()),
        ":limit": filter.limit.map_or(i64::MAX, |most| i64::try_from(most).unwrap_or(i64::MAX)),
    })?;
    read_turns(&snapshot, rows, reopen)
}

fn read_turns(
    conn: &Connection,
    mut rows: Rows<'_>,
    reopen: &ByteResolver,
) -> Result<Vec<FoundTurn>, Failure> {
    let mut turns = Vec::new();
    while let Some(row) = rows.next()? {
        let (conversation, key): (String, i64) = (row.get("conversation_id")?, row.get("key")?);
        let began_at = system_time(row.get("began_at")?);
        let turn_id: String = row.get("id")?;
        let cursor = TurnCursor::new(began_at, ConversationId::new(conversation), turn_id);
        let mut loaded = Loaded::default();
        Read::of(row)?.add_to(&mut loaded, reopen);
        let mut found = FoundTurn::new(cursor);
        for (sql, id) in [(LEASE, Lease::ID), (OPEN_GATES, &found.turn_id)] {
            let mut statement = conn.prepare_cached(sql)?;
            let mut rows = statement.query((key, id))?;
            while let Some(row) = rows.next()? {
                Read::of(row)?.add_to(&mut loaded, reopen);
            }
        }
        found.damaged = std::mem::take(&mut loaded.damaged);
        for record in loaded.into_records() {
            found.add(record);
        }
        turns.push(found);
    }
    Ok(turns)
}

/// Returns the statement for a filter. Uses the narrowest index: one id, the open gates, or the states.
pub(super) fn sql(filter: &TurnFilter) -> String {
    const COLUMNS: &str = "SELECT r.position, r.kind, r.id AS id, r.checksum, r.body,
            r.began_at AS began_at, c.conversation_id AS conversation_id, c.conversation AS key";
    const CONVERSATION: &str = "CROSS JOIN conversations c ON c.conversation = r.conversation";
    const CONDITIONS: &str = "substr(c.conversation_id, 1, length(:prefix)) = :prefix
        AND (:turn_id IS NULL OR r.id = :turn_id)
        AND (:expired_before IS NULL OR c.lease_turn_id IS NOT r.id OR c.lease_until < :expired_before)
        AND (:after_conversation IS NULL
            OR (r.began_at, c.conversation_id, r.id) > (:after_began, :after_conversation, :after_turn))";
    let states = states(filter);
    let listed = || states.iter().map(|state| format!("'{state}'"));
    let any_of = format!(
        "r.turn_state IN ({})",
        listed().collect::<Vec<_>>().join(", ")
    );
    let from = match (&filter.turn_id, filter.waiting) {
        (Some(_), waiting) => {
            const OPEN: &str = "AND EXISTS (SELECT 1 FROM records g INDEXED BY records_by_open_gate
                WHERE g.conversation = r.conversation AND g.open_gate_turn = r.id)";
            let open = if waiting { OPEN } else { "" };
            vec![format!(
                "{COLUMNS} FROM records r INDEXED BY records_by_id {CONVERSATION}
                 WHERE r.kind = 'turn' AND r.id = :turn_id AND {any_of} {open} AND {CONDITIONS}"
            )]
        }
        (None, true) => vec![format!(
            "{COLUMNS} FROM (SELECT DISTINCT conversation, open_gate_turn FROM records INDEXED BY records_by_open_gate
                    WHERE open_gate_turn IS NOT NULL) g
                 CROSS JOIN records r INDEXED BY records_by_id
                    ON r.kind = 'turn' AND r.id = g.open_gate_turn AND r.conversation = g.conversation
                 {CONVERSATION}
             WHERE {any_of} AND {CONDITIONS}"
        )],
        (None, false) => {
            let of_state = |state| {
                format!(
                    "{COLUMNS} FROM records r INDEXED BY records_by_turn_state {CONVERSATION}
                     WHERE r.turn_state = {state} AND r.began_at >= :after_began AND {CONDITIONS}"
                )
            };
            listed().map(of_state).collect()
        }
    };
    let from = from.join(" UNION ALL ");
    format!("{from} ORDER BY began_at, conversation_id, id LIMIT :limit")
}

/// Returns the matching states, without duplicates.
fn states(filter: &TurnFilter) -> Vec<&'static str> {
    let wanted = |state: &&TurnState| filter.states.is_empty() || filter.states.contains(state);
    let known = TurnState::ALL.iter().filter(wanted);
    known.map(|state| state.as_str()).collect()
}

fn system_time(nanoseconds: i64) -> SystemTime {
    let since = Duration::from_nanos(nanoseconds.unsigned_abs());
    let time = if nanoseconds < 0 {
        UNIX_EPOCH.checked_sub(since)
    } else {
        UNIX_EPOCH.checked_add(since)
    };
    time.unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests;
