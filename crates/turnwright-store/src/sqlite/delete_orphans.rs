//! Deletes bytes in the spool that no record names.

use std::collections::HashSet;
use std::time::Duration;

use turnwright_core::store::StoreError;

use super::SqliteStore;
use super::error::{Failure, SqliteErrorKind};
use super::format;
use super::spool_references::{is_named, note_orphan, orphans, strike_orphan};
use super::writer_thread::{Writer, now};

/// What [`SqliteStore::delete_orphans`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeletedOrphans {
    /// The number of deleted results.
    pub deleted: u64,
    /// The number of results that no record names, and that wait for the end of the grace period.
    pub waiting: u64,
}

impl SqliteStore {
    /// Deletes what the spool keeps and no record names, if it was so at an earlier call too and that is at least `grace` ago.
    /// What a deleted conversation left behind goes at once.
    ///
    /// The bytes of a result are in the spool before the record that names them is stored, so a grace of nothing is only
    /// for a time in which no turn runs; an hour is plenty else. The spool must be this store's alone: what another file names
    /// is named by nobody here.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use std::time::Duration;
    /// use turnwright_core::spool::Body;
    /// use turnwright_core::spool::{MemorySpool, Spool as _};
    /// use turnwright_store::sqlite::SqliteStore;
    ///
    /// # let folder = std::env::temp_dir().join(format!("turnwright-doc-orphans-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder).unwrap();
    /// # let file = folder.join("chat.db");
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let spool = MemorySpool::default();
    /// let store = SqliteStore::builder(&file).spool(Arc::new(spool.clone())).open().await?;
    /// spool.put("left by a crash", Body::Text("…".to_owned())).await?;
    ///
    /// let hour = Duration::from_secs(60 * 60);
    /// assert_eq!(store.delete_orphans(hour).await?.waiting, 1);
    /// // No turn runs:
    /// assert_eq!(store.delete_orphans(Duration::ZERO).await?.deleted, 1);
    /// # store.close().await?;
    /// # std::fs::remove_dir_all(&folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// The store or the spool failed. What could not be deleted is tried again by the next call.
    pub async fn delete_orphans(&self, grace: Duration) -> Result<DeletedOrphans, StoreError> {
        let error = |failure: Failure| self.error(failure);
        let failed = |error: std::io::Error| {
            let detail = format!("the spool failed: {error}");
            self.error(Failure::new(SqliteErrorKind::Other, detail))
        };
        let spool = self.results();
        // Listed before it is asked who names what: a record that comes in between is seen.
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
        self.strike(gone).await?;
        match trouble {
            None => Ok(DeletedOrphans { deleted, waiting }),
            Some(error) => Err(failed(error)),
        }
    }
}

impl Writer {
    /// Brings the notes up to date; gives what is to be deleted, and how much is to wait.
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
                strike_orphan(&self.conn, &id)?;
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
