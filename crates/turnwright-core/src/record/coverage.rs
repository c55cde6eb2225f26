//! What a summary replaces.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Record, RecordKind};
use crate::validate::Violations;

/// The part of a conversation that a summary replaces in prompts, and how the summary was made. A
/// [`Retrievable`](super::Retrievable) that has one is a summary: see [`Retrievable::covers`](super::Retrievable::covers).
///
/// The covered records stay in the store. A turn loads the newest summary and the records after it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Coverage {
    /// The turn that wrote the summary.
    pub turn_id: Arc<str>,
    /// The model that wrote the text. `None` if there is no text of a model, because nothing was summarised.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// The number of exchanges that the summary replaces, including those of the summaries before it.
    pub exchanges: u64,
    /// The number of records that were summarised, including those of the summaries before it.
    pub summarised: u64,
    /// The number of records that were removed without being summarised, including those of the summaries before it.
    pub omitted: u64,
    /// The first record that is covered.
    pub first: RecordRef,
    /// The last record that is covered.
    pub last: RecordRef,
    /// The first record after the covered ones, if there was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<RecordRef>,
    /// The id of the message that starts the exchange in which the covered part ends, if it ends within an exchange. This message
    /// is not covered, although it comes before the last covered record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub opening: Option<Arc<str>>,
}

/// The kind and the id of a record.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RecordRef {
    /// The kind.
    pub kind: RecordKind,
    /// The id.
    pub id: Arc<str>,
}

impl RecordRef {
    /// Returns the reference to a record.
    pub(crate) fn of(record: &Record) -> Self {
        RecordRef {
            kind: record.kind(),
            id: record.id().into(),
        }
    }

    /// Returns whether it refers to this record.
    pub(crate) fn refers_to(&self, record: &Record) -> bool {
        self.kind == record.kind() && *self.id == *record.id()
    }
}

impl Coverage {
    pub(super) fn check(&self, wrong: &mut Violations) {
        for (field, record) in [
            ("first", Some(&self.first)),
            ("last", Some(&self.last)),
            ("next", self.next.as_ref()),
        ] {
            let named = record.is_none_or(|record| !record.id.is_empty());
            wrong.check(&format!("covers.{field}.id"), named, "must not be empty");
        }
    }

    /// Returns the number of records that it replaces.
    #[must_use]
    pub(crate) fn records(&self) -> u64 {
        self.summarised.saturating_add(self.omitted)
    }
}
