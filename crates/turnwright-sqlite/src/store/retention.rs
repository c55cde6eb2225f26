//! Retention: limits on age and size.

use std::time::Duration;

use rusqlite::Connection;
use turnwright_core::record::{Lease, Record, RecordKind};
use turnwright_core::store::{ConversationId, Query, Store as _, StoreError, observe_lease};

use super::SqliteStore;
use super::delete_conversation::Deleted;
use super::error::Failure;
use super::format;
use super::writer_thread::now;

/// Limits on what is kept. Default: no limits.
///
/// ```
/// use std::time::Duration;
/// use turnwright_sqlite::Retention;
///
/// let month = Duration::from_secs(30 * 24 * 60 * 60);
/// let retention = Retention::default().max_age(month).max_bytes(1 << 30);
/// assert_eq!(retention.max_bytes, Some(1 << 30));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "nothing is deleted until `apply_retention` is called"]
pub struct Retention {
    /// Deletes conversations that were last written longer ago than this.
    pub max_age: Option<Duration>,
    /// The maximum number of bytes of all record texts and the results that they reference. Conversations that were
    /// written longest ago are deleted first. Media bytes that are stored elsewhere are not counted.
    pub max_bytes: Option<u64>,
    /// Conversations that are never deleted.
    pub except: Vec<ConversationId>,
}

impl Retention {
    /// Sets the maximum age since the last write.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }

    /// Excludes conversations from deletion, for example because they are open in a UI.
    pub fn except(mut self, conversation_ids: impl IntoIterator<Item = ConversationId>) -> Self {
        self.except.extend(conversation_ids);
        self
    }

    /// Sets the maximum number of bytes.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }
}

/// The result of [`SqliteStore::apply_retention`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RetentionReport {
    /// The deleted conversations, those written longest ago first.
    pub conversations: Vec<ConversationId>,
    /// What was deleted with them.
    pub deleted: Deleted,
    /// Conversations that should have been deleted but have a running turn, or a call that was begun and has not
    /// ended. They are kept until that call is closed, because its effect is still unknown.
    pub unfinished: Vec<ConversationId>,
    /// Set if `unfinished` contains conversations with leases that were not released. After this time it is known
    /// whether their processes have died; apply the retention again then.
    pub retry_after: Option<Duration>,
    /// The remaining bytes, counted as for [`Retention::max_bytes`].
    pub bytes_left: u64,
}

impl SqliteStore {
    /// Deletes conversations until the rest is within the limits, each like
    /// [`delete_conversation`](SqliteStore::delete_conversation). Never deletes a conversation with a running turn or
    /// an unfinished call, nor one that is written in the meantime.
    ///
    /// ```
    /// use turnwright_core::record::Message;
    /// use turnwright_core::store::{ConversationId, StoreExt as _};
    /// use turnwright_sqlite::{Retention, SqliteStore};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
    /// let store = SqliteStore::in_memory().await?;
    /// store.put(&ConversationId::new("chat-1"), Message::user("Hello!").build()?).await?;
    /// let report = store.apply_retention(&Retention::default().max_bytes(0)).await?;
    /// assert_eq!(report.conversations, [ConversationId::new("chat-1")]);
    /// assert_eq!(report.bytes_left, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// See [`delete_conversation`](SqliteStore::delete_conversation). Earlier deletions are kept.
    pub async fn apply_retention(
        &self,
        retention: &Retention,
    ) -> Result<RetentionReport, StoreError> {
        let (stored, mut total) = self.read(|conn, _| survey(conn)).await?;
        let oldest = retention.max_age.map(|age| {
            let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            now().saturating_sub(age)
        });
        let mut report = RetentionReport::default();
        for one in stored {
            let too_old = oldest.is_some_and(|oldest| one.written_at < oldest);
            let too_much = retention.max_bytes.is_some_and(|most| total > most);
            if !too_old && !too_much || retention.except.contains(&one.conversation_id) {
                continue;
            }
            let lease = self.remaining_lease(&one.conversation_id).await?;
            report.retry_after = report.retry_after.max(lease);
            if one.unfinished || lease.is_some() {
                report.unfinished.push(one.conversation_id);
                continue;
            }
            // `None` if it was written since it was selected.
            let Some(erased) = self.erase(&one.conversation_id, Some(one.revision)).await? else {
                continue;
            };
            let freed = erased.unnamed.values().flatten().sum::<u64>();
            total = total.saturating_sub(erased.bytes.saturating_add(freed));
            let deleted = self.delete_bytes(&erased).await?;
            report.conversations.push(one.conversation_id);
            report.deleted.records += deleted.records;
            report.deleted.spooled += deleted.spooled;
            report.deleted.bytes += deleted.bytes;
        }
        if !report.conversations.is_empty() {
            report.deleted.still_read = !self.release_pages().await?;
        }
        report.bytes_left = total;
        Ok(report)
    }
}

impl SqliteStore {
    /// Returns for how long a turn may still be running in a conversation, if one may. A lease that cannot be read
    /// does not prevent deletion: a running turn is interrupted.
    async fn remaining_lease(
        &self,
        conversation_id: &ConversationId,
    ) -> Result<Option<Duration>, StoreError> {
        let query = Query::all().kind(RecordKind::Lease).ids([Lease::ID]);
        let mut lease = self.load(conversation_id, &query).await?.into_records();
        let lease = lease.find_map(Record::downcast::<Lease>);
        Ok(lease.and_then(|lease| observe_lease(conversation_id, &lease)))
    }
}

/// A conversation that has records.
struct Stored {
    conversation_id: ConversationId,
    revision: u64,
    written_at: i64,
    unfinished: bool,
}

/// Returns all conversations, those written longest ago first, and their total size.
fn survey(conn: &mut Connection) -> Result<(Vec<Stored>, u64), Failure> {
    let moment = conn.transaction()?;
    format::check(&moment)?;
    let mut statement = moment.prepare_cached(
        "SELECT conversation_id, revision, written_at,
             EXISTS (SELECT 1 FROM records WHERE records.conversation = conversations.conversation AND begun = 1)
         FROM conversations ORDER BY written_at, conversation",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(Stored {
            conversation_id: ConversationId::new(row.get::<_, String>(0)?),
            revision: row.get(1)?,
            written_at: row.get(2)?,
            unfinished: row.get(3)?,
        })
    })?;
    let stored = rows.collect::<Result<_, _>>()?;
    // Bytes that several records reference are counted once.
    let mut statement = moment.prepare_cached(
        "SELECT (SELECT ifnull(sum(bytes), 0) FROM records) + (SELECT ifnull(sum(once), 0) FROM
             (SELECT max(bytes) AS once FROM artifacts WHERE spool_id IS NOT NULL GROUP BY spool_id))",
    )?;
    let total = statement.query_row([], |row| row.get(0))?;
    Ok((stored, total))
}
