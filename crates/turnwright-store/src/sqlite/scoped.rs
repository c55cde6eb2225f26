//! A scope as it is in the database: by its name while it holds records, and by a digest of it afterwards.

use rusqlite::{Connection, OptionalExtension as _, params};
use sha2::{Digest as _, Sha256};

use super::failure::Failure;

/// The numbers of a scope. All of them 0 where it was never written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Scoped {
    /// Its row, while it holds records.
    pub(super) row: Option<i64>,
    pub(super) revision: u64,
    pub(super) fence: u64,
    /// The last place that was given to a record.
    pub(super) last: u64,
}

impl Scoped {
    pub(super) fn find(conn: &Connection, name: &str) -> Result<Self, Failure> {
        let mut statement = conn.prepare_cached(
            "SELECT scope, revision, fence, last_position FROM scopes WHERE name = ?1",
        )?;
        let found = statement.query_row([name], |row| {
            Ok(Scoped {
                row: Some(row.get(0)?),
                revision: row.get(1)?,
                fence: row.get(2)?,
                last: row.get(3)?,
            })
        });
        match found.optional()? {
            Some(found) => Ok(found),
            None => Scoped::find_forgotten(conn, name),
        }
    }

    fn find_forgotten(conn: &Connection, name: &str) -> Result<Self, Failure> {
        let mut statement = conn.prepare_cached(
            "SELECT revision, fence, last_position FROM forgotten WHERE digest = ?1",
        )?;
        let found = statement.query_row([digest(conn, name)?], |row| {
            Ok(Scoped {
                row: None,
                revision: row.get(0)?,
                fence: row.get(1)?,
                last: row.get(2)?,
            })
        });
        Ok(found.optional()?.unwrap_or_default())
    }

    /// Its row, which is made if there is none: a record is to be put.
    pub(super) fn row(&mut self, conn: &Connection, name: &str, now: i64) -> Result<i64, Failure> {
        if let Some(row) = self.row {
            return Ok(row);
        }
        if self.revision > 0 {
            conn.prepare_cached("DELETE FROM forgotten WHERE digest = ?1")?
                .execute([digest(conn, name)?])?;
        }
        let mut statement = conn.prepare_cached(
            "INSERT INTO scopes (name, revision, fence, last_position, written_at) VALUES (?1, 0, 0, 0, ?2)",
        )?;
        let row = statement.insert(params![name, now])?;
        self.row = Some(row);
        Ok(row)
    }

    /// Writes its numbers.
    pub(super) fn keep(&self, conn: &Connection, name: &str, now: i64) -> Result<(), Failure> {
        let Some(row) = self.row else {
            return self.keep_forgotten(conn, name);
        };
        let mut statement = conn.prepare_cached(
            "UPDATE scopes SET revision = ?2, fence = ?3, last_position = ?4, written_at = ?5 WHERE scope = ?1",
        )?;
        statement.execute(params![row, self.revision, self.fence, self.last, now])?;
        Ok(())
    }

    /// Writes its numbers, and forgets its name if it holds no record any more.
    pub(super) fn keep_or_forget(
        &mut self,
        conn: &Connection,
        name: &str,
        now: i64,
    ) -> Result<(), Failure> {
        if let Some(row) = self.row {
            let holds: bool = conn
                .prepare_cached("SELECT EXISTS (SELECT 1 FROM records WHERE scope = ?1)")?
                .query_row([row], |row| row.get(0))?;
            if !holds {
                conn.prepare_cached("DELETE FROM scopes WHERE scope = ?1")?
                    .execute([row])?;
                self.row = None;
            }
        }
        self.keep(conn, name, now)
    }

    fn keep_forgotten(&self, conn: &Connection, name: &str) -> Result<(), Failure> {
        let mut statement = conn.prepare_cached(
            "INSERT OR REPLACE INTO forgotten (digest, revision, fence, last_position) VALUES (?1, ?2, ?3, ?4)",
        )?;
        let digest = digest(conn, name)?;
        statement.execute(params![digest, self.revision, self.fence, self.last])?;
        Ok(())
    }
}

/// Forgets the names of all scopes that hold no record: earlier formats kept them.
pub(super) fn forget_empty(conn: &Connection) -> Result<(), Failure> {
    let mut statement = conn.prepare(
        "SELECT name FROM scopes WHERE NOT EXISTS (SELECT 1 FROM records WHERE records.scope = scopes.scope)",
    )?;
    let names = statement.query_map([], |row| row.get(0))?;
    for name in names.collect::<Result<Vec<String>, _>>()? {
        Scoped::find(conn, &name)?.keep_or_forget(conn, &name, 0)?;
    }
    Ok(())
}

/// What a name is kept by once it is forgotten. With the salt of the file, so that nobody can prepare a list of names.
fn digest(conn: &Connection, name: &str) -> Result<[u8; 32], Failure> {
    let mut hash = Sha256::new();
    let mut statement = conn.prepare_cached("SELECT salt FROM salt")?;
    let mut rows = statement.query([])?;
    match rows.next()? {
        Some(row) => hash.update(row.get_ref(0)?.as_blob().unwrap_or_default()),
        None => return Err(rusqlite::Error::QueryReturnedNoRows.into()),
    }
    hash.update(name);
    Ok(hash.finalize().into())
}
