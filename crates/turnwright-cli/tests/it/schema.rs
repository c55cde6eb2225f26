//! `turnwright schema check`: what the call path would say.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::program::{Ran, run, run_with};

const SCHEMA: &str = r#"{
    "type": "object",
    "properties": {
        "n": { "type": "integer", "minimum": 1, "maximum": 10 },
        "unit": { "type": "string", "default": "cm" }
    },
    "required": ["n"],
    "additionalProperties": false
}"#;

fn check(args: &[&str]) -> Ran {
    run(&[&["schema", "check", "--json"], args].concat())
}

fn only(ran: &Ran) -> Value {
    let lines = ran.json();
    assert_eq!(lines.len(), 1, "{ran:?}");
    lines.into_iter().next().unwrap()
}

#[test]
fn accepted_arguments_come_with_their_repairs() {
    let ran = check(&[SCHEMA, r#"{"n": "7"}"#]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(
        only(&ran),
        json!({
            "ok": true,
            "args": { "n": 7, "unit": "cm" },
            "repairs": [
                { "pointer": "/n", "kind": "number", "before": "7", "after": 7 },
                { "pointer": "/unit", "kind": "default", "before": null, "after": "cm" },
            ],
        })
    );
    let text = run(&["schema", "check", SCHEMA, r#"{"n": "7"}"#]);
    assert_eq!(
        text.out,
        "ok {\"n\":7,\"unit\":\"cm\"}\n  repaired /n: \"7\" → 7\n  filled in /unit: \"cm\"\n"
    );
    assert_eq!((text.code, text.err.as_str()), (0, ""));
}

#[test]
fn invalid_arguments_come_with_every_fault_at_its_place() {
    let ran = check(&[SCHEMA, r#"{"n": 99, "m": 1}"#]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    let messages = only(&ran);
    assert_eq!(messages["ok"], false);
    assert_eq!(messages.get("more"), None);
    let faults = messages["faults"].as_array().unwrap();
    assert!(faults.contains(&json!({
        "pointer": "/n", "rule": "maximum", "expected": "at most 10", "got": "99",
        "message": "must be at most 10 (got 99)",
    })));
    assert!(faults.iter().any(|fault| fault["pointer"] == "/m"));

    let text = run(&["schema", "check", SCHEMA, r#"{"n": 99, "m": 1}"#]);
    assert_eq!(text.code, 1);
    assert!(text.out.starts_with("invalid\n"), "{}", text.out);
    assert!(text.out.contains("  /n: must be at most 10 (got 99)\n"));
}

#[test]
fn faults_beyond_those_listed_are_counted() {
    let many: Vec<String> = (0..50).map(|n| format!("\"x{n}\": 1")).collect();
    let args = format!("{{\"n\": 1, {}}}", many.join(", "));
    let ran = check(&[SCHEMA, &args]);
    let messages = only(&ran);
    let listed = messages["faults"].as_array().unwrap().len();
    assert_eq!(listed as u64 + messages["more"].as_u64().unwrap(), 50);
    let text = run(&["schema", "check", SCHEMA, &args]);
    let more = format!("  and {} more\n", messages["more"]);
    assert!(text.out.ends_with(&more), "{}", text.out);
}

#[test]
fn invalid_json_is_refused_as_in_a_call() {
    let deep = format!("{{\"n\": {}1{}}}", "[".repeat(300), "]".repeat(300));
    let cases = [
        (r#"{"n": 1"#, "json"),
        (r#"{"n": 1, "n": 2}"#, "unique_keys"),
        (deep.as_str(), "max_depth"),
        ("", "json"),
        ("-1", "type"),
    ];
    for (args, rule) in cases {
        let ran = check(&[SCHEMA, args]);
        let messages = only(&ran);
        assert_eq!(ran.code, 1, "{messages}");
        assert_eq!(messages["faults"][0]["rule"], rule, "{messages}");
    }
}

#[test]
fn both_may_be_text_a_file_or_standard_input() {
    let folder = Folder::new();
    let schema = folder.write("schema.json", SCHEMA);
    let args = folder.write("args.json", r#"{"n": 3}"#);
    let ok = json!({ "n": 3, "unit": "cm" });
    let texts = [check(&[&schema, &args]), check(&[SCHEMA, &args])];
    let from_input = [
        run_with(&["schema", "check", "-", &args, "--json"], SCHEMA),
        run_with(&["schema", "check", &schema, "-", "--json"], r#"{"n": 3}"#),
    ];
    for ran in texts.into_iter().chain(from_input) {
        assert_eq!(ran.code, 0, "{ran:?}");
        assert_eq!(only(&ran)["args"], ok);
    }
    let both = run(&["schema", "check", "-", "-"]);
    assert_eq!((both.code, both.out.as_str()), (2, ""));
    assert!(both.err.contains("cannot both be standard input"));
    let missing = run(&["schema", "check", "no-such-schema.json", "{}"]);
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("no-such-schema.json"));
}

#[test]
fn an_unenforceable_schema_is_refused_with_every_problem() {
    let bad = r#"{"type": "object", "minLenght": 3, "properties": {"a": {"nullable": true}}}"#;
    let ran = check(&[bad, "{}"]);
    assert_eq!(ran.code, 2);
    let messages = only(&ran);
    assert_eq!(messages["ok"], false);
    let pointers: Vec<&str> = messages["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|problem| problem["pointer"].as_str().unwrap())
        .collect();
    assert_eq!(pointers, ["/minLenght", "/properties/a/nullable"]);
    assert_eq!(ran.err, "", "it was said already");

    let text = run(&["schema", "check", bad, "{}"]);
    assert_eq!((text.code, text.out.as_str()), (2, ""));
    for pointer in pointers {
        assert!(
            text.err.contains(&format!("\n  {pointer}: ")),
            "{}",
            text.err
        );
    }
    let not_json = run(&["schema", "check", "{", "{}"]);
    assert_eq!(not_json.code, 2);
    assert!(not_json.err.contains("is not JSON"), "{}", not_json.err);
}

#[test]
fn verdicts_match_the_vectors() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../turnwright-schema/tests/vectors/arguments.json");
    let vectors: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let cases = vectors["cases"].as_array().unwrap();
    assert!(!cases.is_empty());
    for case in cases {
        let name = case["schema"].as_str().unwrap();
        let schema = vectors["schemas"][name].to_string();
        let ran = check(&[&schema, &case["input"].to_string()]);
        let messages = only(&ran);
        if case["ok"] == true {
            assert_eq!(
                (ran.code, &messages["args"]),
                (0, &case["output"]),
                "{case}"
            );
            continue;
        }
        assert_eq!((ran.code, &messages["ok"]), (1, &json!(false)), "{case}");
        let faults = messages["faults"].as_array().unwrap();
        for path in case["paths"].as_array().unwrap() {
            let named = faults.iter().any(|fault| fault["pointer"] == *path);
            assert!(named, "{case}: {messages}");
        }
    }
}

#[cfg(unix)]
#[test]
fn endless_input_is_refused() {
    let endless = || fs::File::open("/dev/zero").unwrap();
    for (args, what) in [
        (&["schema", "check", "/dev/zero", "{}"][..], "the schema"),
        (&["schema", "check", "{}", "/dev/zero"], "the arguments"),
        (&["schema", "check", "-", "{}"], "the schema"),
        (&["tools", "call", "list_files", "-"], "the arguments"),
        (&["tools", "id", "x", "-"], "the arguments"),
        (&["tools", "list", "--tools", "-"], "the tools file"),
        (&["serve-script", "-"], "the script"),
        (&["wire", "decode", "/dev/zero"], "the recording"),
        (&["wire", "decode", "-"], "the recording"),
    ] {
        let output = crate::program::program()
            .args(args)
            .stdin(endless())
            .output()
            .unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
        assert!(
            err.contains(what)
                && err.contains("is larger than the limit of")
                && err.contains("MiB"),
            "{args:?}: {err}"
        );
    }
}
