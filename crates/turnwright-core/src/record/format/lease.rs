//! Leases.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::field::{Encoded, Text, Time, VERSION};
use super::{Invalid, Stored};
use crate::record::{ByteResolver, Lease, Record, RecordKind};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct StoredLease<'a> {
    v: u64,
    kind: RecordKind,
    id: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn_id: Option<Text<'a>>,
    owner: Text<'a>,
    fencing_token: u64,
    until: Time,
    term_ms: u64,
    renewals: u64,
}

impl<'a> From<&'a Lease> for StoredLease<'a> {
    fn from(lease: &'a Lease) -> Self {
        StoredLease {
            v: VERSION,
            kind: RecordKind::Lease,
            id: lease.id().into(),
            turn_id: lease.turn_id.as_ref().map(Text::from),
            owner: (&lease.owner).into(),
            fencing_token: lease.fencing_token,
            until: Encoded(lease.until),
            term_ms: u64::try_from(lease.term.as_millis()).unwrap_or(u64::MAX),
            renewals: lease.renewals,
        }
    }
}

impl Stored for StoredLease<'_> {
    fn header(&self) -> (u64, RecordKind) {
        (self.v, self.kind)
    }

    fn read(self, _: &ByteResolver) -> Result<Record, Invalid> {
        let lease = Lease {
            id: (*self.id.not_empty("id")?).into(),
            turn_id: self.turn_id.map(|id| (*id).into()),
            owner: (*self.owner.not_empty("owner")?).into(),
            fencing_token: self.fencing_token,
            until: self.until.0,
            term: Duration::from_millis(self.term_ms),
            renewals: self.renewals,
        };
        Ok(Arc::new(lease).into())
    }
}
