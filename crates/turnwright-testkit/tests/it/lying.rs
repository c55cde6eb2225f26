//! Contracts that do not hold are found, and told so that their author knows what to do.

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
fn a_type_that_takes_less_than_its_schema_promises_is_found() {
    let failure = Fuzz::new().run(&typed::<WithEven>()).unwrap_err();
    let [finding] = failure.findings() else {
        panic!("{failure}")
    };
    assert_eq!(finding.kind, FindingKind::TypeDisagrees);
    assert!(finding.answer.contains("is not even"), "{finding}");
    // Made small: no label, and one number.
    let numbers = finding.value["numbers"].as_array().unwrap();
    assert_eq!(
        (finding.value.as_object().unwrap().len(), numbers.len()),
        (1, 1),
        "{finding}"
    );

    let text = failure.to_string();
    for part in [
        "the contract of tool `typed` does not hold",
        "the schema accepts what the type refuses",
        "value:  {\"numbers\":[",
        "is not even",
        "change: narrow the schema",
    ] {
        assert!(text.contains(part), "{part:?} is missing in:\n{text}");
    }
    assert_eq!(format!("{failure:?}"), text);
}

#[test]
#[should_panic(expected = "the schema accepts what the type refuses")]
fn the_short_form_panics_with_that_text() {
    fuzz(&typed::<WithEven>());
}

#[derive(Deserialize, JsonSchema)]
#[allow(dead_code, reason = "only its schema and its Deserialize matter")]
struct Address {
    #[schemars(with = "String")]
    host: std::net::Ipv4Addr,
}

#[test]
fn a_field_that_is_described_as_something_wider_is_found() {
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
fn a_document_that_nothing_satisfies_fails_for_want_of_values() {
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
