//! Decodes rows into records.

use std::borrow::Cow;

use rusqlite::{Row, Rows};
use turnwright_core::record::{ByteResolver, Record, RecordKind};
use turnwright_core::store::{DamagedRecord, Loaded, Position};

use super::encode::checksum;
use super::error::{Failure, SqliteErrorKind};

/// The number of rows after which reading checks whether the caller still waits.
const ROWS: usize = 256;

/// Returns `true` while the caller waits for the result.
pub(super) type Wanted<'w> = &'w dyn Fn() -> bool;

/// Returns all records of a query in its order. Damaged ones are listed separately.
pub(super) fn records(
    mut rows: Rows<'_>,
    resolver: &ByteResolver,
    wanted: Wanted<'_>,
) -> Result<Loaded, Failure> {
    let mut loaded = Loaded::default();
    while let Some(row) = rows.next()? {
        Read::of(row)?.add_to(&mut loaded, resolver);
        if loaded.records.len() % ROWS == 0 && !wanted() {
            return Err(Failure::new(
                SqliteErrorKind::Other,
                "the caller no longer waits",
            ));
        }
    }
    Ok(loaded)
}

/// A row of `position, kind, id, checksum, body`. Columns that cannot be read are missing.
pub(super) struct Read<'r> {
    position: u64,
    kind: Option<RecordKind>,
    id: Cow<'r, str>,
    checksum: Option<u32>,
    text: Option<&'r str>,
}

impl<'r> Read<'r> {
    pub(super) fn of(row: &'r Row<'_>) -> Result<Self, Failure> {
        let id = row.get_ref(2)?.as_bytes().unwrap_or_default();
        Ok(Read {
            position: row.get(0)?,
            kind: row
                .get_ref(1)?
                .as_str()
                .ok()
                .and_then(RecordKind::from_name),
            id: String::from_utf8_lossy(id),
            checksum: row.get(3).ok(),
            text: row.get_ref(4)?.as_str().ok(),
        })
    }

    /// Decodes the row and adds it to `loaded`, as a record or as a damaged one.
    pub(super) fn add_to(&self, loaded: &mut Loaded, resolver: &ByteResolver) {
        let position = Position(self.position);
        match (self.kind, self.text) {
            (Some(kind), Some(text)) if self.checksum == Some(checksum(text.as_bytes())) => {
                let decoded = Record::from_json(kind, text, resolver);
                // The record must have the kind and id of its row.
                match decoded {
                    Ok(record) if record.id() != self.id => {
                        let detail = "its text is that of another record";
                        loaded.damaged.push(self.damaged(detail));
                    }
                    decoded => loaded.add(position, kind, &self.id, decoded),
                }
            }
            (None, _) => loaded.damaged.push(self.damaged("its kind is unknown")),
            (Some(_), _) => {
                let detail = "its text is not what was written";
                loaded.damaged.push(self.damaged(detail));
            }
        }
    }

    fn damaged(&self, detail: &str) -> DamagedRecord {
        DamagedRecord::new(Position(self.position), self.kind, &*self.id, detail)
    }
}
