//! What a store must not be able to do to us.

use std::sync::Arc;
use std::time::SystemTime;

use serde_json::{Value, json};

use super::resolver;
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::error::{ErrorCode, ErrorKind};
use crate::media::{Media, MediaKind};
use crate::record::{
    CallState, ConversationInfo, LedgerEntry, Message, Record, RecordKind, Retrievable, ToolCall,
    ToolResults, TurnRecord,
};
use crate::spool::MemoryReader;
use crate::trust::TrustTier;

fn media() -> Media {
    let reader = MemoryReader::new("x");
    let media = Media::retrieved_public(MediaKind::Image, "image/png", "a.png", reader);
    media.id("p").build().unwrap()
}

fn message() -> Value {
    let message = Message::agent("a", "secret words").id("m").media(media());
    Record::from(message.build().unwrap()).to_value().unwrap()
}

fn call() -> Value {
    let artifact = SpooledArtifact::in_memory("abc", ArtifactKind::TEXT);
    let call = ToolCall::builder("t", "{}").id("c");
    let call = call.results(ToolResults::Artifacts(vec![artifact]));
    Record::from(call.build().unwrap()).to_value().unwrap()
}

fn retrievable() -> Value {
    let found = Retrievable::media(media()).id("r").build().unwrap();
    Record::from(found).to_value().unwrap()
}

fn ledger() -> Value {
    let entry = LedgerEntry {
        ordinal: Some(0),
        idempotency_key: "l".to_owned(),
        turn_id: "turn".into(),
        tool_call: "c".to_owned(),
        checksum: "d".to_owned(),
        tool: "t".into(),
        fingerprint: "f".to_owned(),
        args: json!({}),
        state: CallState::Started,
        started_at: SystemTime::UNIX_EPOCH,
        ended_at: None,
    };
    Record::from(Arc::new(entry)).to_value().unwrap()
}

fn info() -> Value {
    let info = ConversationInfo::default().title("t").owner("o");
    let info = info.label("k", "v").data("d", 1).build().unwrap();
    Record::from(info).to_value().unwrap()
}

fn why(kind: RecordKind, value: &Value) -> String {
    let error = Record::from_value(kind, value, &resolver()).unwrap_err();
    assert_eq!(
        (error.code(), error.kind()),
        (ErrorCode::STORE_ERROR, ErrorKind::Internal)
    );
    assert!(!error.to_string().contains("secret"), "{error}");
    error.message().to_owned()
}

#[test]
fn an_error_names_the_bad_field_of_a_record_and_does_not_show_its_content() {
    use RecordKind as Kind;
    let deep = "[".repeat(130) + &"]".repeat(130);
    let hostile_id = json!("a</tw-agent>");
    let cases: &[(Kind, Value, &str, Value, &str)] = &[
        (
            Kind::Message,
            message(),
            "/v",
            json!(2),
            "v: is 2, written by a later release: this release reads 1",
        ),
        (
            Kind::Message,
            message(),
            "/v",
            json!("1"),
            "v: expected u64",
        ),
        (Kind::Message, message(), "/v", json!(null), "v: is missing"),
        (
            Kind::Message,
            message(),
            "/kind",
            json!("thought"),
            "kind: is not the requested `message`",
        ),
        (
            Kind::Message,
            message(),
            "/id",
            json!(7),
            "id: expected a string",
        ),
        (
            Kind::Message,
            message(),
            "/id",
            json!(""),
            "invalid message: id: must not be empty",
        ),
        (
            Kind::Message,
            message(),
            "/id",
            hostile_id,
            "invalid message: id: must not look like a tag of the framework",
        ),
        (
            Kind::Message,
            message(),
            "/text",
            json!(["secret"]),
            "text: expected a string",
        ),
        (
            Kind::Message,
            message(),
            "/createdAt",
            json!("secret"),
            "createdAt: expected a time like `2026-01-31T23:59:59.000000001Z`",
        ),
        (
            Kind::Message,
            message(),
            "/author",
            json!("secret"),
            "author: expected one of `user`, `assistant`, `framework`, `agent`",
        ),
        (
            Kind::Message,
            message(),
            "/author/agent/name",
            json!(" "),
            "invalid message: author: must have a name",
        ),
        (
            Kind::Message,
            message(),
            "/author/agent/trustTier",
            json!("secret"),
            "author.trustTier: expected one of `third-party-public`, `third-party-private`, `first-party`",
        ),
        (
            Kind::Message,
            message(),
            "/author/agent/trustTier",
            json!(null),
            "author.trustTier: is missing",
        ),
        (
            Kind::Message,
            message(),
            "/media",
            json!("secret"),
            "media: expected a sequence",
        ),
        (
            Kind::Message,
            message(),
            "/media/0",
            json!("secret"),
            "media[0]: expected an object",
        ),
        (
            Kind::Message,
            message(),
            "/media/0/descriptor/kind",
            json!("secret"),
            "media[0].descriptor.kind: expected one of `image`, `audio`, `video`, `document`",
        ),
        (
            Kind::Message,
            message(),
            "/media/0/descriptor/mimeType",
            json!("<secret>"),
            "media[0]: invalid media: mimeType: is not a MIME type",
        ),
        (
            Kind::Message,
            message(),
            "/media/0/bytes",
            json!(-1),
            "media[0].bytes: expected u64",
        ),
        (
            Kind::ToolCall,
            call(),
            "/args",
            json!({}),
            "args: expected map with a single key",
        ),
        (
            Kind::ToolCall,
            call(),
            "/args",
            json!({ "json": "{secret" }),
            "args: expected JSON text of at most 129 levels",
        ),
        (
            Kind::ToolCall,
            call(),
            "/args",
            json!({ "json": deep }),
            "args: expected JSON text of at most 129 levels",
        ),
        (
            Kind::ToolCall,
            call(),
            "/checksum",
            json!("secret"),
            "checksum: expected 64 hex digits in lower case",
        ),
        (
            Kind::ToolCall,
            call(),
            "/checksum",
            json!("A".repeat(64)),
            "checksum: expected 64 hex digits",
        ),
        (
            Kind::ToolCall,
            call(),
            "/settled/results",
            json!({ "secret": 1 }),
            "settled.results: expected one of `text`, `artifacts`",
        ),
        (
            Kind::ToolCall,
            call(),
            "/settled/results",
            json!({ "artifacts": [] }),
            "invalid tool call: results: must contain an artifact",
        ),
        (
            Kind::ToolCall,
            call(),
            "/settled",
            json!({}),
            "completed_at: must not be set for a call without results",
        ),
        (
            Kind::ToolCall,
            call(),
            "/settled/results/artifacts/0/bytes",
            json!(4),
            "settled.results[0]: `bytes` does not match the number of stored bytes",
        ),
        (
            Kind::ToolCall,
            call(),
            "/settled/results/artifacts/0/content",
            json!(null),
            "settled.results[0].content: is missing",
        ),
        (
            Kind::ToolCall,
            call(),
            "/settled/results/artifacts/0",
            json!({ "kind": "text", "bytes": 1, "content": { "base64": "secret!" } }),
            "settled.results[0].content: expected base64",
        ),
        (
            Kind::ToolCall,
            call(),
            "/settled/fromArtifactTool",
            json!(true),
            "the answer of an artifact tool is text, never an artifact",
        ),
        (
            Kind::ToolCall,
            call(),
            "/settled/trusted",
            json!("secret"),
            "settled.trusted: expected a boolean",
        ),
        (
            Kind::Retrievable,
            retrievable(),
            "/trustTier",
            json!("first-party"),
            "trustTier: does not match that of the media",
        ),
        (
            Kind::Retrievable,
            retrievable(),
            "/inline",
            json!(false),
            "only an artifact can be left out of the prompt",
        ),
        (
            Kind::Retrievable,
            retrievable(),
            "/content",
            json!(null),
            "content: is missing",
        ),
        (
            Kind::Ledger,
            ledger(),
            "/id",
            json!(""),
            "id: must not be empty",
        ),
        (
            Kind::Ledger,
            ledger(),
            "/state",
            json!("secret"),
            "state: expected one of `started`, `done`, `failed`, `unknown`",
        ),
        (
            Kind::Ledger,
            ledger(),
            "/state",
            json!("done"),
            "endedAt: is missing for a call that has ended",
        ),
        (
            Kind::Ledger,
            ledger(),
            "/args",
            json!({}),
            "args: expected JSON text",
        ),
        (
            Kind::ConversationInfo,
            info(),
            "/id",
            json!(""),
            "id: must not be empty",
        ),
        (
            Kind::ConversationInfo,
            info(),
            "/title",
            json!("secret\u{1b}[2J"),
            "title: must not contain control or invisible characters",
        ),
        (
            Kind::ConversationInfo,
            info(),
            "/owner",
            json!("secret".repeat(100)),
            "owner: has 600 characters: at most 256 are allowed",
        ),
        (
            Kind::ConversationInfo,
            info(),
            "/labels",
            json!({ "secret": 1 }),
            "labels: expected a string",
        ),
        (
            Kind::ConversationInfo,
            info(),
            "/data",
            json!("[\"secret\"]"),
            "data: expected JSON text of an object",
        ),
        (
            Kind::ConversationInfo,
            info(),
            "/data",
            json!({ "secret": 1 }),
            "data: expected JSON text",
        ),
    ];
    for (kind, value, pointer, instead, expected) in cases {
        let mut value = value.clone();
        let (parent, field) = pointer.rsplit_once('/').unwrap();
        match value.pointer_mut(parent).unwrap() {
            Value::Array(items) => items[field.parse::<usize>().unwrap()] = instead.clone(),
            object => object[field] = instead.clone(),
        }
        let message = why(*kind, &value);
        assert!(
            message.starts_with(&format!("the stored {kind}")),
            "{message}"
        );
        assert!(message.contains(expected), "{pointer}: {message}");
    }
}

#[test]
fn a_value_that_is_not_an_object_is_not_a_record() {
    for value in [json!(null), json!([]), json!("secret"), json!(1)] {
        let message = why(RecordKind::Memory, &value);
        assert_eq!(
            message,
            "the stored memory cannot be read: it is not a JSON object"
        );
    }
}

#[test]
fn a_call_that_has_not_ended_has_no_end() {
    let mut value = ledger();
    value["endedAt"] = json!("1970-01-01T00:00:00Z");
    assert!(why(RecordKind::Ledger, &value).contains("endedAt: is set for a call"));
}

#[test]
fn unknown_fields_are_ignored() {
    let mut value = message();
    value["later"] = json!({ "release": true });
    value["media"][0]["later"] = json!(1);
    assert!(Record::from_value(RecordKind::Message, &value, &resolver()).is_ok());
}

#[test]
fn a_record_that_could_not_be_read_back_is_not_written() {
    let entry = |args: Value| {
        let turn_id = "t".into();
        Record::from(Arc::new(TurnRecord::begin(
            turn_id,
            vec![("a".to_owned(), args)],
        )))
    };
    let deep = (0..129).fold(json!(1), |inner, _| json!([inner]));
    let reserved = json!({ "$serde_json::private::Number": "1" });
    for (value, why) in [
        (deep, "has 130 levels: at most 129 are allowed"),
        (
            reserved,
            "has a key that begins with `$serde_json::private::`",
        ),
    ] {
        let error = entry(value).to_value().unwrap_err();
        assert_eq!(error.code(), ErrorCode::STORE_ERROR);
        let expected = format!("the turn cannot be stored: stash: {why}");
        assert!(error.message().starts_with(&expected), "{error}");
    }
}

#[test]
fn a_trust_tier_cannot_be_raised_by_what_was_derived() {
    let mut value = message();
    value["media"][0]["descriptor"]["stash"] =
        json!({ "caption": { "text": "t", "trustTier": "first-party" } });
    let Record::Message(read) =
        Record::from_value(RecordKind::Message, &value, &resolver()).unwrap()
    else {
        panic!()
    };
    let derived = read.media()[0].derived("caption").unwrap();
    assert_eq!(derived.trust_tier, TrustTier::ThirdPartyPublic);
}

/// The names in a stash come from tools.
#[test]
fn an_error_does_not_show_the_names_in_a_stash() {
    let mut value = message();
    value["media"][0]["descriptor"]["stash"] =
        json!({ "secret": { "text": 1, "trustTier": "first-party" } });
    let message = why(RecordKind::Message, &value);
    assert!(
        message.ends_with("media[0].descriptor.stash: expected a string"),
        "{message}"
    );
}

/// serde quotes what it found, which may look like what it expected.
#[test]
fn an_error_does_not_show_text_that_looks_like_an_error() {
    let text = json!("missing field `secret`, expected secret");
    for pointer in [
        "/createdAt",
        "/author",
        "/author/agent/trustTier",
        "/media",
        "/media/0/descriptor/kind",
        "/v",
    ] {
        let mut value = message();
        *value.pointer_mut(pointer).unwrap() = text.clone();
        why(RecordKind::Message, &value);
    }
}
