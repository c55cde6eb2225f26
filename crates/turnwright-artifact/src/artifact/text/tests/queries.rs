//! The text query tools.

use serde_json::{Value, json};

use super::{text, wait};
use crate::artifact::text::queries::{Lines, Range, Search, Tokens, queries};
use crate::schema::Schema;

fn ask(content: &str, name: &str, args: Value) -> Result<String, String> {
    let query = queries().iter().find(|query| query.name() == name).unwrap();
    wait(query.run(text(content), args)).map_err(|error| error.model_text().to_owned())
}

#[test]
fn every_text_tool_exists_and_has_a_description() {
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
fn tools_work_with_default_arguments() {
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
fn an_invalid_query_is_explained_to_the_model() {
    let reply = ask("x", "artifact_grep", json!({ "pattern": "(" })).unwrap_err();
    assert!(
        reply.contains("unclosed group") && reply.contains("literal=true"),
        "{reply}"
    );
    let reply = ask(
        "x",
        "artifact_estimate_tokens",
        json!({ "encoding": "nope" }),
    )
    .unwrap_err();
    assert!(reply.contains("\"nope\""), "{reply}");
}

#[test]
fn the_schemas_have_limits_descriptions_and_defaults() {
    let document =
        |schema: Result<Schema, crate::schema::SchemaError>| schema.unwrap().document().clone();
    let search = document(Schema::of::<Search>());
    assert_eq!(search["required"], json!(["pattern"]));
    let fields = &search["properties"];
    assert_eq!(fields["flags"]["pattern"], "^[imsu]*$");
    assert_eq!(fields["flags"]["default"], "");
    assert_eq!(
        (&fields["context"]["default"], &fields["context"]["maximum"]),
        (&json!(0), &json!(100))
    );
    assert_eq!(
        (&fields["max"]["default"], &fields["max"]["minimum"]),
        (&json!(100), &json!(1))
    );
    assert_eq!(
        (&fields["literal"]["default"], &fields["start"]["default"]),
        (&json!(false), &json!(0))
    );
    let lines = document(Schema::of::<Lines>());
    assert_eq!(lines["properties"]["n"]["default"], 10);
    let range = document(Schema::of::<Range>());
    assert_eq!(range["properties"]["offset"]["default"], 0);
    assert_eq!(range["required"], Value::Null);
    // A number that every JSON parser can represent.
    assert_eq!(
        range["properties"]["end"]["maximum"],
        9_007_199_254_740_991_u64
    );
    let tokens = document(Schema::of::<Tokens>());
    for document in [search, lines, range, tokens] {
        for (name, field) in document["properties"].as_object().unwrap() {
            assert!(
                field["description"]
                    .as_str()
                    .is_some_and(|text| text.len() > 10),
                "{name}"
            );
        }
    }
}
