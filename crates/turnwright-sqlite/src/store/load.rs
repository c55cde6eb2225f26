//! Loads records by query.

use std::fmt::Write as _;

use rusqlite::{Connection, OptionalExtension as _, Statement, params, params_from_iter};
use turnwright_core::record::{ByteResolver, RecordKind};
use turnwright_core::store::{ConversationId, Loaded, Position, Query, Revision};

use super::conversation_row::ConversationRow;
use super::decode::{Read, Wanted, records};
use super::error::Failure;
use super::format;

/// Returns the result of a query, read from one snapshot.
pub(super) fn load(
    conn: &mut Connection,
    conversation_id: &ConversationId,
    query: &Query,
    reopen: &ByteResolver,
    wanted: Wanted<'_>,
) -> Result<Loaded, Failure> {
    let snapshot = conn.transaction()?;
    format::check(&snapshot)?;
    let row = ConversationRow::find(&snapshot, conversation_id.as_str())?;
    let mut loaded = Loaded::default();
    if let Some(key) = row.key {
        let asked = Asked {
            conversation: key,
            query,
            reopen,
            wanted,
        };
        loaded = match &query.ids {
            None => asked.by_position(&snapshot)?,
            Some(ids) => asked.by_id(&snapshot, ids)?,
        };
    }
    (loaded.revision, loaded.fencing_token) = (Revision(row.revision), row.fencing_token);
    Ok(loaded)
}

/// A query for one conversation.
struct Asked<'q> {
    conversation: i64,
    query: &'q Query,
    reopen: &'q ByteResolver,
    wanted: Wanted<'q>,
}

impl Asked<'_> {
    /// Returns the first and the last position of the query.
    fn positions(&self) -> (i64, i64) {
        let number = |position: Position| i64::try_from(position.0).unwrap_or(i64::MAX);
        let after = self.query.after.map_or(0, number);
        let before = self.query.before.map_or(i64::MAX, number);
        (after.saturating_add(1), before.saturating_sub(1))
    }

    fn most(&self) -> i64 {
        let most = self.query.limit.map(i64::try_from);
        most.map_or(i64::MAX, |most| most.unwrap_or(i64::MAX))
    }

    fn by_position(&self, conn: &Connection) -> Result<Loaded, Failure> {
        let kinds = each_once(&self.query.kinds);
        let mut statement =
            conn.prepare_cached(&by_position_sql(kinds.len(), self.query.newest))?;
        let (first, last) = self.positions();
        let numbers = [self.conversation, first, last, self.most()];
        let numbers = numbers.map(rusqlite::types::Value::from).into_iter();
        let kinds = kinds.iter().map(|kind| kind.as_str().to_owned().into());
        let rows = statement.query(params_from_iter(numbers.chain(kinds)))?;
        let mut found = records(rows, self.reopen, self.wanted)?;
        if self.query.newest {
            found.records.reverse();
            found.damaged.reverse();
        }
        Ok(found)
    }

    /// Looks up each id separately, so that any number is possible. Does not read records beyond the limit.
    fn by_id(&self, conn: &Connection, ids: &[String]) -> Result<Loaded, Failure> {
        let kinds = match self.query.kinds.as_slice() {
            [] => RecordKind::ALL,
            kinds => kinds,
        };
        let (first, last) = self.positions();
        let mut statement = conn.prepare_cached(BY_ID)?;
        let mut found: Vec<(i64, i64)> = Vec::new();
        for id in ids {
            for kind in kinds {
                let at = statement
                    .query_row(params![self.conversation, kind.as_str(), id], |row| {
                        Ok((row.get(0)?, row.get(1)?))
                    })
                    .optional()?;
                found.extend(at.filter(|(position, _)| (first..=last).contains(position)));
            }
        }
        found.sort_unstable();
        found.dedup();
        let most = usize::try_from(self.most()).unwrap_or(usize::MAX);
        let beyond = found.len().saturating_sub(most);
        let skipped = if self.query.newest { beyond } else { 0 };
        let rows = found.iter().skip(skipped).take(most);
        let mut statement = conn.prepare_cached(
            "SELECT position, kind, id, checksum, body FROM records WHERE record = ?1",
        )?;
        let mut loaded = Loaded::default();
        for (_, row) in rows {
            self.read(&mut statement, *row, &mut loaded)?;
        }
        Ok(loaded)
    }

    fn read(
        &self,
        statement: &mut Statement<'_>,
        row: i64,
        into: &mut Loaded,
    ) -> Result<(), Failure> {
        let mut rows = statement.query([row])?;
        match rows.next()? {
            Some(row) => Read::of(row)?.add_to(into, self.reopen),
            None => return Err(rusqlite::Error::QueryReturnedNoRows.into()),
        }
        Ok(())
    }
}

fn each_once(kinds: &[RecordKind]) -> Vec<RecordKind> {
    let mut kinds = kinds.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

fn by_position_sql(kinds: usize, newest: bool) -> String {
    let order = if newest { "DESC" } else { "ASC" };
    let columns = "SELECT position, kind, id, checksum, body FROM records INDEXED BY";
    let mut sql = String::new();
    if kinds == 0 {
        let positions =
            "records_by_position WHERE conversation = ?1 AND position BETWEEN ?2 AND ?3";
        // Writing to a string cannot fail.
        let _ = write!(sql, "{columns} {positions}");
    }
    // One subquery per kind. The index returns each in order and SQLite merges them: nothing is sorted, and records
    // of other kinds are not visited.
    for kind in 5..5 + kinds {
        let and = if kind == 5 { "" } else { " UNION ALL " };
        let positions = "records_by_kind WHERE conversation = ?1 AND position BETWEEN ?2 AND ?3";
        let _ = write!(sql, "{and}{columns} {positions} AND kind = ?{kind}");
    }
    let _ = write!(sql, " ORDER BY position {order} LIMIT ?4");
    sql
}

const BY_ID: &str =
    "SELECT position, record FROM records WHERE conversation = ?1 AND kind = ?2 AND id = ?3";

#[cfg(test)]
mod tests;
