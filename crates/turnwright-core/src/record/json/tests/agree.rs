//! Text and value decode to the same record.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{random, resolver};
use crate::error::{ErrorCode, ErrorKind};
use crate::record::{Memory, Message, Record, RecordKind};

/// The result of decoding: the record as it is written again, or the error.
fn outcome(read: Result<Record, crate::error::Error>) -> Result<Value, String> {
    match read {
        Ok(record) => Ok(record.to_value().unwrap()),
        Err(error) => {
            let sort = (error.code(), error.kind());
            assert_eq!(sort, (ErrorCode::STORE_ERROR, ErrorKind::Internal));
            Err(error.message().to_owned())
        }
    }
}

fn by_text(kind: RecordKind, text: &str) -> Result<Value, String> {
    outcome(Record::from_json(kind, text, &resolver()))
}

fn by_value(kind: RecordKind, value: &Value) -> Result<Value, String> {
    outcome(Record::from_value(kind, value, &resolver()))
}

fn memory() -> Record {
    Memory::new("words").id("m").build().unwrap().into()
}

proptest! {

    #[test]
    fn a_record_is_the_same_by_text_and_by_value(record in random::record()) {
        let (text, value) = (record.to_json().unwrap(), record.to_value().unwrap());
        prop_assert_eq!(&text, &value.to_string());
        let read = by_text(record.kind(), &text);
        prop_assert_eq!(&read, &by_value(record.kind(), &value));
        prop_assert_eq!(read, Ok(value));
    }

    #[test]
    fn changed_records_are_accepted_or_rejected_alike(
        record in random::record(),
        place in any::<prop::sample::Index>(),
        instead in random::value(),
        pretty in any::<bool>(),
    ) {
        let mut value = record.to_value().unwrap();
        let all = super::hostile::places(&value);
        let place: &String = place.get(&all);
        *value.pointer_mut(place).unwrap() = instead;
        let text = if pretty { serde_json::to_string_pretty(&value).unwrap() } else { value.to_string() };
        prop_assert_eq!(by_text(record.kind(), &text), by_value(record.kind(), &value));
    }

    #[test]
    fn truncated_or_damaged_text_is_read_like_its_value_or_rejected(
        record in random::record(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<bool>(),
    ) {
        let mut bytes = record.to_json().unwrap().into_bytes();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        let text = String::from_utf8_lossy(&bytes);
        let read = by_text(record.kind(), &text);
        match serde_json::from_str(&text) {
            Ok(value) => prop_assert_eq!(read, by_value(record.kind(), &value)),
            Err(_) => {
                let expected = format!("the stored {} cannot be read: it is not JSON text", record.kind());
                prop_assert_eq!(read, Err(expected));
            }
        }
    }

    #[test]
    fn arbitrary_text_is_rejected(text in any::<String>()) {
        for kind in RecordKind::ALL {
            prop_assert!(by_text(*kind, &text).is_err());
        }
    }
}

#[test]
fn the_last_of_repeated_fields_counts() {
    let text = memory().to_json().unwrap();
    let twice = text.replacen('{', r#"{"text":7,"id":"other","v":9,"#, 1);
    assert_eq!(
        by_text(RecordKind::Memory, &twice),
        by_text(RecordKind::Memory, &text)
    );
    let wrong = text.replace('}', r#","text":7}"#);
    let expected = "the stored memory \"m\" cannot be read: text: expected a string";
    assert_eq!(
        by_text(RecordKind::Memory, &wrong),
        Err(expected.to_owned())
    );
    let nothing = text.replace('}', r#","text":null}"#);
    let expected = "the stored memory \"m\" cannot be read: text: is missing";
    assert_eq!(
        by_text(RecordKind::Memory, &nothing),
        Err(expected.to_owned())
    );
}

#[test]
fn escaped_field_names_are_decoded() {
    let text = memory().to_json().unwrap();
    let escaped = text.replace("\"text\"", r#""t\u0065xt""#);
    assert_ne!(escaped, text);
    assert_eq!(
        by_text(RecordKind::Memory, &escaped),
        by_text(RecordKind::Memory, &text)
    );
}

/// However deep it is: neither way is recursive on what it skips.
#[test]
fn unknown_fields_may_be_of_any_depth() {
    let text = memory().to_json().unwrap();
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        for levels in [15, 16, 17, 127, 128, 200_000] {
            let deep = format!("{}1{}", open.repeat(levels), close.repeat(levels));
            let with = text.replacen(r#","id""#, &format!(r#","later":{deep},"id""#), 1);
            assert_eq!(
                by_text(RecordKind::Memory, &with),
                by_text(RecordKind::Memory, &text),
                "{levels}"
            );
            // Skipped, but it must be JSON.
            let broken = with.replacen(close, "", 1);
            assert!(by_text(RecordKind::Memory, &broken).is_err());
        }
    }
    let mut value = memory().to_value().unwrap();
    let before = by_value(RecordKind::Memory, &value);
    value["later"] = (0..200_000).fold(json!(1), |inner, _| Value::Array(vec![inner]));
    assert_eq!(by_value(RecordKind::Memory, &value), before);
    // Dropping a value of such depth needs care too.
    let mut left = vec![value["later"].take()];
    while let Some(next) = left.pop() {
        if let Value::Array(items) = next {
            left.extend(items);
        }
    }
}

#[test]
fn known_fields_that_are_too_deep_are_rejected_alike() {
    let message = Message::agent("a", "words").id("m").build().unwrap();
    let mut value = Record::from(message).to_value().unwrap();
    let deep = (0..40).fold(json!("x"), |inner, _| json!([inner]));
    for pointer in ["/text", "/author", "/author/agent/name", "/id", "/v"] {
        let mut changed = value.clone();
        *changed.pointer_mut(pointer).unwrap() = deep.clone();
        let expected = by_value(RecordKind::Message, &changed);
        assert!(expected.is_err());
        assert_eq!(by_text(RecordKind::Message, &changed.to_string()), expected);
    }
    value["media"] = json!([{ "descriptor": {
        "id": "c", "kind": "image", "mimeType": "image/png", "filename": "c.png",
        "trustTier": "first-party", "modalityHazard": "inert", "source": deep,
    }}]);
    let expected = by_value(RecordKind::Message, &value).unwrap_err();
    assert!(
        expected.contains("media[0].descriptor.source: expected a string"),
        "{expected}"
    );
    assert_eq!(
        by_text(RecordKind::Message, &value.to_string()),
        Err(expected)
    );
}

#[test]
fn trailing_text_is_rejected() {
    let text = memory().to_json().unwrap();
    for more in ["x", "{}", "\u{feff}", "null"] {
        assert!(by_text(RecordKind::Memory, &format!("{text}{more}")).is_err());
    }
    assert!(by_text(RecordKind::Memory, &format!(" {text}\n")).is_ok());
}
