//! Lines of the ledger.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::fields::{Fields, json_text, put};
use super::time;
use crate::error::Error;
use crate::record::{CallState, LedgerEntry, RecordKind};

pub(super) fn write(entry: &LedgerEntry, map: &mut Map<String, Value>) -> Result<(), Error> {
    put(map, "turnId", entry.turn_id());
    put(map, "toolCall", entry.tool_call());
    put(map, "callId", entry.call_id());
    if let Some(ordinal) = entry.ordinal() {
        put(map, "ordinal", ordinal);
    }
    put(map, "tool", entry.tool());
    put(map, "fingerprint", entry.fingerprint());
    let args = json_text(RecordKind::Ledger, "args", entry.args())?;
    put(map, "args", args);
    put(map, "state", entry.state().as_str());
    put(map, "begunAt", time::format(entry.begun_at()));
    if let Some(at) = entry.ended_at() {
        put(map, "endedAt", time::format(at));
    }
    Ok(())
}

pub(super) fn read(fields: &Fields<'_>) -> Result<Arc<LedgerEntry>, Error> {
    let named = |name: &str| match fields.text(name)? {
        "" => Err(fields.wrong(name, "is empty")),
        text => Ok(text),
    };
    let state = CallState::named(fields.text("state")?).ok_or_else(|| {
        let why = "is none of `begun`, `done`, `failed`, `unknown`";
        fields.wrong("state", why)
    })?;
    let ended_at = fields.time_if_any("endedAt")?;
    match (state, ended_at) {
        (CallState::Begun, Some(_)) => {
            return Err(fields.wrong("endedAt", "stands beside a call that has not ended"));
        }
        (CallState::Done | CallState::Failed | CallState::Unknown, None) => {
            return Err(fields.wrong("endedAt", "is missing beside a call that ended"));
        }
        _ => {}
    }
    let begun_at = fields.time("begunAt")?;
    Ok(Arc::new(LedgerEntry {
        effect_key: named("id")?.to_owned(),
        turn_id: fields.text("turnId")?.into(),
        tool_call: named("toolCall")?.to_owned(),
        call_id: named("callId")?.to_owned(),
        ordinal: fields.number_if_any("ordinal")?,
        tool: named("tool")?.into(),
        fingerprint: fields.text("fingerprint")?.to_owned(),
        args: fields.json("args")?,
        state,
        begun_at,
        // Written by a clock that was set back meanwhile.
        ended_at: ended_at.map(|at| at.max(begun_at)),
    }))
}
