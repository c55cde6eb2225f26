//! Sample records.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use turnwright_core::artifact::{ArtifactKind, SpooledArtifact};
use turnwright_core::media::{Media, MediaKind};
use turnwright_core::record::{
    ByteResolver, ConversationInfo, Lease, Memory, Message, ProviderState, Record, RecordKind,
    ResponseRef, Retrievable, StandingInstruction, Thought, ToolCall, ToolResults, TurnState,
};
use turnwright_core::spool::{MemoryReader, MemorySpool};
use turnwright_core::trust::TrustTier;

use super::outcome::Broken;

/// Returns a short record.
pub(super) fn note(id: &str, text: &str) -> Result<Record, Broken> {
    Ok(Memory::new(text).id(id).build()?.into())
}

/// Returns a short record of a kind.
pub(super) fn of_kind(kind: RecordKind, id: &str) -> Result<Record, Broken> {
    Ok(match kind {
        RecordKind::Message => Message::user(id).id(id).build()?.into(),
        RecordKind::Thought => Thought::new(id).id(id).build()?.into(),
        RecordKind::Instruction => StandingInstruction::new(id).id(id).build()?.into(),
        RecordKind::ToolCall => ToolCall::builder("tool", "{}").id(id).build()?.into(),
        RecordKind::Retrievable => {
            let found = Retrievable::text(id, TrustTier::FirstParty);
            found.id(id).build()?.into()
        }
        RecordKind::Ledger => ledger(id, "started")?,
        RecordKind::Turn => turn(id)?,
        RecordKind::Gate => gate(id)?,
        RecordKind::Lease => lease(id)?,
        RecordKind::ConversationInfo => info(id)?,
        _ => note(id, id)?,
    })
}

/// Returns a ledger entry. Its id can be any text.
pub(super) fn ledger(id: &str, state: &str) -> Result<Record, Broken> {
    let entry = json!({
        "v": 1, "kind": "ledger", "id": id,
        "turnId": "turn/1", "toolCall": "0123456789", "checksum": "c".repeat(64),
        "tool": "pay", "fingerprint": "f".repeat(64),
        "args": "{\"amount\":1.5e300,\"to\":\"\\u0000ß\"}",
        "state": state,
        "startedAt": "2026-02-28T23:59:59.999999999Z",
        "endedAt": (state != "started").then_some("1969-12-31T23:59:59.000000001Z"),
    });
    read(RecordKind::Ledger, &entry)
}

fn turn(id: &str) -> Result<Record, Broken> {
    let usage = json!({
        "requests": 2, "inputTokens": u64::MAX, "cachedInputTokens": 0, "cacheWriteTokens": 3, "outputTokens": 1, "reasoningTokens": 0,
    });
    let turn = json!({
        "v": 1, "kind": "turn", "id": id, "nonce": "n", "state": "failed", "answer": "m-1", "runs": 3, "iterations": 0, "usage": usage,
        "stash": "{\"user.\\u0000ß\":{\"n\":1.5e300}}",
        "error": { "code": "E_STORE_ERROR", "message": "\0 is no text" },
        "startedAt": "2026-02-28T23:59:59.999999999Z", "endedAt": "2026-03-01T00:00:00.000000000Z",
    });
    read(RecordKind::Turn, &turn)
}

/// Returns a turn in a state, which began this many seconds after the start of 2026.
pub(super) fn turn_in(id: &str, state: TurnState, second: u32) -> Result<Record, Broken> {
    let usage = json!({
        "requests": 0, "inputTokens": 0, "cachedInputTokens": 0, "cacheWriteTokens": 0, "outputTokens": 0, "reasoningTokens": 0,
    });
    let turn = json!({
        "v": 1, "kind": "turn", "id": id, "nonce": "n", "state": state.as_str(), "runs": 1, "iterations": 0, "usage": usage,
        "startedAt": at(second), "endedAt": (state != TurnState::Running).then(|| at(second)),
    });
    read(RecordKind::Turn, &turn)
}

/// Returns a gate of a turn.
pub(super) fn gate_of(id: &str, turn_id: &str, open: bool) -> Result<Record, Broken> {
    let gate = json!({
        "v": 1, "kind": "gate", "id": id, "turnId": turn_id, "name": "approval", "question": "{}",
        "state": if open { "open" } else { "unanswered" }, "openedAt": at(0), "closedAt": (!open).then(|| at(0)),
    });
    read(RecordKind::Gate, &gate)
}

/// Returns the lease of a conversation, until this many seconds after the start of 2026. Released if there is no
/// turn.
pub(super) fn lease_of(turn_id: Option<&str>, until: u32) -> Result<Record, Broken> {
    let lease = json!({
        "v": 1, "kind": "lease", "id": Lease::ID, "turnId": turn_id, "owner": "o", "fencingToken": 1, "until": at(until), "termMs": 30_000, "renewals": 0,
    });
    read(RecordKind::Lease, &lease)
}

fn at(second: u32) -> String {
    let (minute, second) = (second / 60 % 60, second % 60);
    format!("2026-01-01T00:{minute:02}:{second:02}.000000001Z")
}

/// Returns the time that [`lease_of`] and [`turn_in`] write for a second.
pub(super) fn time(second: u32) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::new(1_767_225_600 + u64::from(second), 1)
}

fn gate(id: &str) -> Result<Record, Broken> {
    let gate = json!({
        "v": 1, "kind": "gate", "id": id, "turnId": "turn/1", "name": "approval", "toolCall": "0123456789",
        "question": "{\"args\":{\"amount\":1.5e300}}", "state": { "answered": "{\"decision\":\"approve\"}" },
        "openedAt": "2026-02-28T23:59:59.999999999Z", "closedAt": "2026-03-01T00:00:00.000000000Z",
    });
    read(RecordKind::Gate, &gate)
}

fn lease(id: &str) -> Result<Record, Broken> {
    let lease = json!({
        "v": 1, "kind": "lease", "id": id, "turnId": "turn/1", "owner": "another process", "fencingToken": i64::MAX,
        "until": "2026-02-28T23:59:59.999999999Z", "termMs": 30_000, "renewals": 0,
    });
    read(RecordKind::Lease, &lease)
}

fn info(id: &str) -> Result<Record, Broken> {
    let info = json!({
        "v": 1, "kind": "conversation_info", "id": id, "title": "'; DROP TABLE labels; -- 👨‍👩‍👧", "owner": "ß\"'%_\\",
        "labels": { "project": "", "a key": "'%_ 漢" }, "data": "{\"n\":1.5e300,\"\\u0000\":[null]}",
    });
    read(RecordKind::ConversationInfo, &info)
}

/// The info of a conversation.
pub(super) fn info_of(owner: Option<&str>, labels: &[(&str, &str)]) -> Result<Record, Broken> {
    let mut info = ConversationInfo::default().title("A title");
    if let Some(owner) = owner {
        info = info.owner(owner);
    }
    for (key, value) in labels {
        info = info.label(*key, *value);
    }
    Ok(info.build()?.into())
}

fn read(kind: RecordKind, value: &Value) -> Result<Record, Broken> {
    let nothing = ByteResolver::new(Arc::new(MemorySpool::default()));
    Ok(Record::from_value(kind, value, &nothing)?)
}

/// Returns a record that cannot be encoded: see `Record::to_value`.
pub(super) fn too_large() -> Result<Record, Broken> {
    let bytes = vec![b'x'; 1024 * 1024 + 1];
    let artifact = SpooledArtifact::in_memory(bytes, ArtifactKind::TEXT);
    let found = Retrievable::artifact(artifact, TrustTier::FirstParty);
    Ok(found.id("large").build()?.into())
}

/// Returns records of every kind, with all fields set.
pub(super) fn every_kind() -> Result<Vec<Record>, Broken> {
    let odd = "'; DROP TABLE records; -- \u{0}\u{202e} ß 漢 🎉\r\n\"{}\\";
    let old = SystemTime::UNIX_EPOCH - Duration::new(1, 1);
    let state = || ProviderState::new("a protocol", odd, vec![0, 0xff, b'{']);
    let response = || ResponseRef::with_id(odd).cut(odd);
    let pixels = MemoryReader::new("pixels");
    let picture = Media::retrieved_public(MediaKind::Image, "image/png", odd, pixels);
    let picture = picture.derived("caption", odd, TrustTier::FirstParty);
    let picture = picture.source(odd).build()?;
    let text = SpooledArtifact::in_memory(odd, ArtifactKind::TEXT);
    let bytes = SpooledArtifact::in_memory(vec![0, 0xfe, 0xff], ArtifactKind::JSON);
    let call = |id: &str| {
        let call = ToolCall::builder("tool", odd).id(id).provider_id("");
        let call = call.created_at(old).response(response());
        call.provider_state(state())
    };
    let edited = json!({ "b": [1.0, u64::MAX, i64::MIN, 0.1], "a": null });
    let odd_text = |text: fn(String) -> ToolResults| text(odd.to_owned());
    let passage = Retrievable::text(odd, TrustTier::ThirdPartyPrivate);
    let asked = Retrievable::artifact(text.clone(), TrustTier::ThirdPartyPublic);
    let mut all: Vec<Record> = vec![
        StandingInstruction::new(odd).id("i").build()?.into(),
        Memory::new(odd).id("m").created_at(old).build()?.into(),
        ledger("turn/1/0", "started")?,
        ledger("turn/1/1", "done")?,
        ledger("turn/1/2", "failed")?,
        ledger("turn/1/3", "unknown")?,
        turn("turn/1")?,
        gate("turn/1/approval-1")?,
        lease("lease")?,
        info(ConversationInfo::ID)?,
    ];
    let thought = Thought::new("").id("t").response(response());
    all.push(thought.provider_state(state()).build()?.into());
    let agent = Message::agent(odd, odd).tier(TrustTier::ThirdPartyPrivate);
    let answer = Message::assistant("").id("m-2").response(response());
    for message in [
        Message::user(odd)
            .id("m-1")
            .name("Ada 漢")
            .media(picture.clone()),
        answer.provider_state(state()),
        agent.id("m-3"),
    ] {
        all.push(message.build()?.into());
    }
    for found in [
        passage.source(odd).id("r-1"),
        asked.id("r-2"),
        Retrievable::media(picture.clone()).id("r-3"),
    ] {
        all.push(found.build()?.into());
    }
    let artifacts = ToolResults::Artifacts(vec![text, bytes]);
    for call in [
        call("c-1"),
        call("c-2")
            .edited_args(edited)
            .results(artifacts)
            .trusted(true),
        call("c-3")
            .results(odd_text(ToolResults::Text))
            .from_artifact_tool(true),
        call("c-4").results(ToolResults::Media(vec![picture])),
        call("c-5").results(odd_text(ToolResults::Failure)),
        call("c-6").results(odd_text(ToolResults::Refusal)),
        ToolCall::builder("tool", json!({ "x": 1.0 })).id("c-7"),
        ToolCall::builder("tool", "{\u{fffd}").id("c-8"),
        call("c-9").ordinal(u64::MAX).cut_off(true),
    ] {
        all.push(call.build()?.into());
    }
    Ok(all)
}
