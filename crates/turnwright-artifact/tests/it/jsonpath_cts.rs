//! The compliance test suite of JSONPath (RFC 9535).
//!
//! It is read from `$TURNWRIGHT_VECTORS`, or else from `../shared/vectors` next to the project. If it is missing, the test prints
//! a message and is skipped. All cases must pass: nodes, normalised paths and invalid paths.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use turnwright_artifact::ErrorCode;
use turnwright_artifact::artifact::json::JsonPath;

#[test]
fn every_case_of_the_jsonpath_compliance_suite_passes() {
    let file = vectors().join("jsonpath_cts.json");
    let Ok(text) = fs::read_to_string(&file) else {
        let place = file.display();
        crate::say(format_args!(
            "SKIPPED: the JSONPath compliance suite is not at {place}; set TURNWRIGHT_VECTORS"
        ));
        return;
    };
    let suite: Value = serde_json::from_str(&text).unwrap();
    let cases = suite["tests"].as_array().unwrap();
    let wrong: Vec<String> = cases.iter().filter_map(|case| judge(case).err()).collect();
    for case in &wrong {
        crate::say(format_args!("jsonpath: DISAGREES: {case}"));
    }
    let agree = cases.len() - wrong.len();
    crate::say(format_args!("jsonpath: {agree} cases agree"));
    assert!(
        wrong.is_empty(),
        "{} disagree, the first: {}",
        wrong.len(),
        wrong[0]
    );
    assert!(agree >= 703, "only {agree} cases");
}

fn vectors() -> PathBuf {
    std::env::var_os("TURNWRIGHT_VECTORS").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"),
        PathBuf::from,
    )
}

fn judge(case: &Value) -> Result<(), String> {
    let (name, selector) = (&case["name"], case["selector"].as_str().unwrap());
    let path = match (
        selector.parse::<JsonPath>(),
        case["invalid_selector"] == true,
    ) {
        (Err(error), true) => {
            assert_eq!(error.code(), ErrorCode::ARTIFACT_QUERY);
            return Ok(());
        }
        (Ok(_), true) => return Err(format!("{name}: {selector} is taken")),
        (Err(error), false) => return Err(format!("{name}: {selector} is refused: {error}")),
        (Ok(path), false) => path,
    };
    assert_eq!(path.to_string(), selector);
    let nodes = path.query(&case["document"]).unwrap();
    let values: Value = nodes.iter().map(|node| node.value.clone()).collect();
    let paths: Value = nodes.iter().map(|node| json!(node.path)).collect();
    let seen = format!("{name}: {selector}: {values} at {paths}");
    if case.get("result").is_some() {
        let same = values == case["result"] && paths == case["result_paths"];
        return if same { Ok(()) } else { Err(seen) };
    }
    // Members have no order: each of these results is correct, with the paths at the same position.
    let (results, located) = (&case["results"], &case["results_paths"]);
    let pairs = results
        .as_array()
        .unwrap()
        .iter()
        .zip(located.as_array().unwrap());
    let mut pairs = pairs.map(|(result, at)| *result == values && *at == paths);
    if pairs.any(|same| same) {
        Ok(())
    } else {
        Err(seen)
    }
}
