//! Limits on age and size.

use std::time::Duration;

use rusqlite::Connection;
use turnwright_core::record::{Lease, Record, RecordKind};
use turnwright_core::store::{ConversationId, Query, Store as _, StoreError, observe_lease};

use super::SqliteStore;
use super::delete_conversation::Deleted;
use super::error::Failure;
use super::format;
use super::writer_thread::now;

/// Limits on what is kept. Default: none.
///
/// ```
/// use std::time::Duration;
/// use turnwright_store::sqlite::Retention;
///
/// let month = Duration::from_secs(30 * 24 * 60 * 60);
/// let retention = Retention::default().max_age(month).max_bytes(1 << 30);
/// assert_eq!(retention.max_bytes, Some(1 << 30));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[must_use = "nothing is deleted until `apply_retention` is called"]
pub struct Retention {
    /// Conversations that were last written longer ago than this go.
    pub max_age: Option<Duration>,
    /// The texts of all records and the results that they name have no more bytes than this; those conversations go first
    /// that were written longest ago. The bytes of media are not counted: they are elsewhere.
    pub max_bytes: Option<u64>,
    /// Conversations that stay whatever they are.
    pub except: Vec<ConversationId>,
}

impl Retention {
    /// Conversations that were last written longer ago go.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }

    /// These stay: somebody has them open, say.
    pub fn except(mut self, conversation_ids: impl IntoIterator<Item = ConversationId>) -> Self {
        self.except.extend(conversation_ids);
        self
    }

    /// All of it has no more bytes.
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }
}

/// What [`SqliteStore::apply_retention`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Retained {
    /// The conversations that were deleted, those first that were written longest ago.
    pub conversations: Vec<ConversationId>,
    /// What went with them.
    pub deleted: Deleted,
    /// The conversations that were to go and in which a turn runs, or that have a call that was begun and never ended. They stay
    /// until somebody has ended it: what it did is still to be found out.
    pub unfinished: Vec<ConversationId>,
    /// Where `unfinished` names conversations because of leases that were not released: after this time it can be told
    /// whether their processes are gone. Apply the retention again then.
    pub retry_after: Option<Duration>,
    /// The bytes that are left, counted as [`Retention::max_bytes`] does.
    pub bytes_left: u64,
}

impl SqliteStore {
    /// Deletes conversations until what is left is within bounds, each as
    /// [`delete_conversation`](SqliteStore::delete_conversation) does. Never one in which a turn runs or a call was begun and has
    /// not ended, nor one that is written while this goes on.
    ///
    /// ```
    /// use turnwright_core::record::Message;
    /// use turnwright_core::store::{ConversationId, StoreExt as _};
    /// use turnwright_store::sqlite::{Retention, SqliteStore};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
    /// let store = SqliteStore::in_memory().await?;
    /// store.put(&ConversationId::new("chat-1"), Message::user("Hello!").build()?).await?;
    /// let report = store.apply_retention(&Retention::default().max_bytes(0)).await?;
    /// assert_eq!(report.conversations, [ConversationId::new("chat-1")]);
    /// assert_eq!(report.bytes_left, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    ///
    /// # Errors
    /// As [`delete_conversation`](SqliteStore::delete_conversation); what was deleted before stays deleted.
    pub async fn apply_retention(&self, retention: &Retention) -> Result<Retained, StoreError> {
        let (stored, mut total) = self.read(|conn, _| survey(conn)).await?;
        let oldest = retention.max_age.map(|age| {
            let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
            now().saturating_sub(age)
        });
        let mut report = Retained::default();
        for one in stored {
            let too_old = oldest.is_some_and(|oldest| one.written_at < oldest);
            let too_much = retention.max_bytes.is_some_and(|most| total > most);
            if !too_old && !too_much || retention.except.contains(&one.conversation_id) {
                continue;
            }
            let held = self.may_be_held(&one.conversation_id).await?;
            report.retry_after = report.retry_after.max(held);
            if one.unfinished || held.is_some() {
                report.unfinished.push(one.conversation_id);
                continue;
            }
            // None where somebody has written since it was looked at.
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
            report.deleted.still_read = !self.give_back().await?;
        }
        report.bytes_left = total;
        Ok(report)
    }
}

impl SqliteStore {
    /// For how long a turn may still be running in a conversation, if one may. A lease that cannot be read does not keep what
    /// is to go: a turn that runs is cut off.
    async fn may_be_held(
        &self,
        conversation_id: &ConversationId,
    ) -> Result<Option<Duration>, StoreError> {
        let query = Query::all().kind(RecordKind::Lease).ids([Lease::ID]);
        let mut lease = self.load(conversation_id, &query).await?.into_records();
        let lease = lease.find_map(Record::downcast::<Lease>);
        Ok(lease.and_then(|lease| observe_lease(conversation_id, &lease)))
    }
}

/// A conversation that holds records.
struct Stored {
    conversation_id: ConversationId,
    revision: u64,
    written_at: i64,
    unfinished: bool,
}

/// All conversations, those first that were written longest ago, and the bytes of all of them.
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
    // Bytes that several records name are there once.
    let mut statement = moment.prepare_cached(
        "SELECT (SELECT ifnull(sum(bytes), 0) FROM records) + (SELECT ifnull(sum(once), 0) FROM
             (SELECT max(bytes) AS once FROM artifacts WHERE spool_id IS NOT NULL GROUP BY spool_id))",
    )?;
    let total = statement.query_row([], |row| row.get(0))?;
    Ok((stored, total))
}
