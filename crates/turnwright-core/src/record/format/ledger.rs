//! Ledger entries.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::field::{Encoded, Json, Text, Time, VERSION};
use super::{Invalid, Stored};
use crate::error::Error;
use crate::record::{ByteResolver, CallState, LedgerEntry, Record, RecordKind};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct StoredEntry<'a> {
    v: u64,
    kind: RecordKind,
    id: Text<'a>,
    turn_id: Text<'a>,
    tool_call: Text<'a>,
    checksum: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ordinal: Option<u64>,
    tool: Text<'a>,
    fingerprint: Text<'a>,
    args: Json<'a>,
    state: CallState,
    begun_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Time>,
}

impl<'a> TryFrom<&'a LedgerEntry> for StoredEntry<'a> {
    type Error = Error;

    fn try_from(entry: &'a LedgerEntry) -> Result<Self, Error> {
        Ok(StoredEntry {
            v: VERSION,
            kind: RecordKind::Ledger,
            id: entry.id().into(),
            turn_id: (&entry.turn_id).into(),
            tool_call: (&entry.tool_call).into(),
            checksum: (&entry.checksum).into(),
            ordinal: entry.ordinal,
            tool: (&entry.tool).into(),
            fingerprint: (&entry.fingerprint).into(),
            args: Json::new(RecordKind::Ledger, "args", &entry.args)?,
            state: entry.state,
            begun_at: Encoded(entry.started_at),
            ended_at: entry.ended_at.map(Encoded),
        })
    }
}

impl Stored for StoredEntry<'_> {
    fn header(&self) -> (u64, RecordKind) {
        (self.v, self.kind)
    }

    fn read(self, _: &ByteResolver) -> Result<Record, Invalid> {
        match (self.state, self.ended_at) {
            (CallState::Started, Some(_)) => {
                return Err(Invalid::new(
                    "endedAt",
                    "is set for a call that has not ended",
                ));
            }
            (CallState::Done | CallState::Failed | CallState::Unknown, None) => {
                return Err(Invalid::new(
                    "endedAt",
                    "is missing for a call that has ended",
                ));
            }
            _ => {}
        }
        let begun_at = self.begun_at.0;
        let entry = LedgerEntry {
            idempotency_key: self.id.not_empty("id")?.into_owned(),
            turn_id: (*self.turn_id).into(),
            tool_call: self.tool_call.not_empty("toolCall")?.into_owned(),
            checksum: self.checksum.not_empty("checksum")?.into_owned(),
            ordinal: self.ordinal,
            tool: (*self.tool.not_empty("tool")?).into(),
            fingerprint: self.fingerprint.into_owned(),
            args: self.args.into_value(),
            state: self.state,
            started_at: begun_at,
            // The clock may have been set back in between.
            ended_at: self.ended_at.map(|at| at.0.max(begun_at)),
        };
        Ok(Arc::new(entry).into())
    }
}
