use proptest::prelude::*;
use serde_json::Value;

use super::{random, resolver};
use crate::error::ErrorCode;
use crate::record::{Record, RecordKind};

/// Everything in a value, by its pointer.
pub(super) fn places(value: &Value) -> Vec<String> {
    let mut all = Vec::new();
    let mut left = vec![(String::new(), value)];
    while let Some((at, value)) = left.pop() {
        match value {
            Value::Object(map) => left.extend(map.iter().map(|(key, value)| {
                let key = key.replace('~', "~0").replace('/', "~1");
                (format!("{at}/{key}"), value)
            })),
            Value::Array(items) => {
                left.extend(
                    (0..)
                        .zip(items)
                        .map(|(n, item): (usize, _)| (format!("{at}/{n}"), item)),
                );
            }
            _ => {}
        }
        all.push(at);
    }
    all
}

proptest! {
    #[test]
    fn a_record_with_any_change_is_accepted_or_rejected(
        record in random::record(),
        place in any::<prop::sample::Index>(),
        instead in random::value(),
    ) {
        let mut value = record.to_value().unwrap();
        let all = places(&value);
        let place: &String = place.get(&all);
        *value.pointer_mut(place).unwrap() = instead;
        // What is accepted can be written again.
        match Record::from_value(record.kind(), &value, &resolver()) {
            Ok(read) => drop(read.to_value().unwrap()),
            Err(error) => prop_assert_eq!(error.code(), ErrorCode::STORE_ERROR),
        }
    }

    #[test]
    fn any_value_is_accepted_or_rejected(value in random::value()) {
        for kind in RecordKind::ALL {
            prop_assert!(Record::from_value(*kind, &value, &resolver()).is_err());
        }
    }
}
