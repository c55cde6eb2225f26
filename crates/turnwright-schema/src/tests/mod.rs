mod building;
mod checking;
mod hostile;
mod refusal;
mod texts;
mod typed;

use serde_json::{Value, json};

use super::*;

#[allow(clippy::needless_pass_by_value, reason = "reads better with a literal")]
fn of(properties: Value) -> Schema {
    Schema::from_document(json!({ "type": "object", "properties": properties })).unwrap()
}

fn fault(error: &InvalidArguments) -> (&str, &str) {
    (&error.faults()[0].pointer, &error.faults()[0].rule)
}

const ARGUMENTS: &str = include_str!("../../tests/vectors/arguments.json");

#[test]
fn argument_vectors_give_the_expected_result() {
    let vectors: Value = serde_json::from_str(ARGUMENTS).unwrap();
    let mut checked = 0;
    for case in vectors["cases"].as_array().unwrap() {
        let document = vectors["schemas"][case["schema"].as_str().unwrap()].clone();
        let schema = Schema::from_document(document).unwrap();
        // As a value and as text: both must give the same result.
        for result in [
            schema.check(case["input"].clone()),
            schema.check(case["input"].to_string()),
        ] {
            match (case["ok"].as_bool().unwrap(), result) {
                (true, Ok(args)) => assert_eq!(args.value(), &case["output"], "{case}"),
                (false, Err(error)) => {
                    for path in case["paths"].as_array().unwrap() {
                        let found = error
                            .faults()
                            .iter()
                            .any(|fault| Some(fault.pointer.as_str()) == path.as_str());
                        assert!(found, "{case}: {error}");
                    }
                }
                (_, Ok(args)) => panic!("accepted {:?} for {case}", args.value()),
                (_, Err(error)) => panic!("{error} for {case}"),
            }
        }
        checked += 1;
    }
    assert_eq!(checked, 102);
}
