//! What is read.

use std::fmt;

use super::{Revision, Scope};
use crate::error::Error;
use crate::record::{Record, RecordKind};
use crate::schema::escape;

/// Which records are read. All of them unless told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Query {
    /// Of these kinds only; of all where this is empty.
    pub kinds: Vec<RecordKind>,
    /// With these ids only; an empty list asks for nothing.
    pub ids: Option<Vec<String>>,
    /// After this place.
    pub after: Option<Position>,
    /// Before this place.
    pub before: Option<Position>,
    /// At most so many. Fewer come only where there are no more.
    pub limit: Option<usize>,
    /// Where there are more than the limit, the newest of them instead of the oldest. In order either way.
    pub newest: bool,
}

impl Query {
    /// All records.
    #[must_use]
    pub fn all() -> Self {
        Query::default()
    }

    /// All records of a kind; may be said again for more kinds.
    #[must_use]
    pub fn kind(mut self, kind: RecordKind) -> Self {
        self.kinds.push(kind);
        self
    }

    /// Those with these ids.
    #[must_use]
    pub fn ids<I: Into<String>>(mut self, ids: impl IntoIterator<Item = I>) -> Self {
        self.ids = Some(ids.into_iter().map(Into::into).collect());
        self
    }

    /// Those after a place.
    #[must_use]
    pub fn after(mut self, place: Position) -> Self {
        self.after = Some(place);
        self
    }

    /// Those before a place.
    #[must_use]
    pub fn before(mut self, place: Position) -> Self {
        self.before = Some(place);
        self
    }

    /// At most so many, the oldest of them.
    #[must_use]
    pub fn limit(mut self, most: usize) -> Self {
        (self.limit, self.newest) = (Some(most), false);
        self
    }

    /// At most so many, the newest of them. In order all the same.
    #[must_use]
    pub fn newest(mut self, most: usize) -> Self {
        (self.limit, self.newest) = (Some(most), true);
        self
    }
}

/// The place of a record in its scope: by when it was first written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position(pub u64);

/// A record and its place.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Stored {
    /// The place.
    pub position: Position,
    /// The record.
    pub record: Record,
}

impl Stored {
    /// A record at its place.
    #[must_use]
    pub fn new(position: Position, record: Record) -> Self {
        Stored { position, record }
    }
}

/// What was read.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Loaded {
    /// The records, in order.
    pub records: Vec<Stored>,
    /// The records that the query selects and that cannot be read, in order. They count towards its limit.
    pub damaged: Vec<DamagedRecord>,
    /// The revision of the scope that they are of.
    pub revision: Revision,
}

/// A stored record that cannot be read: its bytes changed, or this release cannot decode them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DamagedRecord {
    /// Its place.
    pub position: Position,
    /// Its kind, if the store still knows it.
    pub kind: Option<RecordKind>,
    /// Its id.
    pub id: String,
    /// Why it cannot be read. Names fields and nothing of their content.
    pub reason: String,
}

impl Loaded {
    /// These records, of this revision.
    #[must_use]
    pub fn new(records: Vec<Stored>, revision: Revision) -> Self {
        Loaded {
            records,
            damaged: Vec::new(),
            revision,
        }
    }

    /// Adds what came of decoding one row: the record, or a [`DamagedRecord`] that names it. For stores that decode
    /// records with [`Record::from_value`] or [`Record::from_json`].
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

    /// The records without their places. Leaves out those that are damaged.
    pub fn into_records(self) -> impl Iterator<Item = Record> + Send {
        self.records.into_iter().map(|stored| stored.record)
    }

    /// How many records the query selected, damaged ones included. A page with fewer than its limit is the last.
    #[must_use]
    pub fn count(&self) -> usize {
        self.records.len() + self.damaged.len()
    }

    /// The first and the last place that the query selected, damaged records included.
    #[must_use]
    pub fn bounds(&self) -> Option<(Position, Position)> {
        let places = self.records.iter().map(|stored| stored.position);
        let places = places.chain(self.damaged.iter().map(|damaged| damaged.position));
        places.fold(None, |bounds, place| match bounds {
            None => Some((place, place)),
            Some((first, last)) => Some((first.min(place), last.max(place))),
        })
    }
}

impl DamagedRecord {
    /// A record that cannot be read, and why.
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
            "the {kind} `{id}` at place {place} is damaged: {}",
            self.reason
        )
    }
}

/// Which scopes are listed. All of them unless told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScopeFilter {
    /// Whose name begins with this.
    pub prefix: Option<String>,
    /// After this one.
    pub after: Option<Scope>,
    /// At most so many.
    pub limit: Option<usize>,
}

impl ScopeFilter {
    /// All scopes.
    #[must_use]
    pub fn all() -> Self {
        ScopeFilter::default()
    }

    /// Those whose name begins with this.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = Some(prefix.into());
        self
    }

    /// Those after this one.
    #[must_use]
    pub fn after(mut self, scope: Scope) -> Self {
        self.after = Some(scope);
        self
    }

    /// At most so many.
    #[must_use]
    pub fn limit(mut self, most: usize) -> Self {
        self.limit = Some(most);
        self
    }
}
