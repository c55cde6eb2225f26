//! What a summary replaces.

use serde::{Deserialize, Serialize};

use super::Invalid;
use super::field::Text;
use crate::record::{Coverage, RecordKind, RecordRef};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct StoredCoverage<'a> {
    turn_id: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Text<'a>>,
    exchanges: u64,
    summarised: u64,
    omitted: u64,
    first: StoredRef<'a>,
    last: StoredRef<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<StoredRef<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    opening: Option<Text<'a>>,
}

#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct StoredRef<'a> {
    kind: RecordKind,
    id: Text<'a>,
}

impl<'a> From<&'a RecordRef> for StoredRef<'a> {
    fn from(record: &'a RecordRef) -> Self {
        StoredRef {
            kind: record.kind,
            id: (&*record.id).into(),
        }
    }
}

impl StoredRef<'_> {
    fn read(self, field: &str) -> Result<RecordRef, Invalid> {
        let id = self
            .id
            .not_empty("id")
            .map_err(|error| error.inside(field))?;
        Ok(RecordRef {
            kind: self.kind,
            id: (&*id).into(),
        })
    }
}

impl<'a> From<&'a Coverage> for StoredCoverage<'a> {
    fn from(coverage: &'a Coverage) -> Self {
        StoredCoverage {
            turn_id: (&*coverage.turn_id).into(),
            model: coverage.model.as_deref().map(Text::from),
            exchanges: coverage.exchanges,
            summarised: coverage.summarised,
            omitted: coverage.omitted,
            first: (&coverage.first).into(),
            last: (&coverage.last).into(),
            next: coverage.next.as_ref().map(StoredRef::from),
            opening: coverage.opening.as_deref().map(Text::from),
        }
    }
}

impl StoredCoverage<'_> {
    pub(super) fn read(self) -> Result<Coverage, Invalid> {
        Ok(Coverage {
            turn_id: (&*self.turn_id).into(),
            model: self.model.map(|model| (&*model).into()),
            exchanges: self.exchanges,
            summarised: self.summarised,
            omitted: self.omitted,
            first: self.first.read("first")?,
            last: self.last.read("last")?,
            next: self.next.map(|next| next.read("next")).transpose()?,
            opening: self.opening.map(|opening| (&*opening).into()),
        })
    }
}
