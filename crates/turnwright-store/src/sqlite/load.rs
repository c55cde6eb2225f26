//! Reading: records by a query, and the names of scopes.

use std::fmt::Write as _;

use rusqlite::{Connection, OptionalExtension as _, Statement, params, params_from_iter};
use turnwright_core::record::{RecordKind, Reopen};
use turnwright_core::store::{Loaded, Position, Query, Revision, Scope, ScopeFilter};

use super::failure::Failure;
use super::format;
use super::rows::{Read, Wanted, records};
use super::scoped::Scoped;

/// What a query finds, and the revision that it is of: both of one moment.
pub(super) fn load(
    conn: &mut Connection,
    scope: &Scope,
    query: &Query,
    reopen: &Reopen,
    wanted: Wanted<'_>,
) -> Result<Loaded, Failure> {
    let moment = conn.transaction()?;
    format::check(&moment)?;
    let found = Scoped::find(&moment, scope.as_str())?;
    let revision = Revision(found.revision);
    let Some(row) = found.row else {
        return Ok(Loaded::new(Vec::new(), revision));
    };
    let asked = Asked {
        scope: row,
        query,
        reopen,
        wanted,
    };
    let mut loaded = match &query.ids {
        None => asked.by_place(&moment)?,
        Some(ids) => asked.by_id(&moment, ids)?,
    };
    loaded.revision = revision;
    Ok(loaded)
}

/// A query to one scope.
struct Asked<'q> {
    scope: i64,
    query: &'q Query,
    reopen: &'q Reopen,
    wanted: Wanted<'q>,
}

impl Asked<'_> {
    /// The first and the last place that are asked for.
    fn places(&self) -> (i64, i64) {
        let held = |place: Position| i64::try_from(place.0).unwrap_or(i64::MAX);
        let after = self.query.after.map_or(0, held);
        let before = self.query.before.map_or(i64::MAX, held);
        (after.saturating_add(1), before.saturating_sub(1))
    }

    fn most(&self) -> i64 {
        let most = self.query.limit.map(i64::try_from);
        most.map_or(i64::MAX, |most| most.unwrap_or(i64::MAX))
    }

    fn by_place(&self, conn: &Connection) -> Result<Loaded, Failure> {
        let kinds = each_once(&self.query.kinds);
        let mut statement = conn.prepare_cached(&by_place_sql(kinds.len(), self.query.newest))?;
        let (first, last) = self.places();
        let numbers = [self.scope, first, last, self.most()];
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

    /// Looks each id up by itself, so that any number can be asked for; what the limit cuts off is not read.
    fn by_id(&self, conn: &Connection, ids: &[String]) -> Result<Loaded, Failure> {
        let kinds = match self.query.kinds.as_slice() {
            [] => RecordKind::ALL,
            kinds => kinds,
        };
        let (first, last) = self.places();
        let mut statement = conn.prepare_cached(BY_ID)?;
        let mut found: Vec<(i64, i64)> = Vec::new();
        for id in ids {
            for kind in kinds {
                let at = statement
                    .query_row(params![self.scope, kind.as_str(), id], |row| {
                        Ok((row.get(0)?, row.get(1)?))
                    })
                    .optional()?;
                found.extend(at.filter(|(place, _)| (first..=last).contains(place)));
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

fn by_place_sql(kinds: usize, newest: bool) -> String {
    let order = if newest { "DESC" } else { "ASC" };
    let columns = "SELECT position, kind, id, checksum, body FROM records INDEXED BY";
    let mut sql = String::new();
    if kinds == 0 {
        let places = "records_by_position WHERE scope = ?1 AND position BETWEEN ?2 AND ?3";
        // Writing to a string does not fail.
        let _ = write!(sql, "{columns} {places}");
    }
    // One part for each kind. Each is read in order by the index, and SQLite merges them: nothing is sorted, and records of
    // other kinds are not passed over.
    for kind in 5..5 + kinds {
        let and = if kind == 5 { "" } else { " UNION ALL " };
        let places = "records_by_kind WHERE scope = ?1 AND position BETWEEN ?2 AND ?3";
        let _ = write!(sql, "{and}{columns} {places} AND kind = ?{kind}");
    }
    let _ = write!(sql, " ORDER BY position {order} LIMIT ?4");
    sql
}

/// The scopes that hold records.
pub(super) fn scopes(conn: &mut Connection, filter: &ScopeFilter) -> Result<Vec<Scope>, Failure> {
    let moment = conn.transaction()?;
    format::check(&moment)?;
    let prefix = filter.prefix.as_deref().unwrap_or_default();
    let after = filter.after.as_ref().map(Scope::as_str);
    let mut statement = moment.prepare_cached(
        "SELECT name FROM scopes WHERE name >= ?1 AND (?2 IS NULL OR name > ?2) ORDER BY name",
    )?;
    let from = after.filter(|after| *after > prefix).unwrap_or(prefix);
    let mut rows = statement.query(params![from, after])?;
    let mut found = Vec::new();
    while found.len() < filter.limit.unwrap_or(usize::MAX) {
        let Some(row) = rows.next()? else { break };
        let name: String = row.get(0)?;
        // Names with one prefix stand together.
        if !name.starts_with(prefix) {
            break;
        }
        found.push(Scope::new(name));
    }
    Ok(found)
}

/// The scopes that hold a record of this kind and id.
pub(super) fn holding(
    conn: &mut Connection,
    kind: RecordKind,
    id: &str,
) -> Result<Vec<Scope>, Failure> {
    let moment = conn.transaction()?;
    format::check(&moment)?;
    let mut statement = moment.prepare_cached(HOLDING)?;
    let names = statement.query_map([kind.as_str(), id], |row| row.get::<_, String>(0))?;
    let scopes = names.map(|name| name.map(Scope::new));
    Ok(scopes.collect::<Result<_, _>>()?)
}

const BY_ID: &str =
    "SELECT position, record FROM records WHERE scope = ?1 AND kind = ?2 AND id = ?3";
const HOLDING: &str = "SELECT name FROM records INDEXED BY records_by_id JOIN scopes USING (scope) WHERE kind = ?1 AND id = ?2 ORDER BY name";

#[cfg(test)]
mod tests;
