//! The same work with SQLite alone: the same tables, the same rows, prepared statements, and nothing else.

use std::error::Error;
use std::path::Path;

use rusqlite::{Connection, params};
use turnwright_core::record::{CallState, Record};
use turnwright_core::store::{Batch, Change};

/// A row with prepared text.
pub(crate) struct Row {
    kind: &'static str,
    id: String,
    body: String,
    begun: bool,
    /// Kind, bytes and spool id of its artifacts.
    artifacts: Vec<(&'static str, u64, Option<String>)>,
}

/// The rows of one transaction.
pub(crate) struct Rows {
    rows: Vec<Row>,
    /// Flushed to the disk before it is acknowledged.
    flushed: bool,
}

impl Rows {
    pub(crate) fn of(batch: &Batch) -> Result<Self, Box<dyn Error>> {
        let mut rows = Vec::new();
        for change in &batch.changes {
            if let Change::Put(record) = change {
                let artifacts = record.artifacts().iter().map(|artifact| {
                    let kind = artifact.kind();
                    (
                        kind.as_str(),
                        artifact.byte_length(),
                        artifact.spool_id().map(str::to_owned),
                    )
                });
                rows.push(Row {
                    artifacts: artifacts.collect(),
                    kind: record.kind().as_str(),
                    id: record.id().to_owned(),
                    body: record.to_value()?.to_string(),
                    begun: matches!(record, Record::Ledger(line) if line.state == CallState::Started),
                });
            }
        }
        let flushed = rows.iter().any(|row| row.begun);
        Ok(Rows { rows, flushed })
    }
}

/// A connection like the store's, to a file that the store created.
pub(crate) struct Bare {
    conn: Connection,
    conversation_id: i64,
    revision: i64,
    last: i64,
    flushes: Option<bool>,
}

impl Bare {
    pub(crate) fn open(file: &Path) -> rusqlite::Result<Self> {
        let conn = Connection::open(file)?;
        conn.set_prepared_statement_cache_capacity(64);
        conn.pragma_update(None, "foreign_keys", true)?;
        Ok(Bare {
            conn,
            conversation_id: 0,
            revision: 0,
            last: 0,
            flushes: None,
        })
    }

    /// Starts a new conversation.
    pub(crate) fn conversation_id(&mut self, name: &str) -> rusqlite::Result<()> {
        self.conn.execute(
            "INSERT INTO conversations (conversation_id, revision, fencing_token, last_position, written_at) VALUES (?1, 0, 0, 0, 0)",
            [name],
        )?;
        (self.conversation_id, self.revision, self.last) = (self.conn.last_insert_rowid(), 0, 0);
        Ok(())
    }

    pub(crate) fn write(&mut self, rows: &Rows) -> rusqlite::Result<()> {
        if self.flushes != Some(rows.flushed) {
            let level = if rows.flushed { "full" } else { "normal" };
            self.conn.pragma_update(None, "synchronous", level)?;
            self.flushes = Some(rows.flushed);
        }
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for row in &rows.rows {
            let mut statement = self.conn.prepare_cached(
                "INSERT INTO records (conversation, position, kind, id, written_at, bytes, checksum, body, begun)
                 VALUES (?1, ?2, ?3, ?4, 0, ?5, 0, ?6, ?7)
                 ON CONFLICT (kind, id, conversation) DO UPDATE SET body = excluded.body, begun = excluded.begun
                 RETURNING position, record",
            )?;
            let values = params![
                self.conversation_id,
                self.last + 1,
                row.kind,
                row.id,
                row.body.len(),
                row.body,
                row.begun
            ];
            let (at, record): (i64, i64) =
                statement.query_row(values, |row| Ok((row.get(0)?, row.get(1)?)))?;
            self.last = self.last.max(at);
            for (place, (kind, bytes, spool_id)) in row.artifacts.iter().enumerate() {
                let mut statement = self.conn.prepare_cached(
                    "INSERT INTO artifacts (record, place, kind, bytes, spool_id) VALUES (?1, ?2, ?3, ?4, ?5)",
                )?;
                statement.execute(params![record, place, kind, bytes, spool_id])?;
            }
        }
        self.revision += 1;
        self.conn
            .prepare_cached("UPDATE conversations SET revision = ?2, last_position = ?3 WHERE conversation = ?1")?
            .execute([self.conversation_id, self.revision, self.last])?;
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        Ok(())
    }

    /// Reads the texts of a conversation and passes each to a callback.
    pub(crate) fn select(
        &self,
        name: &str,
        mut each: impl FnMut(i64, &str),
    ) -> rusqlite::Result<()> {
        let mut statement = self.conn.prepare_cached(
            "SELECT position, body FROM records JOIN conversations USING (conversation) WHERE conversation_id = ?1 ORDER BY position",
        )?;
        let mut rows = statement.query([name])?;
        while let Some(row) = rows.next()? {
            each(row.get(0)?, row.get_ref(1)?.as_str()?);
        }
        Ok(())
    }
}
