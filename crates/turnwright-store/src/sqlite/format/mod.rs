//! The file format: a version number, and the migrations from each format to the next.

mod steps;

use std::collections::BTreeSet;

use rusqlite::Connection;

use super::error::{Failure, SqliteErrorKind};

/// The application id in SQLite's header: `TWST`.
const APPLICATION: i32 = 0x5457_5354;

/// The migration from one format to the next.
pub(super) struct Step {
    sql: &'static str,
    /// The part of the migration that SQL cannot express.
    and: fn(&Connection) -> Result<(), Failure>,
}

impl Step {
    const fn sql(sql: &'static str) -> Self {
        Step {
            sql,
            and: |_| Ok(()),
        }
    }
}

/// Step n upgrades format n − 1 to format n. A new file goes through all of them. Steps are only ever appended.
const STEPS: &[Step] = &[
    Step::sql(include_str!("1.sql")),
    Step::sql(include_str!("2.sql")),
    Step {
        sql: include_str!("3.sql"),
        and: steps::delete_empty_conversations,
    },
    Step::sql(include_str!("4.sql")),
    Step {
        sql: include_str!("5.sql"),
        and: steps::index_turns,
    },
    Step::sql(include_str!("6.sql")),
    Step::sql(include_str!("7.sql")),
];

/// Returns the format that this release reads and writes.
pub(super) fn current() -> u32 {
    u32::try_from(STEPS.len()).unwrap_or(u32::MAX)
}

/// What a file is, according to its header and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// The file is empty.
    Nothing,
    /// The file has an earlier format.
    Older(u32),
    /// The file has the current format.
    Current,
}

/// Determines what the file is, and checks that its tables match its format. Changes nothing.
///
/// Everything is read from one snapshot: between two reads, another process could create the tables of a new file.
pub(super) fn identify(conn: &Connection) -> Result<Found, Failure> {
    let snapshot = conn.unchecked_transaction()?;
    let found = look(&snapshot)?;
    check_tables(&snapshot, found)?;
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
        (APPLICATION, Ok(found)) if found > current() => Err(newer(found)),
        (APPLICATION, Ok(found)) if found == current() => Ok(Found::Current),
        (APPLICATION, Ok(found)) if found > 0 => Ok(Found::Older(found)),
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
fn check_tables(conn: &Connection, found: Found) -> Result<(), Failure> {
    let format = match found {
        Found::Nothing => return Ok(()),
        Found::Older(format) => format,
        Found::Current => current(),
    };
    let pattern = Connection::open_in_memory()?;
    let steps = STEPS
        .iter()
        .take(usize::try_from(format).unwrap_or(usize::MAX));
    for step in steps {
        pattern.execute_batch(step.sql)?;
    }
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
        Ok(found) if found == current() => Ok(()),
        found => Err(newer(found.unwrap_or(u32::MAX))),
    }
}

/// Applies the missing steps, within a transaction of the caller.
pub(super) fn upgrade(conn: &Connection) -> Result<(), Failure> {
    upgrade_by(conn, STEPS)
}

pub(super) fn upgrade_by(conn: &Connection, steps: &[Step]) -> Result<(), Failure> {
    // Checked again: another process may have been faster.
    let done = match look(conn)? {
        Found::Nothing => 0,
        Found::Older(format) => format,
        Found::Current => return Ok(()),
    };
    let done = usize::try_from(done).unwrap_or(usize::MAX);
    for step in steps.iter().skip(done) {
        conn.execute_batch(step.sql)?;
        (step.and)(conn)?;
    }
    conn.pragma_update(None, "application_id", APPLICATION)?;
    conn.pragma_update(None, "user_version", steps.len())?;
    Ok(())
}

fn newer(found: u32) -> Failure {
    let known = current();
    SqliteErrorKind::NewerFormat { found, known }.into()
}

#[cfg(test)]
mod tests;
