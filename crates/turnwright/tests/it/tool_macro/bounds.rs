//! Bounds in attributes: enforced if possible, rejected otherwise.

use std::num::NonZeroU8;

use serde_json::{Value, json};
use turnwright::{Error, Tool, tool};

use super::call;

/// Plans a trip.
#[tool]
async fn plan(
    #[arg(default = 3, min = 1, max = 14)] days: u8,
    #[arg(default = "x", min_length = 1, pattern = "^[a-z]+$")] code: &str,
    #[arg(default = [], max_items = 2)] stops: &[String],
) -> String {
    format!("{days} {code} {}", stops.len())
}

#[tokio::test]
async fn each_violated_bound_is_a_fault_at_its_pointer() {
    let tool = plan().unwrap();
    let error = call(
        &tool,
        json!({"days": 15, "code": "A1", "stops": ["a", "b", "c"]}),
    )
    .await
    .unwrap_err();
    assert_eq!(error.code().as_str(), "E_INVALID_TOOL_ARGS");
    let faults: Vec<_> = error
        .faults()
        .iter()
        .map(|fault| (fault.pointer.as_str(), fault.rule.as_str()))
        .collect();
    assert_eq!(
        faults,
        [
            ("/days", "maximum"),
            ("/code", "pattern"),
            ("/stops", "maxItems")
        ]
    );
}

/// Bounds that are wider than the types.
#[tool]
async fn wide(
    #[arg(min = -5, max = 300)] byte: u8,
    #[arg(min = 0)] positive: NonZeroU8,
    #[arg(max_length = 10)] letter: char,
    #[arg(max_items = 10)] pair: [u8; 2],
) -> String {
    format!("{byte}{positive}{letter}{pair:?}")
}

#[tokio::test]
async fn bounds_never_widen_the_type() {
    let tool = wide().unwrap();
    let good = json!({"byte": 255, "positive": 1, "letter": "é", "pair": [1, 2]});
    assert_eq!(call(&tool, good.clone()).await.unwrap(), "2551é[1, 2]");
    let broken = [
        ("byte", json!(-1)),
        ("byte", json!(256)),
        ("positive", json!(0)),
        ("letter", json!("ab")),
        ("pair", json!([1, 2, 3])),
    ];
    for (field, value) in broken {
        let mut arguments = good.clone();
        arguments[field] = value;
        let error = tool.probe(&arguments).unwrap_err();
        assert_eq!(error.code().as_str(), "E_INVALID_TOOL_ARGS", "{arguments}");
        assert_eq!(error.faults()[0].pointer, format!("/{field}"));
    }
}

mod behind_a_name {
    use schemars::JsonSchema;
    use serde::Deserialize;

    use super::*;

    type Text = String;
    type Count = u32;
    type Flag = bool;

    #[derive(Debug, Deserialize, JsonSchema)]
    enum Units {
        Metric,
        Imperial,
    }

    #[derive(Debug, Deserialize, JsonSchema)]
    struct Days(u8);

    /// A minimum on text.
    #[tool]
    async fn minimum_on_text(#[arg(min = 1)] city: Text) -> String {
        city
    }

    /// A length on a number.
    #[tool]
    async fn length_on_a_number(#[arg(min_length = 1)] city: Count) -> String {
        city.to_string()
    }

    /// A format on a number.
    #[tool]
    async fn format_on_a_number(#[arg(format = "email")] city: Count) -> String {
        city.to_string()
    }

    /// Items of a boolean.
    #[tool]
    async fn items_of_a_flag(#[arg(max_items = 3)] city: Option<Flag>) -> String {
        format!("{city:?}")
    }

    /// A minimum on words.
    #[tool]
    async fn minimum_on_words(#[arg(min = 1)] city: Option<Units>) -> String {
        format!("{city:?}")
    }

    /// A format on a newtype.
    #[tool]
    async fn format_on_a_newtype(#[arg(format = "email")] city: Days) -> String {
        format!("{city:?}")
    }

    /// Bounds that do apply.
    #[tool]
    async fn apply(
        #[arg(min = 2)] days: Days,
        #[arg(min_length = 7)] units: Option<Units>,
        #[arg(max = 5)] any: Value,
    ) -> String {
        format!("{} {units:?} {any}", days.0)
    }

    #[test]
    fn applicable_bounds_are_enforced() {
        let tool = apply().unwrap();
        for good in [
            json!({"days": 2, "any": 5}),
            json!({"days": 2, "units": "Imperial", "any": "text"}),
        ] {
            assert!(tool.probe(&good).is_ok(), "{good}");
        }
        for (field, broken) in [
            ("/days", json!({"days": 1, "any": 5})),
            ("/units", json!({"days": 2, "units": "Metric", "any": 5})),
            ("/any", json!({"days": 2, "any": 6})),
        ] {
            let error = tool.probe(&broken).unwrap_err();
            assert_eq!(error.faults()[0].pointer, field);
        }
    }

    #[test]
    fn inapplicable_bounds_fail_in_build() {
        for build in [
            minimum_on_words,
            format_on_a_newtype,
            minimum_on_text,
            length_on_a_number,
            format_on_a_number,
            items_of_a_flag,
        ] {
            let error = build().unwrap_err();
            let message = format!("{error} {:?}", error.problems());
            assert!(message.contains("city"), "{message}");
        }
    }
}

/// A default out of its bounds.
#[tool]
async fn default_out_of_bounds(#[arg(default = 20, max = 14)] days: u8) -> String {
    days.to_string()
}

/// A format that is not enforced.
#[tool]
async fn unknown_format(#[arg(format = "phone")] number: &str) -> String {
    number.to_owned()
}

/// A pattern that does not run in linear time.
#[tool]
async fn look_ahead(#[arg(pattern = "(?=a)b")] word: &str) -> String {
    word.to_owned()
}

const NOTHING: Value = Value::Null;

/// A bound that is not a number.
#[tool]
async fn bound_without_a_number(#[arg(min = NOTHING)] days: u8) -> String {
    days.to_string()
}

#[test]
fn unenforceable_bounds_fail_in_build_with_their_pointer() {
    for (build, place) in [
        (default_out_of_bounds as fn() -> Result<Tool, Error>, "days"),
        (unknown_format, "number"),
        (look_ahead, "word"),
        (bound_without_a_number, "days"),
    ] {
        let error = build().unwrap_err();
        let message = format!("{error} {:?}", error.problems());
        assert!(message.contains(place), "{message}");
    }
}
