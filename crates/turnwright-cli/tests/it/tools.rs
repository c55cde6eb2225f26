//! `turnwright tools`, as a process without a terminal.

mod call;

use serde_json::{Value, json};

use crate::folder::Folder;
use crate::program::{Ran, run, run_with};

/// A file with one tool, `it`, that is a script for a shell.
fn own(folder: &Folder, script: &str, more: &Value) -> String {
    let mut described = json!({
        "name": "it",
        "description": "Does it. At length.",
        "parameters": {
            "type": "object",
            "properties": { "n": { "type": "integer", "minimum": 1 }, "to": { "type": "string", "minLength": 2 } },
            "additionalProperties": false,
        },
        "command": ["sh", "-c", script],
        "effects": "read_only",
    });
    for (name, value) in more.as_object().unwrap() {
        described[name] = value.clone();
    }
    folder.write("tools.json", &json!([described]).to_string())
}

/// The only line, as JSON.
fn only(ran: &Ran) -> Value {
    let mut lines = ran.json();
    assert_eq!(lines.len(), 1, "{ran:?}");
    lines.remove(0)
}

#[test]
fn all_tools_are_listed() {
    let folder = Folder::new();
    let file = own(&folder, "true", &json!({ "effects": "writes" }));
    let ran = run(&["tools", "list", "--tools", &file]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let lines: Vec<&str> = ran.out.lines().collect();
    assert_eq!(lines.len(), 5, "{}", ran.out);
    assert!(lines[0].starts_with("list_files    reads   Lists files"));
    assert_eq!(lines[4], "it            writes  Does it");
    assert!(!ran.out.contains('\x1b'));

    let ran = run(&["tools", "list", "--json", "--tools", &file]);
    let listed = ran.json();
    let names: Vec<&str> = listed
        .iter()
        .filter_map(|item| item["name"].as_str())
        .collect();
    assert_eq!(
        names,
        ["list_files", "read_file", "search_files", "fetch_url", "it"]
    );
    assert_eq!(
        (&listed[4]["effects"], &listed[4]["timeoutSecs"]),
        (&json!("writes"), &json!(60.0))
    );
    assert_eq!(listed[0]["effects"], "read_only");
    assert_eq!(listed[0]["fingerprint"].as_str().map(str::len), Some(64));
}

#[test]
fn a_tool_is_described_as_the_model_sees_it() {
    let text = run(&["tools", "describe", "read_file"]);
    assert_eq!((text.code, text.err.as_str()), (0, ""));
    let shown = only(&run(&["tools", "describe", "read_file", "--json"]));
    assert_eq!(shown["name"], "read_file");
    assert_eq!(shown["inputSchema"]["required"], json!(["path"]));
    assert_eq!(shown["inputSchema"]["additionalProperties"], false);
    assert!(text.out.contains(shown["description"].as_str().unwrap()));
    assert!(text.out.contains(shown["fingerprint"].as_str().unwrap()));
    let (_, schema) = text.out.split_once("model sees it\n").unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(schema).unwrap(),
        shown["inputSchema"]
    );
}

#[test]
fn an_unknown_tool_is_refused_with_the_known_ones() {
    for args in [
        ["tools", "describe", "raed_file"].as_slice(),
        &["tools", "call", "raed_file", "{}"],
        &["tools", "fuzz", "raed_file"],
    ] {
        let ran = run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert_eq!(
            ran.err,
            "error: no tool `raed_file`. Available tools: list_files, read_file, search_files, \
             fetch_url\n"
        );
    }
    let ran = run(&["tools", "describe", "weather", "--json"]);
    let error: Value = serde_json::from_str(&ran.err).unwrap();
    assert_eq!((ran.code, &error["error"]["exit"]), (2, &json!(2)));
}

#[test]
fn an_invalid_tools_file_is_refused() {
    let folder = Folder::new();
    for (text, words) in [
        ("not json", "line 1"),
        ("[{\"name\": \"x\", \"wat\": 1}]", "unknown field `wat`"),
    ] {
        let file = folder.write("tools.json", text);
        let ran = run(&["tools", "list", "--tools", &file]);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""));
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
        assert!(
            ran.err.contains(words) && ran.err.contains("tools.json"),
            "{}",
            ran.err
        );
    }
    let ran = run(&["tools", "list", "--tools", "/no/such/tools.json"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    let help = run(&["tools", "--help"]);
    assert!(help.out.contains("timeout_secs"), "{}", help.out);
}

#[test]
fn fuzzing_reports_each_tool() {
    let folder = Folder::new();
    let file = own(&folder, "exit 1", &json!({}));
    let ran = run(&[
        "tools", "fuzz", "--cases", "50", "--seed", "3", "--json", "--tools", &file,
    ]);
    assert_eq!(ran.code, 0, "{ran:?}");
    let reports = ran.json();
    assert_eq!(reports.len(), 5);
    for report in &reports {
        assert_eq!((&report["ok"], &report["seed"]), (&json!(true), &json!(3)));
        assert_eq!(report["findings"], json!([]));
    }
    assert_eq!(
        (&reports[4]["name"], &reports[4]["accepted"]),
        (&json!("it"), &json!(50))
    );
    let ran = run(&["tools", "fuzz", "it", "--cases", "50", "--tools", &file]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.starts_with("it: passed\n"), "{}", ran.out);
    assert!(ran.out.contains("minLength"), "{}", ran.out);

    // No value fits, so nothing can be said for it.
    let parameters =
        json!({ "type": "object", "properties": { "n": { "not": {} } }, "required": ["n"] });
    let file = own(&folder, "exit 1", &json!({ "parameters": parameters }));
    let ran = run(&["tools", "fuzz", "it", "--cases", "50", "--tools", &file]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.out.starts_with("it: failed\n"), "{}", ran.out);
}

#[test]
fn checksums_match_the_vectors() {
    let vectors = include_str!("../../../turnwright-artifact/tests/vectors/call_id.json");
    let vectors: Vec<Value> = serde_json::from_str(vectors).unwrap();
    assert!(vectors.len() >= 9);
    for vector in vectors {
        let of = |name: &str| vector[name].as_str().unwrap();
        let ran = run(&["tools", "id", of("tool"), of("args_json")]);
        assert_eq!(
            (ran.code, ran.out.trim_end()),
            (0, of("call_id")),
            "{vector}"
        );
        let ran = run_with(&["tools", "id", of("tool"), "-", "--json"], of("args_json"));
        assert_eq!(
            only(&ran),
            json!({ "name": of("tool"), "checksum": of("call_id") })
        );
    }
    // The order of keys makes no difference, and text that is not JSON has an id too.
    let id = |args: &str| run(&["tools", "id", "t", args]).out;
    assert_eq!(id(r#"{"a":1,"b":2}"#), id(r#"{ "b": 2, "a": 1 }"#));
    assert_eq!(id("{oops").trim_end().len(), 64);
    assert_eq!(id("{oops"), id("\"{oops\""));
}
