//! Violations of the contract are found and reported with advice.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use turnwright_testkit::contract::{FindingKind, Fuzz, fuzz};

use crate::tool;
use crate::typed::typed;

#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "u32")]
#[allow(dead_code, reason = "only its schema and its Deserialize matter")]
struct Even(u32);

impl TryFrom<u32> for Even {
    type Error = String;

    fn try_from(number: u32) -> Result<Self, String> {
        if number.is_multiple_of(2) {
            Ok(Self(number))
        } else {
            Err(format!("{number} is not even"))
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema and its Deserialize matter")]
struct WithEven {
    label: Option<String>,
    numbers: Vec<Even>,
}

#[test]
fn type_narrower_than_its_schema_is_found() {
    let failure = Fuzz::new().run(&typed::<WithEven>()).unwrap_err();
    let [finding] = failure.findings() else {
        panic!("{failure}")
    };
    assert_eq!(finding.kind, FindingKind::TypeDisagrees);
    assert!(finding.answer.contains("is not even"), "{finding}");
    // Shrunk: no label, and one number.
    let numbers = finding.value["numbers"].as_array().unwrap();
    assert_eq!(
        (finding.value.as_object().unwrap().len(), numbers.len()),
        (1, 1),
        "{finding}"
    );

    let text = failure.to_string();
    for part in [
        "the contract of tool `typed` does not hold",
        "the schema accepts a value that the type rejects",
        "value:  {\"numbers\":[",
        "is not even",
        "change: narrow the schema",
    ] {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
    assert_eq!(format!("{failure:?}"), text);
}

#[test]
#[should_panic(expected = "the schema accepts a value that the type rejects")]
fn fuzz_panics_with_the_report() {
    fuzz(&typed::<WithEven>());
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema and its Deserialize matter")]
struct Address {
    #[schemars(with = "String")]
    host: std::net::Ipv4Addr,
}

#[test]
fn field_with_a_wider_schema_is_found() {
    // It may be found when the tool is built, or else here.
    let built = turnwright_core::Tool::typed::<Address>("ping")
        .description("Pings a host.")
        .handler(|_args: Address, _ctx: turnwright_core::ToolContext| async move { "pong" })
        .build();
    if let Ok(tool) = built {
        let failure = Fuzz::new().run(&tool).unwrap_err();
        assert!(
            failure
                .findings()
                .iter()
                .all(|finding| finding.kind == FindingKind::TypeDisagrees),
            "{failure}"
        );
        assert!(!failure.findings().is_empty());
    }
}

#[test]
fn unsatisfiable_document_fails() {
    let failure = Fuzz::new()
        .run(&tool(json!({
            "type": "object",
            "properties": { "n": { "allOf": [{ "type": "integer", "minimum": 5 }, { "maximum": 3 }] } },
            "required": ["n"],
        })))
        .unwrap_err();
    assert!(failure.findings().is_empty(), "{failure}");
    let text = failure.to_string();
    assert!(
        text.contains("fewer than a third of the values were accepted (0 of "),
        "{text}"
    );
    assert!(
        text.contains(
            "/properties/n/allOf: no values: no accepted value was found that reaches it"
        ),
        "{text}"
    );
}
