//! What a function may return, and what a model reads of it.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;
use turnwright::artifact::ArtifactKind;
use turnwright::{BoxError, DispatchContext, Error, ErrorKind, Tool, tool};
use turnwright::{ToolError, ToolOutput};

use super::call;

#[derive(Serialize)]
struct Weather {
    city: &'static str,
    celsius: i8,
}

const OSLO: Weather = Weather {
    city: "Oslo",
    celsius: -3,
};

/// A number.
#[tool]
async fn number() -> u64 {
    7
}

/// A float.
#[tool]
async fn float() -> f64 {
    0.5
}

/// A boolean.
#[tool]
async fn boolean() -> bool {
    true
}

/// Some text, or none.
#[tool]
async fn optional(there: bool) -> Option<String> {
    there.then(|| "null".to_owned())
}

/// Nothing.
#[tool]
async fn nothing() {}

/// Empty text.
#[tool]
async fn empty() -> &'static str {
    ""
}

/// A list of text.
#[tool]
async fn texts() -> Vec<String> {
    vec!["a".to_owned(), "b".to_owned()]
}

/// Bytes.
#[tool]
async fn bytes() -> Vec<u8> {
    vec![0, 255]
}

/// A type of the author's.
#[tool]
async fn weather() -> Weather {
    OSLO
}

/// A list of them.
#[tool]
async fn weathers() -> Vec<Weather> {
    vec![OSLO]
}

/// One of them, or none.
#[tool]
async fn maybe_weather(there: bool) -> Option<Weather> {
    there.then_some(OSLO)
}

/// A map.
#[tool]
async fn map() -> BTreeMap<&'static str, u8> {
    BTreeMap::from([("a", 1)])
}

/// A tuple.
#[tool]
async fn tuple() -> (u8, &'static str) {
    (1, "a")
}

/// JSON.
#[tool]
async fn value() -> serde_json::Value {
    json!({"a": null})
}

async fn output(tool: Result<Tool, Error>, args: serde_json::Value) -> Result<ToolOutput, Error> {
    let ctx = DispatchContext::standalone();
    tool?.call(&ctx, args).await
}

#[tokio::test]
async fn plain_values_and_own_types_are_json() {
    let cases = [
        (number(), json!({}), "7"),
        (float(), json!({}), "0.5"),
        (boolean(), json!({}), "true"),
        (texts(), json!({}), r#"["a","b"]"#),
        (weather(), json!({}), r#"{"city":"Oslo","celsius":-3}"#),
        (weathers(), json!({}), r#"[{"city":"Oslo","celsius":-3}]"#),
        (
            maybe_weather(),
            json!({"there": true}),
            r#"{"city":"Oslo","celsius":-3}"#,
        ),
        (maybe_weather(), json!({"there": false}), "null"),
        (map(), json!({}), r#"{"a":1}"#),
        (tuple(), json!({}), r#"[1,"a"]"#),
        (value(), json!({}), r#"{"a":null}"#),
    ];
    for (tool, args, expected) in cases {
        let output = output(tool, args).await.unwrap();
        assert_eq!(output.as_text(), Some(expected));
        assert_eq!(output.kind, Some(ArtifactKind::JSON), "{expected}");
    }
    assert_eq!(
        output(bytes(), json!({})).await.unwrap().as_bytes(),
        Some(&[0, 255][..])
    );
}

#[tokio::test]
async fn nothing_none_and_empty_text_are_told_apart() {
    let text = output(optional(), json!({"there": true})).await.unwrap();
    assert_eq!((text.as_text(), text.kind), (Some("null"), None));
    let none = output(optional(), json!({"there": false})).await.unwrap();
    assert_eq!(
        (none.as_text(), none.kind),
        (Some("null"), Some(ArtifactKind::JSON))
    );
    assert_eq!(
        output(empty(), json!({})).await.unwrap().as_text(),
        Some("")
    );
    assert_eq!(
        output(nothing(), json!({})).await.unwrap().as_text(),
        Some("Done. The tool has no output.")
    );
}

/// Parses a number.
#[tool]
async fn parse(text: &str) -> Result<i64, std::num::ParseIntError> {
    text.parse()
}

/// Looks up the weather.
#[tool]
async fn look_up(city: &str) -> Result<Weather, ToolError> {
    match city {
        "Oslo" => Ok(OSLO),
        _ => {
            Err(ToolError::not_found(format!("no row {city}")).for_model("There is no such city."))
        }
    }
}

/// Fails with a boxed error, as `anyhow::Error` would.
#[tool]
async fn boxed() -> Result<Weather, BoxError> {
    Err("db-7.internal refused the connection".into())
}

/// Fails with an error of the framework, which has a text for the model.
#[tool]
async fn framework() -> Result<String, Error> {
    let code = turnwright::ErrorCode::TURN_HELD;
    Err(Error::new(code, "the conversation `c-7` is in use"))
}

/// A result in an option.
#[tool]
async fn maybe_fails() -> Result<Option<Weather>, std::io::Error> {
    Ok(None)
}

#[tokio::test]
async fn any_error_can_be_returned_and_its_text_is_for_operators() {
    assert_eq!(
        call(&parse().unwrap(), json!({"text": "7"})).await.unwrap(),
        "7"
    );
    let error = call(&parse().unwrap(), json!({"text": "seven"}))
        .await
        .unwrap_err();
    assert!(error.message().contains("invalid digit"));
    assert!(!error.model_text().contains("digit"));

    let error = call(&boxed().unwrap(), json!({})).await.unwrap_err();
    assert!(error.message().contains("db-7.internal"));
    assert_eq!(
        error.model_text(),
        "The tool failed. Nothing more is known."
    );
    assert_eq!(error.kind(), ErrorKind::Internal);

    let error = call(&framework().unwrap(), json!({})).await.unwrap_err();
    assert_eq!(
        error.model_text(),
        "The conversation is in use. Try again later."
    );

    let error = call(&look_up().unwrap(), json!({"city": "Ys"}))
        .await
        .unwrap_err();
    assert_eq!(error.model_text(), "There is no such city.");
    let weather = call(&look_up().unwrap(), json!({"city": "Oslo"})).await;
    assert_eq!(weather.unwrap(), r#"{"city":"Oslo","celsius":-3}"#);
    assert_eq!(
        call(&maybe_fails().unwrap(), json!({})).await.unwrap(),
        "null"
    );
}
