//! Deleting a conversation with all that it names.

use std::collections::BTreeMap;
use std::io;

use rusqlite::Connection;
use turnwright_core::spool::Spool;
use turnwright_core::store::{ConversationId, StoreError};

use super::SqliteStore;
use super::conversation_row::ConversationRow;
use super::encode::check_id;
use super::error::{Failure, SqliteErrorKind};
use super::spool_references::{is_named, note_orphan, strike_orphan};
use super::writer_thread::{Writer, now};

/// How many pages the file gives back in one transaction.
const PAGES: u32 = 1024;

/// The highest number that the database holds.
const HIGHEST_FENCE: u64 = i64::MAX as u64;

/// What was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deleted {
    /// How many records.
    pub records: u64,
    /// How many results in the spool.
    pub spooled: u64,
    /// The bytes of the records' texts and of the results.
    pub bytes: u64,
    /// Somebody else reads the file as it was before, so that it still holds what was deleted, behind a log that says otherwise.
    /// It goes when that reader has ended and somebody next writes or closes the file: delete again, or [`SqliteStore::close`].
    pub still_read: bool,
}

impl SqliteStore {
    /// Deletes a conversation: its records and its name, and what the spool keeps for them and for no other. The freed pages are
    /// overwritten and given back to the file system.
    ///
    /// The records go first, in one transaction that notes which bytes are to follow: if the process ends in between, no
    /// record names bytes that are gone, and the next [`SqliteStore::delete_orphans`] deletes the rest. A turn that runs meanwhile is cut
    /// off: its next write is refused (`E_TURN_TAKEN_OVER`), and nothing comes back.
    ///
    /// Nobody else writes to the file until the records are gone: a moment for ten thousand of them, seconds for a hundred
    /// thousand and more, beyond which others may meet their `busy_timeout`.
    ///
    /// The conversation's revision, fencing token and last place stay, so that a writer who does not know yet is still refused. Its name does
    /// not, which may say as much as the conversation did: the numbers are kept under a digest of it. Whoever guesses the name
    /// can find out that it was there, as they could by asking for its revision.
    ///
    /// ```
    /// use turnwright_core::record::Message;
    /// use turnwright_core::store::{ConversationFilter, ConversationId, Store as _, StoreExt as _};
    /// use turnwright_store::sqlite::SqliteStore;
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let (store, conversation) = (SqliteStore::in_memory().await?, ConversationId::new("chat-1"));
    /// store.put(&conversation, Message::user("Forget this.").build()?).await?;
    /// let deleted = store.delete_conversation(&conversation).await?;
    /// assert_eq!(deleted.records, 1);
    /// assert!(store.conversations(&ConversationFilter::all()).await?.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`SqliteErrorKind::Invalid`], and nothing is deleted, if records name bytes in a spool and the store was given none. If the spool
    /// fails: the records are gone then, and the bytes that are not are noted.
    pub async fn delete_conversation(
        &self,
        conversation_id: &ConversationId,
    ) -> Result<Deleted, StoreError> {
        let erased = self.erase(conversation_id, None).await?.unwrap_or_default();
        let deleted = self.delete_bytes(&erased).await;
        let given_back = self.give_back().await;
        let mut deleted = deleted?;
        deleted.still_read = !given_back?;
        Ok(deleted)
    }

    /// Deletes the records of a conversation; only if it is as it was when it was chosen, where that is detail.
    pub(super) async fn erase(
        &self,
        conversation_id: &ConversationId,
        chosen_at: Option<u64>,
    ) -> Result<Option<Erased>, StoreError> {
        let (conversation_id, results) = (conversation_id.clone(), self.0.results.clone());
        let erased = self.0.writer.run(move |writer| {
            // Without the folder nobody knows where the bytes are.
            let spool = results.as_ref().is_none_or(|folder| folder.is_dir());
            check_id(&conversation_id)?;
            writer.begin(true)?;
            let erased = erase(&writer.conn, conversation_id.as_str(), chosen_at, spool)?;
            writer.commit()?;
            Ok(erased)
        });
        erased.await.map_err(|failure| self.error(failure))
    }

    /// Deletes the bytes that were noted with the records, and strikes the notes.
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
            match forget(spool, id, freed.is_none()).await {
                Ok(there) => {
                    gone.push(id.clone());
                    deleted.spooled += u64::from(there);
                    deleted.bytes += freed.filter(|_| there).unwrap_or(0);
                }
                Err(error) => failed = Some((failed.map_or(1, |(n, _)| n + 1), error)),
            }
        }
        self.strike(gone).await?;
        match failed {
            None => Ok(deleted),
            Some((left, error)) => {
                let detail = format!(
                    "the records are deleted, and {left} of their results in the spool are not: {error}; they are noted, and \
                     `delete_orphans` tries again"
                );
                Err(self.error(Failure::new(SqliteErrorKind::Other, detail)))
            }
        }
    }

    /// Strikes the notes of bytes that are gone.
    pub(super) async fn strike(&self, gone: Vec<String>) -> Result<(), StoreError> {
        if gone.is_empty() {
            return Ok(());
        }
        let struck = self.0.writer.run(move |writer| {
            writer.begin(false)?;
            for id in &gone {
                strike_orphan(&writer.conn, id)?;
            }
            writer.commit()
        });
        struck.await.map_err(|failure| self.error(failure))
    }

    /// Gives free pages back to the file system, a few at a time so that others can write in between. Whether the log is empty
    /// then: else the file still holds what was overwritten.
    pub(super) async fn give_back(&self) -> Result<bool, StoreError> {
        loop {
            let more = self.0.writer.run(|writer| writer.give_back()).await;
            match more.map_err(|failure| self.error(failure))? {
                GivenBack::Some => {}
                GivenBack::All { emptied } => return Ok(emptied),
            }
        }
    }
}

/// The id of a media is anything at all: where a spool cannot keep something under it, it does not.
async fn forget(spool: &dyn Spool, id: &str, media: bool) -> io::Result<bool> {
    match spool.delete(id).await {
        Err(error) if media && error.kind() == io::ErrorKind::InvalidInput => Ok(false),
        done => done,
    }
}

impl Writer {
    /// Gives some pages back.
    fn give_back(&mut self) -> Result<GivenBack, Failure> {
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
            // A page for each row.
            while rows.next()?.is_some() {}
            drop(rows);
            drop(statement);
            self.commit()?;
        }
        let after = free(&self.conn)?;
        Ok(match after > 0 && after < before {
            true => GivenBack::Some,
            false => GivenBack::All {
                emptied: self.shorten_log(),
            },
        })
    }
}

/// How many free pages were given back.
enum GivenBack {
    Some,
    All {
        /// The log is empty.
        emptied: bool,
    },
}

/// What is to be deleted elsewhere after the records are gone.
#[derive(Debug, Default)]
pub(super) struct Erased {
    pub(super) records: u64,
    /// Of the records' texts.
    pub(super) bytes: u64,
    /// What nobody names any more: artifacts with their bytes, media without.
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
        let detail = "its records name bytes in a spool, and the folder for results beside the database does not exist: open the \
                    store with the right `spool`";
        return Err(Failure::new(SqliteErrorKind::Invalid, detail));
    }
    let (records, bytes): (u64, u64) = conn
        .prepare_cached(
            "SELECT count(*), ifnull(sum(bytes), 0) FROM records WHERE conversation = ?1",
        )?
        .query_row([key], |row| Ok((row.get(0)?, row.get(1)?)))?;
    // What names their bytes goes with them.
    conn.prepare_cached("DELETE FROM records WHERE conversation = ?1")?
        .execute([key])?;
    row.revision += 1;
    // A turn that runs there cannot write any more.
    row.fencing_token = row.fencing_token.saturating_add(1).min(HIGHEST_FENCE);
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

/// The ids under which a spool may keep something for a conversation.
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
