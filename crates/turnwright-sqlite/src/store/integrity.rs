//! Integrity check of a database.

use rusqlite::Connection;
use turnwright_core::record::ByteResolver;
use turnwright_core::store::{Loaded, StoreError};

use super::SqliteStore;
use super::decode::Read;
use super::error::{Failure, SqliteErrorKind};
use super::format;

/// The maximum number of reported problems.
const MAX_PROBLEMS: usize = 10;

impl SqliteStore {
    /// Checks the complete database: SQLite's own check of pages and indexes, that references resolve, that each
    /// record matches its checksum and can be decoded, and that positions do not exceed the conversation's counter.
    /// Takes as long as reading the complete file.
    ///
    /// ```
    /// use turnwright_sqlite::SqliteStore;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let store = SqliteStore::in_memory().await?;
    /// store.integrity_check().await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`SqliteErrorKind::Corrupt`] with the first ten problems; another kind if the check could not be completed.
    pub async fn integrity_check(&self) -> Result<(), StoreError> {
        let reopen = self.0.reopen.clone();
        self.read(move |conn, _| check(conn, &reopen)).await
    }
}

/// Each returns a text per problem.
const CHECKS: [&str; 7] = [
    "SELECT 'a row of ' || \"table\" || ' refers to nothing' FROM pragma_foreign_key_check LIMIT 10",
    "SELECT 'a record of conversation ' || conversation || ' is beyond its last position' FROM records JOIN conversations USING (conversation)
         WHERE position > last_position OR position < 1 LIMIT 10",
    "SELECT 'conversation ' || conversation || ' has no record' FROM conversations
         WHERE NOT EXISTS (SELECT 1 FROM records WHERE records.conversation = conversations.conversation) LIMIT 10",
    "SELECT 'the numbers of conversation ' || conversation || ' are invalid' FROM conversations
         WHERE revision < 0 OR fencing_token < 0 OR last_position < 0 OR changes_from NOT BETWEEN 0 AND revision
             OR length(last_batch_id) <> 16 LIMIT 10",
    "SELECT 'the log of batches is damaged at revision ' || revision FROM batches
         WHERE conversation IS NOT NULL AND NOT ifnull(json_valid(records), 0) LIMIT 10",
    "SELECT 'the index of turns does not match the turn at position ' || position FROM records
         WHERE kind = 'turn' AND (began_at IS NULL OR turn_state IS NULL
             OR (json_valid(body) AND turn_state IS NOT body ->> '$.state')) LIMIT 10",
    "SELECT 'the index of conversations does not fit the info of conversation ' || c.conversation
         FROM conversations c LEFT JOIN records r ON r.kind = 'conversation_info' AND r.id = 'info' AND r.conversation = c.conversation
         WHERE (r.body IS NULL OR json_valid(r.body)) AND (c.owner IS NOT r.body ->> '$.owner'
             OR (SELECT json_group_object(key, value) FROM (SELECT key, value FROM labels l
                     WHERE l.conversation = c.conversation AND l.conversation_id = c.conversation_id ORDER BY key))
                 IS NOT ifnull((SELECT json_group_object(key, value) FROM (SELECT key, value FROM json_each(r.body, '$.labels') ORDER BY key)), '{}'))
         LIMIT 10",
];

fn check(conn: &mut Connection, reopen: &ByteResolver) -> Result<(), Failure> {
    let moment = conn.transaction()?;
    format::check(&moment)?;
    let mut problems = texts(&moment, "PRAGMA integrity_check(10)")?;
    problems.retain(|problem| problem != "ok");
    for sql in CHECKS {
        problems.extend(texts(&moment, sql)?);
    }
    damaged_records(&moment, reopen, &mut problems)?;
    if problems.is_empty() {
        Ok(())
    } else {
        problems.truncate(MAX_PROBLEMS);
        Err(Failure::new(SqliteErrorKind::Corrupt, problems.join("; ")))
    }
}

fn texts(conn: &Connection, sql: &str) -> Result<Vec<String>, Failure> {
    let mut statement = conn.prepare(sql)?;
    let rows = statement.query_map([], |row| row.get(0))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn damaged_records(
    conn: &Connection,
    reopen: &ByteResolver,
    problems: &mut Vec<String>,
) -> Result<(), Failure> {
    let mut statement =
        conn.prepare("SELECT position, kind, id, checksum, body, conversation FROM records")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let mut loaded = Loaded::default();
        Read::of(row)?.add_to(&mut loaded, reopen);
        if let Some(damaged) = loaded.damaged.first()
            && problems.len() < MAX_PROBLEMS
        {
            let conversation: i64 = row.get(5)?;
            problems.push(format!("in conversation {conversation}, {damaged}"));
        }
    }
    Ok(())
}
