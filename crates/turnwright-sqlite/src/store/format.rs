//! The file format: its number, and the tables that a file of it has.

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::error::{Failure, SqliteErrorKind};

/// The application id in SQLite's header: `TWST`.
const APPLICATION: i32 = 0x5457_5354;
/// The format that this release reads and writes.
const CURRENT: u32 = 1;
const TABLES: &str = include_str!("format/1.sql");

/// What a file is, according to its header and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The file is empty.
    Nothing,
    /// The file has the current format.
    Current,
}

/// Determines what the file is, and checks that its tables match its format. Changes nothing.
///
/// Everything is read from one snapshot: between two reads, another process could create the tables of a new file.
pub(super) fn identify(conn: &Connection) -> Result<Found, Failure> {
    let snapshot = conn.unchecked_transaction()?;
    let found = look(&snapshot)?;
    if found == Found::Current {
        check_tables(&snapshot)?;
    }
    Ok(found)
}

/// Determines what the file is from its header. Runs within a transaction of the caller.
fn look(conn: &Connection) -> Result<Found, Failure> {
    let number = |name: &str| conn.pragma_query_value(None, name, |row| row.get::<_, i32>(0));
    let (application, format) = (number("application_id")?, number("user_version")?);
    let tables = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
        row.get::<_, i64>(0)
    })?;
    match (application, u32::try_from(format)) {
        (0, Ok(0)) if tables == 0 => Ok(Found::Nothing),
        (APPLICATION, Ok(CURRENT)) => Ok(Found::Current),
        (APPLICATION, Ok(found)) if found > CURRENT => Err(newer(found)),
        _ => Err(SqliteErrorKind::OtherProgram.into()),
    }
}

/// A table or an index: type, name and SQL.
type Part = (String, String, Option<String>);

fn parts(conn: &Connection) -> Result<BTreeSet<Part>, Failure> {
    let mut statement = conn.prepare("SELECT type, name, sql FROM sqlite_schema")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Checks that the tables are those of the format and that there is nothing else: a trigger, a view or another
/// constraint could have unwanted effects.
fn check_tables(conn: &Connection) -> Result<(), Failure> {
    let pattern = Connection::open_in_memory()?;
    pattern.execute_batch(TABLES)?;
    let (is, should) = (parts(conn)?, parts(&pattern)?);
    match is.symmetric_difference(&should).next() {
        None => Ok(()),
        Some((kind, name, _)) => {
            let name = name.escape_debug();
            let detail = format!("its {kind} `{name}` does not match the format");
            Err(Failure::new(SqliteErrorKind::OtherProgram, detail))
        }
    }
}

/// Checks that the file still has the format that it had when it was opened: a later release may have upgraded it
/// since.
pub(super) fn check(conn: &Connection) -> Result<(), Failure> {
    let found: i64 = conn
        .prepare_cached("PRAGMA user_version")?
        .query_row([], |row| row.get(0))?;
    match u32::try_from(found) {
        Ok(found) if found == CURRENT => Ok(()),
        found => Err(newer(found.unwrap_or(u32::MAX))),
    }
}

/// Creates the tables of an empty file, within a transaction of the caller.
pub(super) fn create(conn: &Connection) -> Result<(), Failure> {
    // Checked again: another process may have been faster.
    if look(conn)? == Found::Nothing {
        conn.execute_batch(TABLES)?;
        conn.pragma_update(None, "application_id", APPLICATION)?;
        conn.pragma_update(None, "user_version", CURRENT)?;
    }
    Ok(())
}

fn newer(found: u32) -> Failure {
    let known = CURRENT;
    SqliteErrorKind::NewerFormat { found, known }.into()
}

#[cfg(test)]
mod tests;
