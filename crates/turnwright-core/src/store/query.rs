//! Queries and their results.

use std::fmt;

use super::Revision;
use crate::error::Error;
use crate::record::{Record, RecordKind};
use crate::schema::escape;

/// Selects records of a conversation. All conditions must hold.
///
/// Default: all records.
///
/// ```
/// use turnwright_core::record::{Message, RecordKind};
/// use turnwright_core::store::{ConversationId, MemoryStore, Query, Store as _, StoreExt as _};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// let (store, chat) = (MemoryStore::default(), ConversationId::new("chat-1"));
/// for text in ["one", "two", "three"] {
///     store.put(&chat, Message::user(text).id(text).build()?).await?;
/// }
/// let last_two = store.load(&chat, &Query::all().kind(RecordKind::Message).newest(2)).await?;
/// assert_eq!(last_two.records[0].record.id(), "two");
///
/// let first_of_page = last_two.records[0].position;
/// let before = store.load(&chat, &Query::all().before(first_of_page).newest(2)).await?;
/// assert_eq!(before.records[0].record.id(), "one");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Query {
    /// Only records of these kinds. Empty: all kinds.
    pub kinds: Vec<RecordKind>,
    /// Only records with these ids. An empty list selects nothing.
    pub ids: Option<Vec<String>>,
    /// Only records after this position.
    pub after: Option<Position>,
    /// Only records before this position.
    pub before: Option<Position>,
    /// The maximum number of records. A page with fewer is the last one.
    pub limit: Option<usize>,
    /// Whether the limit selects the newest records instead of the oldest. The result is in order either way.
    pub newest: bool,
}

impl Query {
    /// Selects all records.
    #[must_use]
    pub fn all() -> Self {
        Query::default()
    }

    /// Selects only records of this kind. Can be repeated for more kinds.
    #[must_use]
    pub fn kind(mut self, kind: RecordKind) -> Self {
        self.kinds.push(kind);
        self
    }

    /// Selects only records with these ids.
    #[must_use]
    pub fn ids<I: Into<String>>(mut self, ids: impl IntoIterator<Item = I>) -> Self {
        self.ids = Some(ids.into_iter().map(Into::into).collect());
        self
    }

    /// Selects only records after a position.
    #[must_use]
    pub fn after(mut self, position: Position) -> Self {
        self.after = Some(position);
        self
    }

    /// Selects only records before a position.
    #[must_use]
    pub fn before(mut self, position: Position) -> Self {
        self.before = Some(position);
        self
    }

    /// Selects the oldest records, at most this many.
    #[must_use]
    pub fn limit(mut self, most: usize) -> Self {
        (self.limit, self.newest) = (Some(most), false);
        self
    }

    /// Selects the newest records, at most this many. The result is still in order.
    #[must_use]
    pub fn newest(mut self, most: usize) -> Self {
        (self.limit, self.newest) = (Some(most), true);
        self
    }
}

/// The position of a record in its conversation, in the order in which records were first written.
///
/// ```
/// use turnwright_core::store::{Position, Query};
///
/// let rest = Query::all().after(Position(120)).limit(50);
/// assert!(Position(121) > Position(120));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position(pub u64);

/// A record and its position.
///
/// ```
/// use turnwright_core::record::Message;
/// use turnwright_core::store::{Position, Stored};
///
/// let stored = Stored::new(Position(3), Message::user("Hello!").id("m-1").build()?.into());
/// assert_eq!((stored.position, stored.record.id()), (Position(3), "m-1"));
/// # Ok::<(), turnwright_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stored {
    /// The position.
    pub position: Position,
    /// The record.
    pub record: Record,
}

impl Stored {
    /// Creates a record at a position.
    #[must_use]
    pub fn new(position: Position, record: Record) -> Self {
        Stored { position, record }
    }
}

/// The result of a query.
///
/// ```
/// use std::sync::Arc;
/// use turnwright_core::record::{ByteResolver, Record, RecordKind};
/// use turnwright_core::spool::MemorySpool;
/// use turnwright_core::store::{Loaded, Position, Revision};
///
/// // The row of a database. A row that cannot be decoded is reported, and the others are loaded.
/// let (kind, id, text) = (RecordKind::Message, "m-1", "not JSON");
/// let resolver = ByteResolver::new(Arc::new(MemorySpool::default()));
/// let mut loaded = Loaded::new(Vec::new(), Revision(7), 0);
/// loaded.add(Position(1), kind, id, Record::from_json(kind, text, &resolver));
/// assert_eq!(loaded.damaged[0].id, "m-1");
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Loaded {
    /// The records, in order.
    pub records: Vec<Stored>,
    /// The selected records that cannot be read, in order. They count towards the limit.
    pub damaged: Vec<DamagedRecord>,
    /// The revision of the conversation.
    pub revision: Revision,
    /// The highest fencing token that the conversation has seen. 0 if it has seen none.
    pub fencing_token: u64,
}

/// A stored record that cannot be read: its bytes changed, or this release cannot decode them.
///
/// ```
/// use turnwright_core::record::RecordKind;
/// use turnwright_core::store::{DamagedRecord, Position, StoreError};
///
/// let damaged = DamagedRecord::new(Position(3), Some(RecordKind::Message), "m-1", "the checksum does not match");
/// let error = StoreError::damaged(damaged);
/// assert_eq!(error.to_string(), "the message `m-1` at position 3 is damaged: the checksum does not match");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamagedRecord {
    /// The position.
    pub position: Position,
    /// The kind, if the store still knows it.
    pub kind: Option<RecordKind>,
    /// The id.
    pub id: String,
    /// Why it cannot be read. Contains names of fields, but not their content.
    pub reason: String,
}

impl Loaded {
    /// Creates the result of a query on a conversation with this revision and highest fencing token.
    #[must_use]
    pub fn new(records: Vec<Stored>, revision: Revision, fencing_token: u64) -> Self {
        Loaded {
            records,
            damaged: Vec::new(),
            revision,
            fencing_token,
        }
    }

    /// Adds the result of decoding one row: the record, or a [`DamagedRecord`]. For stores that decode records with [`Record::from_value`] or [`Record::from_json`].
    pub fn add(
        &mut self,
        position: Position,
        kind: RecordKind,
        id: &str,
        decoded: Result<Record, Error>,
    ) {
        match decoded {
            Ok(record) => self.records.push(Stored::new(position, record)),
            Err(error) => self.damaged.push(DamagedRecord::new(
                position,
                Some(kind),
                id,
                error.message(),
            )),
        }
    }

    /// Returns the records without their positions, except damaged ones.
    pub fn into_records(self) -> impl Iterator<Item = Record> + Send {
        self.records.into_iter().map(|stored| stored.record)
    }

    /// Returns the number of selected records, including damaged ones.
    #[must_use]
    pub fn count(&self) -> usize {
        self.records.len() + self.damaged.len()
    }

    /// Returns the positions of the first and the last selected record, including damaged ones.
    #[must_use]
    pub fn bounds(&self) -> Option<(Position, Position)> {
        let places = self.records.iter().map(|stored| stored.position);
        let places = places.chain(self.damaged.iter().map(|damaged| damaged.position));
        Some((places.clone().min()?, places.max()?))
    }
}

impl DamagedRecord {
    /// Creates the description of a record that cannot be read.
    #[must_use]
    pub fn new(
        position: Position,
        kind: Option<RecordKind>,
        id: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        DamagedRecord {
            position,
            kind,
            id: id.into(),
            reason: reason.into(),
        }
    }
}

impl fmt::Display for DamagedRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.map_or("record", RecordKind::as_str);
        let (id, place) = (escape(&self.id, 80), self.position.0);
        write!(
            f,
            "the {kind} `{id}` at position {place} is damaged: {}",
            self.reason
        )
    }
}
