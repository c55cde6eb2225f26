//! The tools that a model sees.

use serde_json::{Value, json};

use super::{text, wait};
use crate::artifact::text::queries;

fn ask(content: &str, name: &str, args: Value) -> Result<String, String> {
    let query = queries().iter().find(|query| query.name() == name).unwrap();
    wait(query.ask(text(content), args)).map_err(|error| error.model_text().to_owned())
}

#[test]
fn every_question_stands_in_its_place_and_says_what_it_is_for() {
    let names: Vec<&str> = queries().iter().map(|query| query.name()).collect();
    assert_eq!(
        names,
        [
            "artifact_head",
            "artifact_tail",
            "artifact_grep",
            "artifact_cat",
            "artifact_byte_length",
            "artifact_line_count",
            "artifact_estimate_tokens",
        ]
    );
    assert!(queries().iter().all(|query| query.description().len() > 30));
}

#[test]
fn questions_are_answered_with_their_defaults() {
    let log: String = (0..20).map(|n| format!("line {n}\n")).collect();
    let answer = |name: &str, args: Value| ask(&log, name, args).unwrap();
    assert!(answer("artifact_head", json!({})).starts_with("line 0\n"));
    assert!(answer("artifact_head", json!({})).contains("line 9\n[more lines follow"));
    assert!(answer("artifact_tail", json!({ "n": 2 })).starts_with("line 18\nline 19\n"));
    assert_eq!(
        answer(
            "artifact_grep",
            json!({ "pattern": "LINE 7", "flags": "i" })
        ),
        "7:line 7"
    );
    assert_eq!(
        answer("artifact_cat", json!({ "start": 19, "offset": 5 })),
        "19"
    );
    assert!(answer("artifact_cat", json!({ "start": 3, "end": 4 })).starts_with("line 3\n[more"));
    assert_eq!(answer("artifact_byte_length", json!({})), "150 bytes");
    assert_eq!(answer("artifact_line_count", json!({})), "20 lines");
    assert_eq!(
        ask("x", "artifact_line_count", json!({})).unwrap(),
        "1 line"
    );
    assert_eq!(
        answer("artifact_estimate_tokens", json!({})),
        "about 38 tokens (estimate)"
    );
}

#[test]
fn a_wrong_question_tells_the_model_what_is_wrong() {
    let told = ask("x", "artifact_grep", json!({ "pattern": "(" })).unwrap_err();
    assert!(
        told.contains("unclosed group") && told.contains("literal=true"),
        "{told}"
    );
    let told = ask(
        "x",
        "artifact_estimate_tokens",
        json!({ "encoding": "nope" }),
    )
    .unwrap_err();
    assert!(told.contains("\"nope\""), "{told}");
}
