//! Deletes a conversation and the bytes that it references.

use std::collections::BTreeMap;
use std::io;

use rusqlite::Connection;
use turnwright_core::spool::Spool;
use turnwright_core::store::{ConversationId, StoreError};

use super::SqliteStore;
use super::conversation_row::ConversationRow;
use super::delete_orphans::{is_named, note_orphan, remove_orphan};
use super::encode::check_id;
use super::error::{Failure, SqliteErrorKind};
use super::writer_thread::{Writer, now};

/// The number of pages that are returned to the file system in one transaction.
const PAGES: u32 = 1024;

/// The highest fencing token that the database can store.
const MAX_FENCING_TOKEN: u64 = i64::MAX as u64;

/// What was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deleted {
    /// The number of records.
    pub records: u64,
    /// The number of results in the spool.
    pub spooled: u64,
    /// The bytes of the records' texts and of the results.
    pub bytes: u64,
    /// Another connection still reads an earlier snapshot, so the file still contains the deleted data, superseded by
    /// the log. It is removed after that reader has finished and the file is next written or closed: delete again, or
    /// call [`SqliteStore::close`].
    pub still_read: bool,
}

impl SqliteStore {
    /// Deletes a conversation: its records, its id, and the spooled bytes that only it references. Freed pages are
    /// overwritten and returned to the file system.
    ///
    /// The records are deleted first, in one transaction that also records which bytes must follow. If the process
    /// ends in between, no record references deleted bytes, and the next [`SqliteStore::delete_orphans`] deletes the
    /// rest. A turn that is running loses its lease: its next write fails with `E_TURN_TAKEN_OVER`, and nothing is
    /// restored.
    ///
    /// The file is locked for other writers until the records are deleted. This takes a moment for ten thousand
    /// records, and seconds for a hundred thousand or more, in which case other writers may reach their
    /// `busy_timeout`.
    ///
    /// The revision, fencing token and last position of the conversation are kept, so that a stale writer still
    /// fails. The id is not kept, because it can be as sensitive as the conversation: the counters are stored under a
    /// digest of the id. A person who guesses the id can find out that it existed, just as by asking for its
    /// revision.
    ///
    /// ```
    /// use turnwright_core::record::Message;
    /// use turnwright_core::store::{ConversationFilter, ConversationId, Store as _, StoreExt as _};
    /// use turnwright_sqlite::SqliteStore;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let (store, conversation) = (SqliteStore::in_memory().await?, ConversationId::new("chat-1"));
    /// store.put(&conversation, Message::user("Forget this.").build()?).await?;
    /// let deleted = store.delete_conversation(&conversation).await?;
    /// assert_eq!(deleted.records, 1);
    /// assert!(store.conversations(&ConversationFilter::all()).await?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`SqliteErrorKind::Invalid`], with nothing deleted, if records reference bytes in a spool that this store does
    /// not have. If the spool fails, the records are already deleted, and the remaining bytes are recorded for
    /// deletion.
    pub async fn delete_conversation(
        &self,
        conversation_id: &ConversationId,
    ) -> Result<Deleted, StoreError> {
        let erased = self.erase(conversation_id, None).await?.unwrap_or_default();
        let deleted = self.delete_bytes(&erased).await;
        let given_back = self.release_pages().await;
        let mut deleted = deleted?;
        deleted.still_read = !given_back?;
        Ok(deleted)
    }

    /// Deletes the records of a conversation. With `chosen_at`, only if it still has this revision.
    pub(super) async fn erase(
        &self,
        conversation_id: &ConversationId,
        chosen_at: Option<u64>,
    ) -> Result<Option<Erased>, StoreError> {
        let (conversation_id, results) = (conversation_id.clone(), self.0.results.clone());
        let erased = self.0.writer.run(move |writer| {
            // Without the folder the location of the bytes is unknown.
            let spool = results.as_ref().is_none_or(|folder| folder.is_dir());
            check_id(&conversation_id)?;
            writer.begin(true)?;
            let erased = erase(&writer.conn, conversation_id.as_str(), chosen_at, spool)?;
            writer.commit()?;
            Ok(erased)
        });
        erased.await.map_err(|failure| self.error(failure))
    }

    /// Deletes the bytes that were recorded with the records, and removes their entries.
    pub(super) async fn delete_bytes(&self, erased: &Erased) -> Result<Deleted, StoreError> {
        let mut deleted = Deleted {
            records: erased.records,
            bytes: erased.bytes,
            ..Deleted::default()
        };
        let spool = self.results();
        let mut gone = Vec::new();
        let mut failed: Option<(u64, io::Error)> = None;
        for (id, freed) in &erased.unnamed {
            match forget(&**spool, id, freed.is_none()).await {
                Ok(there) => {
                    gone.push(id.clone());
                    deleted.spooled += u64::from(there);
                    deleted.bytes += freed.filter(|_| there).unwrap_or(0);
                }
                Err(error) => failed = Some((failed.map_or(1, |(n, _)| n + 1), error)),
            }
        }
        self.remove_orphans(gone).await?;
        match failed {
            None => Ok(deleted),
            Some((left, error)) => {
                let detail = format!(
                    "the records are deleted, but {left} of their results in the spool are not: {error}; they are recorded, and \
                     `delete_orphans` tries again"
                );
                Err(self.error(Failure::new(SqliteErrorKind::Other, detail)))
            }
        }
    }

    /// Removes the entries of bytes that are deleted.
    pub(super) async fn remove_orphans(&self, gone: Vec<String>) -> Result<(), StoreError> {
        if gone.is_empty() {
            return Ok(());
        }
        let struck = self.0.writer.run(move |writer| {
            writer.begin(false)?;
            for id in &gone {
                remove_orphan(&writer.conn, id)?;
            }
            writer.commit()
        });
        struck.await.map_err(|failure| self.error(failure))
    }

    /// Returns free pages to the file system, a few at a time so that others can write in between. Returns whether
    /// the log is empty afterwards; otherwise the file still contains what was overwritten.
    pub(super) async fn release_pages(&self) -> Result<bool, StoreError> {
        loop {
            let released = self.0.writer.run(|writer| writer.release_pages()).await;
            if let Some(emptied) = released.map_err(|failure| self.error(failure))? {
                return Ok(emptied);
            }
        }
    }
}

/// Deletes from the spool. A media id can be any text, and a spool that cannot store anything under it has nothing to
/// delete.
async fn forget(spool: &dyn Spool, id: &str, media: bool) -> io::Result<bool> {
    match spool.delete(id).await {
        Err(error) if media && error.kind() == io::ErrorKind::InvalidInput => Ok(false),
        done => done,
    }
}

impl Writer {
    /// Returns some pages to the file system. If no pages are left, empties the log too and returns whether that succeeded.
    fn release_pages(&mut self) -> Result<Option<bool>, Failure> {
        let free = |conn: &Connection| -> Result<u64, Failure> {
            Ok(conn.pragma_query_value(None, "freelist_count", |row| row.get(0))?)
        };
        let before = free(&self.conn)?;
        if before > 0 {
            self.begin(false)?;
            let mut statement = self
                .conn
                .prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
            let mut rows = statement.query([])?;
            // Returns one row per page.
            while rows.next()?.is_some() {}
            drop(rows);
            drop(statement);
            self.commit()?;
        }
        let after = free(&self.conn)?;
        let more = after > 0 && after < before;
        Ok((!more).then(|| self.shorten_log()))
    }
}

/// What must be deleted elsewhere after the records.
#[derive(Debug, Default)]
pub(super) struct Erased {
    pub(super) records: u64,
    /// The bytes of the records' texts.
    pub(super) bytes: u64,
    /// Bytes that are no longer referenced: artifacts with their size, media without.
    pub(super) unnamed: BTreeMap<String, Option<u64>>,
}

fn erase(
    conn: &Connection,
    name: &str,
    chosen_at: Option<u64>,
    spool: bool,
) -> Result<Option<Erased>, Failure> {
    super::format::check(conn)?;
    let mut row = ConversationRow::find(conn, name)?;
    let Some(key) = row.key else {
        return Ok(None);
    };
    if chosen_at.is_some_and(|chosen| chosen != row.revision) {
        return Ok(None);
    }
    let named = named_by(conn, key)?;
    if !spool && named.values().any(Option::is_some) {
        let detail = "its records reference bytes in a spool, but the folder for results next to the database does not exist: open the \
                    store with the right `spool`";
        return Err(Failure::new(SqliteErrorKind::Invalid, detail));
    }
    let (records, bytes): (u64, u64) = conn
        .prepare_cached(
            "SELECT count(*), ifnull(sum(bytes), 0) FROM records WHERE conversation = ?1",
        )?
        .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))?;
    // Rows that reference their bytes are deleted with them.
    conn.prepare_cached("DELETE FROM records WHERE conversation = ?1")?
        .execute([key])?;
    row.revision += 1;
    // Fails later writes of a running turn.
    row.fencing_token = row.fencing_token.saturating_add(1).min(MAX_FENCING_TOKEN);
    row.update_or_delete(conn, name, now())?;
    let mut unnamed = BTreeMap::new();
    for (id, freed) in named {
        if !is_named(conn, &id)? {
            note_orphan(conn, &id, 0)?;
            unnamed.insert(id, freed);
        }
    }
    Ok(Some(Erased {
        records,
        bytes,
        unnamed,
    }))
}

/// Returns the ids under which a spool may store something for a conversation.
fn named_by(conn: &Connection, key: i64) -> Result<BTreeMap<String, Option<u64>>, Failure> {
    let mut statement = conn.prepare_cached(
        "SELECT media_id, NULL FROM records JOIN media USING (record) WHERE conversation = ?1
         UNION ALL
         SELECT spool_id, artifacts.bytes FROM records JOIN artifacts USING (record)
             WHERE conversation = ?1 AND spool_id IS NOT NULL",
    )?;
    let rows = statement.query_map([key], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
