use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{again, resolver, time};
use crate::artifact::{ArtifactKind, SpooledArtifact};
use crate::checksum::checksum;
use crate::media::{Media, MediaKind};
use crate::record::{
    ConversationInfo, Coverage, Message, ProviderState, Record, RecordKind, RecordRef, ResponseRef,
    Retrievable, Thought, ToolCall, ToolResults,
};
use crate::spool::MemoryReader;
use crate::tool::Tool;
use crate::tool::context::DispatchContext;
use crate::trust::TrustTier;

fn at(nanos: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos)
}

#[test]
fn the_format_of_version_1_is_exact() {
    let chart = MemoryReader::new("…");
    let chart = Media::tool_generated(MediaKind::Image, "image/png", "c.png", chart).id("c");
    let message = Message::agent("helper", "Look!")
        .id("m")
        .tier(TrustTier::FirstParty)
        .created_at(at(1))
        .media(chart.build().unwrap())
        .provider_state(ProviderState::new("p", "", vec![0xff]))
        .build()
        .unwrap();
    assert_eq!(
        Record::from(message).to_value().unwrap(),
        json!({
            "v": 1, "kind": "message", "id": "m",
            "createdAt": "1970-01-01T00:00:00.000000001Z",
            "updatedAt": "1970-01-01T00:00:00.000000001Z",
            "author": { "agent": { "name": "helper", "trustTier": "first-party" } },
            "text": "Look!",
            "media": [{
                "descriptor": {
                    "id": "c", "kind": "image", "mimeType": "image/png", "filename": "c.png",
                    "trustTier": "first-party", "modalityHazard": "opaque-perceptual",
                },
                "bytes": 3,
            }],
            "providerState": { "protocol": "p", "state": { "base64": "/w==" } },
        })
    );
    let named = Message::user("Hi").id("m").created_at(at(0)).name("Ada");
    assert_eq!(
        Record::from(named.build().unwrap()).to_value().unwrap(),
        json!({
            "v": 1, "kind": "message", "id": "m",
            "createdAt": "1970-01-01T00:00:00.000000000Z",
            "updatedAt": "1970-01-01T00:00:00.000000000Z",
            "author": "user", "name": "Ada", "text": "Hi",
        })
    );
    let stored = Arc::new(MemoryReader::new("12345"));
    let call = ToolCall::builder("t", json!({ "n": 1.0 }))
        .id("call")
        .provider_id("p-1")
        .response(ResponseRef::with_id("r-1").cut("it broke"))
        .provider_state(ProviderState::new("p", "http://here", "{}"))
        .edited_args(json!([7]))
        .created_at(at(0))
        .updated_at(at(2_000_000_000))
        .results(ToolResults::Artifacts(vec![
            SpooledArtifact::spooled("call", stored, ArtifactKind::JSON),
            SpooledArtifact::in_memory("text", ArtifactKind::TEXT),
        ]))
        .build()
        .unwrap();
    assert_eq!(
        Record::from(call).to_value().unwrap(),
        json!({
            "v": 1, "kind": "tool_call", "id": "call",
            "createdAt": "1970-01-01T00:00:00.000000000Z",
            "updatedAt": "1970-01-01T00:00:02.000000000Z",
            "completedAt": "1970-01-01T00:00:02.000000000Z",
            "providerId": "p-1",
            "tool": "t",
            "args": { "json": "{\"n\":1.0}" },
            "checksum": checksum("t", json!({ "n": 1 })),
            "settled": {
                "results": { "artifacts": [
                    { "kind": "json", "bytes": 5, "spool": "call" },
                    { "kind": "text", "bytes": 4, "content": { "text": "text" } },
                ] },
                "editedArgs": "[7]",
            },
            "response": { "id": "r-1", "cut": "it broke" },
            "providerState": { "protocol": "p", "address": "http://here", "state": { "text": "{}" } },
        })
    );
    let thought = Thought::new("hm").id("t").created_at(at(0));
    let thought = thought.response(ResponseRef::with_id("r-1"));
    assert_eq!(
        Record::from(thought.build().unwrap()).to_value().unwrap(),
        json!({
            "v": 1, "kind": "thought", "id": "t",
            "createdAt": "1970-01-01T00:00:00.000000000Z",
            "updatedAt": "1970-01-01T00:00:00.000000000Z",
            "text": "hm", "response": { "id": "r-1" },
        })
    );
    let found = Retrievable::text("p", TrustTier::ThirdPartyPublic)
        .source("s")
        .id("r");
    let found = found.created_at(at(0)).build().unwrap();
    assert_eq!(
        Record::from(found).to_value().unwrap(),
        json!({
            "v": 1, "kind": "retrievable", "id": "r",
            "createdAt": "1970-01-01T00:00:00.000000000Z",
            "updatedAt": "1970-01-01T00:00:00.000000000Z",
            "content": { "text": "p" }, "trustTier": "third-party-public", "source": "s", "inline": true,
        })
    );
}

#[test]
fn a_summary_has_this_shape() {
    let record = |kind, id: &str| RecordRef {
        kind,
        id: id.into(),
    };
    let covers = Coverage {
        turn_id: "t-1".into(),
        model: Some("small".into()),
        exchanges: 2,
        summarised: 5,
        omitted: 1,
        first: record(RecordKind::Message, "m-1"),
        last: record(RecordKind::ToolCall, "c-9"),
        next: Some(record(RecordKind::Thought, "h-1")),
        opening: Some("m-3".into()),
    };
    let found = Retrievable::summary("p", TrustTier::ThirdPartyPublic, covers.clone());
    let found = found.id("r").created_at(at(0)).build().unwrap();
    let record = Record::from(found);
    let value = json!({
        "v": 1, "kind": "retrievable", "id": "r",
        "createdAt": "1970-01-01T00:00:00.000000000Z",
        "updatedAt": "1970-01-01T00:00:00.000000000Z",
        "content": { "text": "p" }, "trustTier": "third-party-public", "inline": true,
        "covers": {
            "turnId": "t-1", "model": "small", "exchanges": 2, "summarised": 5, "omitted": 1,
            "first": { "kind": "message", "id": "m-1" },
            "last": { "kind": "tool_call", "id": "c-9" },
            "next": { "kind": "thought", "id": "h-1" },
            "opening": "m-3",
        },
    });
    assert_eq!(record.to_value().unwrap(), value);
    let read = |value: &Value| Record::from_value(RecordKind::Retrievable, value, &resolver());
    let Ok(Record::Retrievable(read_back)) = read(&value) else {
        panic!()
    };
    assert_eq!(read_back.covers(), Some(&covers));

    let mut bad = value;
    bad["covers"]["last"]["id"] = json!("");
    let error = read(&bad).unwrap_err();
    assert!(
        error
            .message()
            .contains("covers.last.id: must not be empty"),
        "{error}"
    );
}

#[test]
fn a_conversation_info_has_this_shape() {
    let info = ConversationInfo::default()
        .title("Trip to Rome")
        .owner("ada")
        .label("b", "2")
        .label("a", "")
        .data("model", json!({ "n": 1.0 }));
    assert_eq!(
        Record::from(info.build().unwrap()).to_json().unwrap(),
        r#"{"v":1,"kind":"conversation_info","id":"info","title":"Trip to Rome","owner":"ada","labels":{"a":"","b":"2"},"data":"{\"model\":{\"n\":1.0}}"}"#
    );
    let empty = ConversationInfo::default().build().unwrap();
    assert_eq!(
        Record::from(empty).to_json().unwrap(),
        r#"{"v":1,"kind":"conversation_info","id":"info"}"#
    );
}

#[test]
fn times_are_rfc_3339_text() {
    let day = |days: i64| {
        if days < 0 {
            SystemTime::UNIX_EPOCH - Duration::from_secs(days.unsigned_abs() * 86_400)
        } else {
            SystemTime::UNIX_EPOCH + Duration::from_secs(days.unsigned_abs() * 86_400)
        }
    };
    for (days, date) in [
        (0, "1970-01-01"),
        (59, "1970-03-01"),
        (11_016, "2000-02-29"),
        (19_782, "2024-02-29"),
        (47_540, "2100-02-28"),
        (47_541, "2100-03-01"),
        (-1, "1969-12-31"),
        (-719_468, "0000-03-01"),
        (2_932_894, "9999-12-29"),
        (-719_529, "-000001-12-31"),
    ] {
        let text = format!("{date}T00:00:00.000000000Z");
        assert_eq!(time::format(day(days)), text);
        assert_eq!(time::parse(&text), Some(day(days)));
    }
    let before = SystemTime::UNIX_EPOCH - Duration::from_nanos(1);
    assert_eq!(time::format(before), "1969-12-31T23:59:59.999999999Z");
    for (text, nanos) in [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.5Z", 500_000_000),
    ] {
        assert_eq!(time::parse(text), Some(at(nanos)));
    }
}

#[test]
fn a_time_outside_of_the_range_becomes_the_end_of_the_range() {
    let (first, last) = (
        "-009999-01-02T01:59:59.000000000Z",
        "9999-12-30T22:00:00.999999999Z",
    );
    let beyond = Duration::from_secs(1 << 60);
    for (time, end) in [
        (SystemTime::UNIX_EPOCH + beyond, last),
        (SystemTime::UNIX_EPOCH - beyond, first),
    ] {
        assert_eq!(time::format(time), end);
    }
}

#[test]
fn invalid_times_are_rejected() {
    for text in [
        "",
        "Z",
        "T",
        "TZ",
        "1970-01-01",
        "1970-01-01T00:00:00",
        "1970-02-29T00:00:00Z",
        "1970-13-01T00:00:00Z",
        "1970-00-01T00:00:00Z",
        "1970-01-00T00:00:00Z",
        "1970-01-32T00:00:00Z",
        "1970-1-1T00:00:00Z",
        "1970-01-01T24:00:00Z",
        "1970-01-01T00:60:00Z",
        "1970-01-01T00:00:00:00Z",
        "1970-01-01T00:00:00.Z",
        "1970-01-01T00:00:00.0000000000Z",
        "1970-01-01T00:00:00.-1Z",
        "+010000-02-30T00:00:00Z",
        "99999999999999999999-01-01T00:00:00Z",
        "é-01-01T00:00:00Z",
    ] {
        assert_eq!(time::parse(text), None, "{text}");
    }
}

#[test]
fn text_arguments_stay_text() {
    for text in ["", "{", "{\"a\" : 1.0 , \"a\":2}", "null", "\u{0}"] {
        let call = ToolCall::builder("t", text).build().unwrap();
        let Record::ToolCall(read) = again(&call.into(), &resolver()).unwrap() else {
            panic!()
        };
        assert_eq!(read.args().text(), Some(text));
        assert_eq!(read.checksum(), checksum("t", text));
    }
}

#[test]
fn a_value_of_128_levels_survives_a_parser_with_a_limit_of_127() {
    let nested = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!([inner]));
    let call = ToolCall::builder("t", nested(128));
    let call = call.edited_args(nested(128)).build().unwrap();
    let Record::ToolCall(read) = again(&call.into(), &resolver()).unwrap() else {
        panic!()
    };
    assert_eq!(read.args().to_value(), nested(128));
    assert_eq!(read.edited_args(), Some(&nested(128)));
}

#[test]
fn a_value_that_is_too_deep_to_run_is_stored_as_text() {
    let deep = (0..129).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    let call = ToolCall::builder("t", deep).build().unwrap();
    let Record::ToolCall(read) = again(&Arc::clone(&call).into(), &resolver()).unwrap() else {
        panic!()
    };
    assert_eq!(read.args().to_value(), call.args().to_value());
    assert_eq!(read.checksum(), call.checksum());
}

#[tokio::test]
async fn every_record_of_the_call_path_can_be_loaded() {
    let tool = Tool::dynamic("echo", json!({ "type": "object" }))
        .description("Says it again.")
        .handler(|args: Value, _| async move { args.to_string() })
        .build()
        .unwrap();
    let ctx = DispatchContext::standalone();
    let huge = format!("\"{}\"", "x".repeat(2_000_000));
    let cases: [crate::schema::RawArgs; 5] = [
        "{\"a\":1}".into(),
        "no json".into(),
        huge.as_str().into(),
        json!({ "a": [1.5, u64::MAX] }).into(),
        (0..200).fold(json!(1), |inner, _| json!([inner])).into(),
    ];
    for args in cases {
        let call = tool.call_and_record(&ctx, args).await;
        let Record::ToolCall(read) = again(&Arc::clone(&call).into(), &resolver()).unwrap() else {
            panic!()
        };
        assert_eq!((read.id(), read.checksum()), (call.id(), call.checksum()));
        assert_eq!(read.args().to_value(), call.args().to_value());
        assert_eq!(read.text().await, call.text().await);
        assert_eq!(read.completed_at(), call.completed_at());
    }
    // A model may propose a tool without a name. Its record is valid.
    let nameless = ToolCall::builder("x", "{}").id("n").build().unwrap();
    let mut value = Record::from(nameless).to_value().unwrap();
    value["tool"] = json!("");
    Record::from_value(RecordKind::ToolCall, &value, &resolver()).unwrap();
}
