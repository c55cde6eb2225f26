//! Gates.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::field::{Encoded, Json, Text, Time, VERSION};
use super::{Invalid, Stored};
use crate::error::Error;
use crate::record::{ByteResolver, GateRecord, GateState, Record, RecordKind};

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", bound(deserialize = "'de: 'a"))]
pub(super) struct StoredGate<'a> {
    v: u64,
    kind: RecordKind,
    id: Text<'a>,
    turn_id: Text<'a>,
    gate_id: Text<'a>,
    name: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_call: Option<Text<'a>>,
    question: Json<'a>,
    state: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Json<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Text<'a>>,
    opened_at: Time,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_at: Option<Time>,
}

impl<'a> TryFrom<&'a GateRecord> for StoredGate<'a> {
    type Error = Error;

    fn try_from(gate: &'a GateRecord) -> Result<Self, Error> {
        let (answer, reason) = match &gate.state {
            GateState::Resolved(answer) => {
                let answer = Json::new(RecordKind::Gate, "answer", answer)?;
                (Some(answer), None)
            }
            GateState::Rejected(reason) => (None, Some(reason.into())),
            GateState::Open | GateState::Unanswered => (None, None),
        };
        Ok(StoredGate {
            v: VERSION,
            kind: RecordKind::Gate,
            id: gate.id().into(),
            turn_id: (&gate.turn_id).into(),
            gate_id: (&gate.gate_id).into(),
            name: (&gate.name).into(),
            tool_call: gate.tool_call.as_ref().map(Text::from),
            question: Json::new(RecordKind::Gate, "question", &gate.question)?,
            state: gate.state.name().into(),
            answer,
            reason,
            opened_at: Encoded(gate.opened_at),
            closed_at: gate.closed_at.map(Encoded),
        })
    }
}

impl Stored for StoredGate<'_> {
    fn header(&self) -> (u64, RecordKind) {
        (self.v, self.kind)
    }

    fn read(self, _: &ByteResolver) -> Result<Record, Invalid> {
        let state = match (&*self.state, self.answer, self.reason) {
            ("open", ..) => GateState::Open,
            ("unanswered", ..) => GateState::Unanswered,
            ("resolved", Some(answer), _) => GateState::Resolved(answer.into_value()),
            ("resolved", None, _) => return Err(Invalid::missing("answer")),
            ("rejected", _, Some(reason)) => GateState::Rejected(reason.into_owned()),
            ("rejected", _, None) => return Err(Invalid::missing("reason")),
            _ => {
                let expected = "expected one of `open`, `resolved`, `rejected`, `unanswered`";
                return Err(Invalid::new("state", expected));
            }
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
