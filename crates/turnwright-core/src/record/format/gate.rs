//! Gates.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::field::{Encoded, Json, Kind, Text, Time, VERSION};
use super::{Invalid, Stored};
use crate::error::Error;
use crate::record::{ByteResolver, GateRecord, GateState, Record, RecordKind};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct StoredGate<'a> {
    v: u64,
    kind: Kind,
    id: Text<'a>,
    turn_id: Text<'a>,
    gate_id: Text<'a>,
    name: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call: Option<Text<'a>>,
    question: Json<'a>,
    state: StoredState,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Json<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Text<'a>>,
    opened_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<Time>,
}

#[derive(Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum StoredState {
    Open,
    Resolved,
    Rejected,
    Unanswered,
}

impl<'a> TryFrom<&'a GateRecord> for StoredGate<'a> {
    type Error = Error;

    fn try_from(gate: &'a GateRecord) -> Result<Self, Error> {
        let (state, answer, reason) = match gate.state() {
            GateState::Open => (StoredState::Open, None, None),
            GateState::Resolved(answer) => {
                let answer = Json::new(RecordKind::Gate, "answer", answer)?;
                (StoredState::Resolved, Some(answer), None)
            }
            GateState::Rejected(reason) => {
                (StoredState::Rejected, None, Some(reason.as_str().into()))
            }
            GateState::Unanswered => (StoredState::Unanswered, None, None),
        };
        Ok(StoredGate {
            v: VERSION,
            kind: Encoded(RecordKind::Gate),
            id: gate.id().into(),
            turn_id: gate.turn_id().into(),
            gate_id: gate.gate_id().into(),
            name: gate.name().into(),
            tool_call: gate.tool_call().map(Text::from),
            question: Json::new(RecordKind::Gate, "question", gate.question())?,
            state,
            answer,
            reason,
            opened_at: Encoded(gate.opened_at()),
            closed_at: gate.closed_at().map(Encoded),
        })
    }
}

impl Stored for StoredGate<'_> {
    fn header(&self) -> (u64, RecordKind) {
        (self.v, self.kind.0)
    }

    fn read(self, _: &ByteResolver) -> Result<Record, Invalid> {
        let state = match (self.state, self.answer, self.reason) {
            (StoredState::Open, ..) => GateState::Open,
            (StoredState::Unanswered, ..) => GateState::Unanswered,
            (StoredState::Resolved, Some(answer), _) => GateState::Resolved(answer.into_value()),
            (StoredState::Resolved, None, _) => return Err(Invalid::missing("answer")),
            (StoredState::Rejected, _, Some(reason)) => GateState::Rejected(reason.into_owned()),
            (StoredState::Rejected, _, None) => return Err(Invalid::missing("reason")),
        };
        if self.closed_at.is_some() == (state == GateState::Open) {
            return Err(Invalid::new("closedAt", "does not fit the state"));
        }
        let opened_at = self.opened_at.0;
        let gate = GateRecord {
            id: self.id.not_empty("id")?.into_owned(),
            turn_id: (*self.turn_id.not_empty("turnId")?).into(),
            gate_id: (*self.gate_id.not_empty("gateId")?).into(),
            name: (*self.name.not_empty("name")?).into(),
            tool_call: self.tool_call.map(|call| (*call).into()),
            question: Arc::new(self.question.into_value()),
            state,
            opened_at,
            closed_at: self.closed_at.map(|at| at.0.max(opened_at)),
        };
        Ok(Arc::new(gate).into())
    }
}
