//! References from records to spooled bytes, and the deletion of bytes that no record references.

use std::collections::HashSet;
use std::time::Duration;

use rusqlite::{Connection, params};
use turnwright_core::store::StoreError;

use super::error::{Failure, SqliteErrorKind};
use super::writer_thread::{Writer, now};
use super::{SqliteStore, format};

/// The result of [`SqliteStore::delete_orphans`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeletedOrphans {
    /// The number of deleted results.
    pub deleted: u64,
    /// The number of unreferenced results whose grace period has not ended.
    pub waiting: u64,
}

impl SqliteStore {
    /// Deletes spooled bytes that no record references, if an earlier call at least `grace` ago found the same. Bytes
    /// of deleted conversations are deleted immediately.
    ///
    /// The bytes of a result are in the spool before the record that references them is stored. Use a zero `grace`
    /// only while no turn runs; otherwise an hour is plenty. The spool must belong to this store alone, because
    /// references from other databases are unknown here.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use turnwright_core::spool::Body;
    /// use turnwright_core::spool::{MemorySpool, Spool as _};
    /// use turnwright_sqlite::SqliteStore;
    ///
    /// # let temporary = tempfile::tempdir().unwrap();
    /// # let folder = temporary.path();
    /// # let file = folder.join("chat.db");
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let spool = MemorySpool::default();
    /// let store = SqliteStore::builder(&file).spool(Arc::new(spool.clone())).open().await?;
    /// spool.put("left by a crash", Body::Text("…".to_owned())).await?;
    ///
    /// let hour = Duration::from_secs(60 * 60);
    /// assert_eq!(store.delete_orphans(hour).await?.waiting, 1);
    /// // No turn is running:
    /// assert_eq!(store.delete_orphans(Duration::ZERO).await?.deleted, 1);
    /// # store.close().await?;
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// Fails if the store or the spool fails. The next call retries what could not be deleted.
    pub async fn delete_orphans(&self, grace: Duration) -> Result<DeletedOrphans, StoreError> {
        let error = |failure: Failure| self.error(failure);
        let failed = |error: std::io::Error| {
            let detail = format!("the spool failed: {error}");
            self.error(Failure::new(SqliteErrorKind::Other, detail))
        };
        let spool = self.results();
        // Listed before references are queried, so that a record stored in between is seen.
        let stored = spool.list().await.map_err(failed)?;
        let marked = self.0.writer.run(move |writer| writer.mark(stored, grace));
        let (due, waiting) = marked.await.map_err(error)?;
        let (mut gone, mut deleted, mut trouble) = (Vec::new(), 0, None);
        for id in due {
            match spool.delete(&id).await {
                Ok(there) => {
                    deleted += u64::from(there);
                    gone.push(id);
                }
                Err(error) => trouble = Some(error),
            }
        }
        self.remove_orphans(gone).await?;
        match trouble {
            None => Ok(DeletedOrphans { deleted, waiting }),
            Some(error) => Err(failed(error)),
        }
    }
}

impl Writer {
    /// Updates the recorded orphans. Returns what must be deleted now, and how many must wait.
    fn mark(
        &mut self,
        stored: Vec<String>,
        grace: Duration,
    ) -> Result<(Vec<String>, u64), Failure> {
        self.begin(false)?;
        format::check(&self.conn)?;
        let now = now();
        let mut unnamed = HashSet::new();
        for id in stored {
            if !is_named(&self.conn, &id)? {
                note_orphan(&self.conn, &id, now)?;
                unnamed.insert(id);
            }
        }
        let grace = i64::try_from(grace.as_millis()).unwrap_or(i64::MAX);
        let (mut due, mut waiting) = (Vec::new(), 0);
        for (id, since) in orphans(&self.conn)? {
            if !unnamed.contains(&id) {
                remove_orphan(&self.conn, &id)?;
            } else if since <= now.saturating_sub(grace) || since == 0 {
                due.push(id);
            } else {
                waiting += 1;
            }
        }
        self.commit()?;
        Ok((due, waiting))
    }
}

/// Returns `true` if any record references these bytes: as an artifact, or as media stored under its id.
pub(super) fn is_named(conn: &Connection, spool_id: &str) -> Result<bool, Failure> {
    let mut statement = conn.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM artifacts WHERE spool_id = ?1)
             OR EXISTS (SELECT 1 FROM media WHERE media_id = ?1)",
    )?;
    Ok(statement.query_row([spool_id], |row| row.get(0))?)
}

/// Records since when these bytes are unreferenced. 0 means that they are deleted at the next opportunity. An
/// existing entry is kept, unless the bytes must be deleted now.
pub(super) fn note_orphan(conn: &Connection, spool_id: &str, since: i64) -> Result<(), Failure> {
    conn.prepare_cached(
        "INSERT INTO orphans (spool_id, since) VALUES (?1, ?2)
         ON CONFLICT (spool_id) DO UPDATE SET since = min(since, excluded.since)",
    )?
    .execute(params![spool_id, since])?;
    Ok(())
}

/// Removes an entry: the bytes are deleted, or are referenced again.
pub(super) fn remove_orphan(conn: &Connection, spool_id: &str) -> Result<(), Failure> {
    conn.prepare_cached("DELETE FROM orphans WHERE spool_id = ?1")?
        .execute([spool_id])?;
    Ok(())
}

/// Returns all entries.
pub(super) fn orphans(conn: &Connection) -> Result<Vec<(String, i64)>, Failure> {
    let mut statement = conn.prepare_cached("SELECT spool_id, since FROM orphans")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}
