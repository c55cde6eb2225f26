use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::*;

async fn read<T: Typed>(text: &str) -> Result<T, Error> {
    let value = AnswerFormat::of::<T>()?.check(text).await?;
    Ok(serde_json::from_value(value).expect("the type takes what its schema accepts"))
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Point {
    x: i32,
    y: i32,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mood {
    Good,
    Bad,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
enum Shape {
    Dot,
    Circle(Point, u8),
    Box { width: u8 },
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(tag = "kind")]
enum Tagged {
    One { n: u8 },
    Two { value: u8 },
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Tree {
    children: Vec<Tree>,
}

#[derive(Debug, PartialEq, Deserialize, JsonSchema)]
struct Names(Vec<String>);

#[tokio::test]
async fn every_type_is_read_from_json_that_matches_its_schema() {
    let point = || Point { x: 1, y: 2 };
    assert_eq!(
        read::<Vec<u8>>(r#"{"value": [1, 2]}"#).await.unwrap(),
        [1, 2]
    );
    assert_eq!(
        read::<Vec<Point>>(r#"{"value": [{"x": 1, "y": 2}]}"#)
            .await
            .unwrap(),
        [point()]
    );
    assert_eq!(
        read::<Mood>(r#"{"value": "bad"}"#).await.unwrap(),
        Mood::Bad
    );
    assert_eq!(
        read::<Shape>(r#"{"value": "Dot"}"#).await.unwrap(),
        Shape::Dot
    );
    let circle = r#"{"value": {"Circle": [{"x": 1, "y": 2}, 3]}}"#;
    assert_eq!(
        read::<Shape>(circle).await.unwrap(),
        Shape::Circle(point(), 3)
    );
    let boxed = r#"{"value": {"Box": {"width": 4}}}"#;
    assert_eq!(read::<Shape>(boxed).await.unwrap(), Shape::Box { width: 4 });
    let tagged = r#"{"value": {"kind": "Two", "value": 2}}"#;
    assert_eq!(
        read::<Tagged>(tagged).await.unwrap(),
        Tagged::Two { value: 2 }
    );
    assert_eq!(read::<String>(r#"{"value": "a"}"#).await.unwrap(), "a");
    assert_eq!(read::<i64>(r#"{"value": -7}"#).await.unwrap(), -7);
    assert_eq!(read::<f64>(r#"{"value": 0.5}"#).await.unwrap(), 0.5);
    assert!(read::<bool>(r#"{"value": true}"#).await.unwrap());
    assert_eq!(
        read::<(u8, String)>(r#"{"value": [1, "a"]}"#)
            .await
            .unwrap(),
        (1, "a".to_owned())
    );
    assert_eq!(
        read::<Option<u8>>(r#"{"value": 1}"#).await.unwrap(),
        Some(1)
    );
    assert_eq!(
        read::<Option<u8>>(r#"{"value": null}"#).await.unwrap(),
        None
    );
    assert_eq!(
        read::<Option<Point>>(r#"{"value": {"x": 1, "y": 2}}"#)
            .await
            .unwrap(),
        Some(point())
    );
    assert_eq!(
        read::<Names>(r#"{"value": ["a"]}"#).await.unwrap(),
        Names(vec!["a".to_owned()])
    );
    assert_eq!(
        read::<Value>(r#"{"value": {"any": [1]}}"#).await.unwrap(),
        json!({ "any": [1] })
    );
}

#[tokio::test]
async fn objects_are_not_wrapped() {
    let map = read::<HashMap<String, u8>>(r#"{"a": 1, "value": 2}"#).await;
    let map = map.unwrap();
    assert_eq!((map["a"], map["value"]), (1, 2));
    let tree = read::<Tree>(r#"{"children": [{"children": []}]}"#).await;
    assert_eq!(tree.unwrap().children.len(), 1);
    assert!(!AnswerFormat::of::<Point>().unwrap().wrapped);
    assert!(AnswerFormat::of::<Vec<Tree>>().unwrap().wrapped);
    let trees = read::<Vec<Tree>>(r#"{"value": [{"children": [{"children": []}]}]}"#).await;
    assert_eq!(trees.unwrap().len(), 1);
}

#[tokio::test]
async fn the_published_schema_is_the_enforced_one() {
    let format = AnswerFormat::of::<Vec<Mood>>().unwrap();
    let document = format.schema().document();
    assert_eq!(document["type"], "object");
    assert_eq!(document["required"], json!(["value"]));
    assert_eq!(document["additionalProperties"], json!(false));
    for (text, accepted) in [
        (r#"{"value": ["good"]}"#, true),
        (r#"{"value": ["so so"]}"#, false),
        (r#"{"value": ["good"], "more": 1}"#, false),
        ("{}", false),
    ] {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(format.schema().accepts(&value), accepted, "{text}");
        assert_eq!(format.check(text).await.is_ok(), accepted, "{text}");
    }
}

#[tokio::test]
async fn a_bare_value_is_accepted_if_it_matches_when_wrapped() {
    assert_eq!(read::<Vec<u8>>("[1, 2]").await.unwrap(), [1, 2]);
    assert_eq!(read::<Vec<u8>>("```json\n[1]\n```").await.unwrap(), [1]);
    assert_eq!(
        read::<Vec<String>>(r#"["```a```"]"#).await.unwrap(),
        ["```a```"]
    );
    assert_eq!(read::<u8>("17").await.unwrap(), 17);
    assert_eq!(
        read::<Tagged>(r#"{"kind": "One", "n": 1}"#).await.unwrap(),
        Tagged::One { n: 1 }
    );
    assert!(read::<u8>("300").await.is_err());
    assert!(read::<String>("just words").await.is_err());
}

#[tokio::test]
async fn errors_have_positions_in_the_type_for_the_caller_and_in_the_json_for_the_model() {
    let error = read::<Vec<Point>>(r#"{"value": [{"x": "far", "y": 2}]}"#)
        .await
        .unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_ANSWER);
    assert!(error.message().contains(": /0/x "), "{error}");
    assert!(!error.message().contains("/value"), "{error}");
    let for_model = error.model_text();
    assert!(for_model.contains("- /value/0/x: "), "{for_model}");

    let error = read::<u8>(r#"{"value": 300}"#).await.unwrap_err();
    assert!(error.message().contains(": the answer must"), "{error}");
    let error = read::<Point>(r#"{"x": 1}"#).await.unwrap_err();
    assert!(error.message().contains("/y"), "{error}");
}

#[test]
fn a_type_that_cannot_be_described_is_an_error() {
    let error = AnswerFormat::of::<Vec<u128>>().unwrap_err();
    assert_eq!(error.code(), ErrorCode::INVALID_SCHEMA);
}
