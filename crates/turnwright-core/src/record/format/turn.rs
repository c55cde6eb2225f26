//! Turns.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::field::{Encoded, Json, Text, Time, VERSION};
use super::{Invalid, Stored};
use crate::error::Error;
use crate::record::{ByteResolver, Record, RecordKind, TurnFailure, TurnRecord, TurnState};
use crate::trust::TrustTier;
use crate::usage::Usage;

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct StoredTurn<'a> {
    v: u64,
    kind: RecordKind,
    id: Text<'a>,
    state: TurnState,
    #[serde(skip_serializing_if = "Option::is_none")]
    stash: Option<Vec<StoredStash<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outer_tiers: Option<Vec<TrustTier>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    nonce: Option<Text<'a>>,
    runs: u32,
    iterations: u32,
    usage: Usage,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<StoredFailure<'a>>,
    began_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Time>,
}

#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct StoredStash<'a> {
    path: Text<'a>,
    value: Json<'a>,
}

#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
struct StoredFailure<'a> {
    code: Text<'a>,
    message: Text<'a>,
}

impl<'a> TryFrom<&'a TurnRecord> for StoredTurn<'a> {
    type Error = Error;

    fn try_from(turn: &'a TurnRecord) -> Result<Self, Error> {
        let stash = turn.stash.iter().map(|(path, value)| {
            Ok(StoredStash {
                path: path.as_str().into(),
                value: Json::new(RecordKind::Turn, "stash", value)?,
            })
        });
        let stash: Vec<_> = stash.collect::<Result<_, Error>>()?;
        Ok(StoredTurn {
            v: VERSION,
            kind: RecordKind::Turn,
            id: turn.id().into(),
            state: turn.state,
            stash: (!stash.is_empty()).then_some(stash),
            outer_tiers: turn.outer_tiers.clone(),
            answer: turn.answer.as_ref().map(Text::from),
            nonce: turn.nonce.as_ref().map(Text::from),
            runs: turn.runs,
            iterations: turn.iterations,
            usage: turn.usage,
            error: turn.error.as_ref().map(|error| StoredFailure {
                code: (&error.code).into(),
                message: (&error.message).into(),
            }),
            began_at: Encoded(turn.began_at),
            ended_at: turn.ended_at.map(Encoded),
        })
    }
}

impl Stored for StoredTurn<'_> {
    fn header(&self) -> (u64, RecordKind) {
        (self.v, self.kind)
    }

    fn read(self, _: &ByteResolver) -> Result<Record, Invalid> {
        if self.ended_at.is_some() == (self.state == TurnState::Running) {
            return Err(Invalid::new("endedAt", "does not fit the state"));
        }
        let stash = self.stash.unwrap_or_default().into_iter();
        let began_at = self.began_at.0;
        let turn = TurnRecord {
            id: (*self.id.not_empty("id")?).into(),
            nonce: self.nonce.map(|nonce| (*nonce).into()),
            state: self.state,
            stash: stash
                .map(|one| (one.path.into_owned(), one.value.into_value()))
                .collect(),
            outer_tiers: self.outer_tiers,
            answer: self.answer.map(|answer| (*answer).into()),
            runs: self.runs,
            iterations: self.iterations,
            usage: self.usage,
            error: self.error.map(|error| TurnFailure {
                code: error.code.into_owned(),
                message: error.message.into_owned(),
            }),
            began_at,
            // The clock may have been set back in between.
            ended_at: self.ended_at.map(|at| at.0.max(began_at)),
        };
        Ok(Arc::new(turn).into())
    }
}
